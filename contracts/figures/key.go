// Numeric keys: what makes two spellings the same number. Rule 11.

package figures

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Key is the numeric key of a figure's value or of a token's surface: its first number without
// grouping, with ".5" as "0.5", powers of ten written out and no zeros at the end of the decimals,
// then the letter of its magnitude ("$4.5m" and "4.5 million" are "4.5M"). Currency, sign and unit are
// left out, zeros at the front stay. A value without a number is its own key, trimmed.
func Key(value string) string {
	l := readLine(value)
	n, ok := l.nextNumber(-1)
	if !ok {
		return strings.TrimSpace(value)
	}
	_, magnitude := l.magnitude(n.end, l.emphasisAt(n.end))
	return l.key(n) + magnitude
}

// key is the number without its magnitude.
func (l *line) key(n number) string {
	text := l.s[n.start:n.end]
	switch {
	case n.form == 0 && isASCII(text):
		return text
	case n.form&exponent != 0:
		mantissa, tens, _ := strings.Cut(strings.ToLower(text), "e")
		return shift(plain(mantissa, n.form), tensOf(tens))
	case n.form&power != 0:
		mantissa, tens := splitPower(text)
		return shift(plain(mantissa, n.form), tensOf(tens))
	}
	return plain(text, n.form)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// plain writes text in ASCII digits, without grouping and without zeros at the end of its decimals.
func plain(text string, f form) string {
	point := ".٫．"
	if f&continental != 0 {
		point = ","
	}
	var b strings.Builder
	decimals := -1
	for _, r := range text {
		switch c := classOf(r); {
		case c&digit != 0:
			b.WriteByte('0' + digitValue(r))
		case c&vulgar != 0:
			if b.Len() == 0 {
				b.WriteByte('0')
			}
			b.WriteString(vulgarFractions[r])
		case f&fraction != 0 && decimals < 0 && strings.ContainsRune(point, r):
			if b.Len() == 0 {
				b.WriteByte('0')
			}
			decimals = b.Len()
			b.WriteByte('.')
		}
	}
	if decimals < 0 {
		return b.String()
	}
	return trimDecimals(b.String())
}

func trimDecimals(s string) string {
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// splitPower takes 1.5×10^6 apart into 1.5 and 6; the mantissa of 10^6 is 1.
func splitPower(text string) (mantissa, tens string) {
	if base, tens, ok := strings.Cut(text, "^"); ok {
		return mantissaOf(base), tens
	}
	i := strings.IndexFunc(text, func(r rune) bool {
		return r == '⁺' || r == '⁻' || r >= utf8.RuneSelf && strings.ContainsRune(superscripts, r)
	})
	return mantissaOf(text[:i]), text[i:]
}

func mantissaOf(base string) string {
	mantissa := strings.TrimRightFunc(strings.TrimSuffix(base, "10"), func(r rune) bool {
		return isTimes(r) || unicode.IsSpace(r)
	})
	if mantissa == "" {
		return "1"
	}
	return mantissa
}

// tensOf reads at most two digits and their sign.
func tensOf(s string) int {
	value, minus := 0, false
	for _, r := range s {
		c := classOf(r)
		switch at := strings.IndexRune(superscripts, r); {
		case r == '-', r == '−', r == '⁻':
			minus = true
		case c&digit != 0:
			value = value*10 + int(digitValue(r))
		case at >= 0:
			value = value*10 + len([]rune(superscripts[:at]))
		}
	}
	if minus {
		return -value
	}
	return value
}

// shift moves the point of a plain decimal by tens places and drops the zeros that this leaves in front.
func shift(decimal string, tens int) string {
	whole, decimals, _ := strings.Cut(decimal, ".")
	if tens >= 0 {
		if missing := tens - len(decimals); missing > 0 {
			decimals += strings.Repeat("0", missing)
		}
		whole, decimals = whole+decimals[:tens], decimals[tens:]
	} else {
		if missing := -tens - len(whole); missing > 0 {
			whole = strings.Repeat("0", missing) + whole
		}
		cut := len(whole) + tens
		whole, decimals = whole[:cut], whole[cut:]+decimals
	}
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	if decimals == "" {
		return whole
	}
	return trimDecimals(whole + "." + decimals)
}

// keyStore hands out lists of keys from larger pieces, one allocation for many tokens.
type keyStore struct{ free []string }

// of are the keys of f: one, but both ends of a range and every part of a duration.
func (k *keyStore) of(f *found) []string {
	need := max(len(f.numbers), 1)
	if cap(k.free)-len(k.free) < need {
		k.free = make([]string, 0, max(need, 256))
	}
	from := len(k.free)
	if len(f.numbers) == 0 {
		k.free = append(k.free, Key(f.line.s[f.start:f.end]))
	}
	for _, n := range f.numbers {
		key := f.line.key(n)
		if f.magnitude != "" {
			key += f.magnitude
		}
		k.free = append(k.free, key)
	}
	to := len(k.free)
	return k.free[from:to:to]
}
