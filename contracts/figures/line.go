// One line of a text as a reader sees it.

package figures

import (
	"sort"
	"unicode/utf8"
)

// line is a stretch of text without a line break, rid of what takes no room on the page, so that
// a zero-width space inside a number does not hide it.
type line struct {
	s  string
	at []int // where each byte of s, and its end, stand in the text as given; nil when nothing was taken out
}

// readLine takes zero-width code points out, and marks that are drawn onto anything but a letter: a
// digit with a line below it is still that digit.
func readLine(raw string) line {
	if !hasHidden(raw) {
		return line{s: raw}
	}
	var (
		seen []byte
		at   []int
		last class
	)
	for i, r := range raw {
		c := classOf(r)
		if hides(c, last) || r == '\\' && isEscape(raw[i:], last) {
			continue
		}
		last = c
		for k := range runeLen(raw[i:], r) {
			seen = append(seen, raw[i+k])
			at = append(at, i+k)
		}
	}
	return line{s: string(seen), at: append(at, len(raw))}
}

func hasHidden(raw string) bool {
	var last class
	for i := 0; i < len(raw); {
		if raw[i] < utf8.RuneSelf {
			c := basicPlane[raw[i]]
			if c&hidden != 0 || raw[i] == '\\' && isEscape(raw[i:], last) {
				return true
			}
			last = c
			i++
			continue
		}
		r, w := utf8.DecodeRuneInString(raw[i:])
		c := classOf(r)
		if hides(c, last) {
			return true
		}
		last = c
		i += w
	}
	return false
}

func hides(c, last class) bool {
	return c&hidden != 0 || c&mark != 0 && last&(letter|mark) == 0
}

// isEscape says that the backslash at the start of s stands between a digit, of class last, and the rest of
// its number: 5\,000 is 5,000 in Markdown and 5 000 in TeX.
func isEscape(s string, last class) bool {
	if last&digit == 0 || len(s) < 3 || s[2] < '0' || s[2] > '9' {
		return false
	}
	switch s[1] {
	case ',', '.', '_', '\'', ' ':
		return true
	}
	return false
}

// runeLen is the number of bytes r takes at the start of s: one for a byte that is no UTF-8.
func runeLen(s string, r rune) int {
	if r == utf8.RuneError {
		_, w := utf8.DecodeRuneInString(s)
		return w
	}
	return utf8.RuneLen(r)
}

// span turns a span of the line into one of the text as given.
func (l *line) span(start, end int) (int, int) {
	if l.at == nil || start >= end {
		return start, end
	}
	return l.at[start], l.at[end-1] + 1
}

// seen turns a span of the text as given into one of the line.
func (l *line) seen(start, end int) (int, int) {
	if l.at == nil {
		return start, end
	}
	return sort.SearchInts(l.at, start), sort.SearchInts(l.at, end)
}

// apart says that something invisible stands right before i: it does not hide a number, but it does
// keep words apart.
func (l *line) apart(i int) bool {
	return l.at != nil && i > 0 && l.at[i] != l.at[i-1]+1
}

// before is the code point that ends at i, and its class; 0 at the start of the line.
func (l *line) before(i int) (rune, int, class) {
	if i == 0 {
		return 0, 0, 0
	}
	if c := l.s[i-1]; c < utf8.RuneSelf {
		return rune(c), 1, basicPlane[c]
	}
	r, w := utf8.DecodeLastRuneInString(l.s[:i])
	return r, w, classOf(r)
}

// after is the code point that starts at i, and its class; 0 at the end of the line.
func (l *line) after(i int) (rune, int, class) {
	if i >= len(l.s) {
		return 0, 0, 0
	}
	if c := l.s[i]; c < utf8.RuneSelf {
		return rune(c), 1, basicPlane[c]
	}
	r, w := utf8.DecodeRuneInString(l.s[i:])
	return r, w, classOf(r)
}

// opens says that a word may start at i.
func (l *line) opens(i int) bool {
	_, _, c := l.before(i)
	return !c.isWord() || l.apart(i)
}

// closes says that a word may end at i.
func (l *line) closes(i int) bool {
	_, _, c := l.after(i)
	return !c.isWord() || l.apart(i)
}

// clear says that neither letter nor number stands at i.
func (l *line) clear(i int) bool {
	_, _, c := l.after(i)
	return !c.isWord() || c&low != 0 || l.apart(i)
}

// digitAt is the number of bytes of the digit at i, 0 when there is none.
func (l *line) digitAt(i int) int {
	if i >= len(l.s) {
		return 0
	}
	if c := l.s[i]; c < utf8.RuneSelf {
		if c >= '0' && c <= '9' {
			return 1
		}
		return 0
	}
	if r, w := utf8.DecodeRuneInString(l.s[i:]); classOf(r)&digit != 0 {
		return w
	}
	return 0
}

// digits reads digits from i on and says where they end and how many there are.
func (l *line) digits(i int) (end, count int) {
	for w := l.digitAt(i); w > 0; w = l.digitAt(i) {
		i += w
		count++
	}
	return i, count
}

// digitsUpTo reads at most most digits, for a look ahead that must stay short.
func (l *line) digitsUpTo(i, most int) (end, count int) {
	for w := l.digitAt(i); w > 0 && count < most; w = l.digitAt(i) {
		i += w
		count++
	}
	return i, count
}

// blankAt is the number of bytes of the blank at i, 0 when there is none.
func (l *line) blankAt(i int) int {
	if _, w, c := l.after(i); c&blank != 0 {
		return w
	}
	return 0
}
