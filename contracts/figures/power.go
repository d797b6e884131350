// Powers of ten after a number: 1e6, 1.5×10^6, 10⁶.

package figures

import (
	"strings"
	"unicode/utf8"
)

const superscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹"

// vulgarFractions are the decimals of fractions in one code point. What has no end as a decimal stays
// as it is.
var vulgarFractions = map[rune]string{
	'½': ".5", '¼': ".25", '¾': ".75", '⅕': ".2", '⅖': ".4", '⅗': ".6", '⅘': ".8",
	'⅛': ".125", '⅜': ".375", '⅝': ".625", '⅞': ".875", '⅒': ".1",
	'⅓': "⅓", '⅔': "⅔", '⅙': "⅙", '⅚': "⅚", '⅐': "⅐", '⅑': "⅑",
}

// tenfold adds the power of ten that follows n.
func (l *line) tenfold(n number) number {
	if end, ok := l.exponentAt(n.end); ok {
		return number{n.start, end, n.form | exponent}
	}
	if end, ok := l.powerAfter(n); ok {
		return number{n.start, end, n.form | power}
	}
	return n
}

// exponentAt reads e, a sign, one or two digits, when no letter or number follows.
func (l *line) exponentAt(i int) (int, bool) {
	if i >= len(l.s) || l.s[i] != 'e' && l.s[i] != 'E' {
		return 0, false
	}
	end, count := l.digitsUpTo(l.signAt(i+1), 2)
	return end, count > 0 && l.clear(end)
}

func (l *line) signAt(i int) int {
	if r, w, _ := l.after(i); r == '+' || r == '-' || r == '−' || r == '⁺' || r == '⁻' {
		return i + w
	}
	return i
}

// powerAfter reads ×10^6 or ×10⁶ after n, or what follows n when that is 10 itself.
func (l *line) powerAfter(n number) (int, bool) {
	if n.form == 0 && l.s[n.start:n.end] == "10" {
		return l.powerAt(n.end)
	}
	i := n.end + l.blankAt(n.end)
	r, w, _ := l.after(i)
	if !isTimes(r) {
		return 0, false
	}
	i += w
	i += l.blankAt(i)
	if !strings.HasPrefix(l.s[i:], "10") {
		return 0, false
	}
	return l.powerAt(i + 2)
}

func isTimes(r rune) bool {
	switch r {
	case '×', 'x', '*', '·', '⋅':
		return true
	}
	return false
}

// powerAt reads ^6 or ⁶.
func (l *line) powerAt(i int) (int, bool) {
	if i < len(l.s) && l.s[i] == '^' {
		end, count := l.digitsUpTo(l.signAt(i+1), 2)
		return end, count > 0 && l.clear(end)
	}
	i = l.signAt(i)
	count := 0
	for ; count < 2; count++ {
		r, w, _ := l.after(i)
		if r < utf8.RuneSelf || !strings.ContainsRune(superscripts, r) {
			break
		}
		i += w
	}
	return i, count > 0 && l.clear(i)
}
