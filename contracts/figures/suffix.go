// What follows a number and says what it counts: rule 9.

package figures

import (
	"strings"
	"unicode/utf8"
)

// suffix is what a number states after itself.
type suffix struct {
	end    int      // where it ends; the end of the number when there is none
	kind   Category // Currency, Percentage or Quantity; "" when there is none
	states string   // the sign, code, word or unit, in the spelling that statements knows
}

// join says what stands between a number and a word: nothing, one blank or one hyphen.
func (l *line) join(i int) (at int, by class) {
	r, w, c := l.after(i)
	switch {
	case c&blank != 0:
		return i + w, blank
	case r == '-', r == '‐', r == '‑':
		return i + w, dash
	}
	return i, 0
}

// magnitude reads K, M, B or T glued to the number that ends at end, or a word of that meaning. The
// number may be wrapped in emphasis of the given length.
func (l *line) magnitude(end, closing int) (int, string) {
	from := end + closing
	if from >= len(l.s) {
		return end, ""
	}
	switch c := l.s[from]; c {
	case 'K', 'M', 'B', 'T', 'k', 'm', 'b', 't':
		if l.clear(from + 1) {
			return from + 1, strings.ToUpper(string(c))
		}
	}
	at, by := l.join(from)
	if by != dash {
		if to, key := l.magnitudeSigns(at); key != "" {
			return to, key
		}
	}
	if word, to := l.word(at); word != "" && magnitudeWords[word] != "" {
		return to, magnitudeWords[word]
	}
	return end, ""
}

// magnitudeSigns reads up to three signs such as 千万; letters may follow them.
func (l *line) magnitudeSigns(i int) (end int, key string) {
	for range 3 {
		r, w, c := l.after(i)
		if c&letter == 0 || magnitudeSigns[r] == "" {
			break
		}
		key += magnitudeSigns[r]
		i += w
	}
	if key == "千" {
		key = "K"
	}
	return i, key
}

// longestWord bounds the words that are looked up.
const longestWord = 12

// word reads a word of ASCII letters at i, in lower case, that ends there; "" when there is none.
func (l *line) word(i int) (lower string, end int) {
	end = i
	for end < len(l.s) && isASCIILetter(l.s[end]) {
		if end++; end-i > longestWord {
			return "", i
		}
	}
	if end == i || !l.closes(end) {
		return "", i
	}
	return strings.ToLower(l.s[i:end]), end
}

// words reads one word, or two that belong together.
func (l *line) words(i int) (lower string, end int) {
	first, end := l.word(i)
	switch first {
	case "per", "percent", "percentage", "basis", "us":
		if at, by := l.join(end); by != 0 {
			if second, to := l.word(at); isPair(first + " " + second) {
				return first + " " + second, to
			}
		}
	}
	return first, end
}

func isPair(words string) bool { return percentWords[words] != "" || currencyWords[words] != "" }

// share reads a percent sign or word, or one of the policy's units, for the number that ends at end.
func (t *Tokenizer) share(l *line, n number, end, closing int) suffix {
	from := end + closing
	at, by := l.join(from)
	if !t.mayFollow(l, at) {
		return suffix{end: end}
	}
	if by != dash {
		at := l.escaped(at)
		if r, w, _ := l.after(at); percentSigns[r] != "" {
			return suffix{at + w, Percentage, percentSigns[r]}
		}
	}
	word, to := l.words(at)
	if word != "" && percentWords[word] != "" {
		return suffix{to, Percentage, percentWords[word]}
	}
	year := end == n.end && l.isYear(n)
	if unit := t.unit(l, at, by == dash); unit != "" && !(year && isLoose(unit, by)) {
		return suffix{at + len(unit), Quantity, unit}
	}
	if t.spelled && word != "" {
		unit, single := spelledUnits[word], true
		if unit == "" {
			unit, single = spelledUnits[strings.TrimSuffix(word, "s")], false
		}
		if unit != "" && !(year && single) {
			return suffix{to, Quantity, unit}
		}
	}
	if by == 0 && l.isMultiple(at) {
		_, w, _ := l.after(at)
		return suffix{at + w, Quantity, "×"}
	}
	return suffix{end: end}
}

// unit finds the longest unit at i that ends a word there. After a hyphen a single letter is a label
// (3-d, type 2-B) rather than a unit.
func (t *Tokenizer) unit(l *line, i int, hyphen bool) string {
	if i >= len(l.s) {
		return ""
	}
	for _, unit := range t.units[l.s[i]] {
		if hyphen && utf8.RuneCountInString(unit) < 2 {
			continue
		}
		if strings.HasPrefix(l.s[i:], unit) && l.closes(i+len(unit)) {
			return unit
		}
	}
	return ""
}

// isLoose says that after a year the unit is likelier something else: 1990s, 2026 K-12.
func isLoose(unit string, by class) bool {
	switch unit {
	case "s":
		return by == 0
	case "K", "M", "k":
		return true
	}
	return false
}

// isMultiple says that x or × stands at i and makes a factor of the number (3x faster), not a product
// or a size (3 × 4, 1920x1080).
func (l *line) isMultiple(i int) bool {
	r, w, _ := l.after(i)
	switch r {
	case 'x':
		return l.closes(i + w)
	case '×':
		i += w
		return l.closes(i) && l.digitAt(i+l.blankAt(i)) == 0
	}
	return false
}

// money reads a currency sign, code or word that no digit follows. A year takes no word: in 2026
// dollars.
func (l *line) money(n number, end, closing int) suffix {
	at, by := l.join(end + closing)
	if _, _, c := l.after(at); c&(letter|sign) == 0 && (at >= len(l.s) || l.s[at] != '\\') {
		return suffix{end: end}
	}
	if by != dash {
		at := l.escaped(at)
		r, w, c := l.after(at)
		if c&sign != 0 && !l.startsNumber(at+w) {
			return suffix{at + w, Currency, l.s[at : at+w]}
		}
		if c&letter != 0 && strings.ContainsRune(currencySuffixes, r) {
			return suffix{at + w, Currency, l.s[at : at+w]}
		}
	}
	if by != dash && at+3 <= len(l.s) && l.s[at] >= 'A' && l.s[at] <= 'Z' && currencyCodes[l.s[at:at+3]] && l.closes(at+3) {
		return suffix{at + 3, Currency, l.s[at : at+3]}
	}
	if word, to := l.words(at); word != "" && currencyWords[word] != "" && !l.isYear(n) {
		return suffix{to, Currency, currencyWords[word]}
	}
	return suffix{end: end}
}

// startsNumber says that a number starts at i, be it with a full stop.
func (l *line) startsNumber(i int) bool { return l.digitAt(i) > 0 || l.goesOn(i, '.') }

// escaped skips the backslash that Markdown and TeX put before a sign.
func (l *line) escaped(i int) int {
	if i < len(l.s) && l.s[i] == '\\' {
		return i + 1
	}
	return i
}

// isYear says that n is exactly four digits from 1900 to 2100.
func (l *line) isYear(n number) bool {
	if n.form != 0 {
		return false
	}
	value, count := 0, 0
	for i := n.start; i < n.end; count++ {
		r, w, _ := l.after(i)
		if count == 4 {
			return false
		}
		value = value*10 + int(digitValue(r))
		i += w
	}
	return count == 4 && value >= 1900 && value <= 2100
}
