// Finding the numbers of a line: rule 1.

package figures

import "unicode/utf8"

// form says how a number is written.
type form uint8

const (
	grouped     form = 1 << iota // thousands set apart: 1,234
	fraction                     // a decimal part: 1.5
	exponent                     // e and a power of ten: 1e6
	power                        // a power of ten written out: 1.5×10^6
	vulgarForm                   // a fraction in one code point: 2½
	spaced                       // grouped by blanks, and so only as long as no exempt span needs a part of it
	continental                  // the comma is the decimal sign and the full stop sets thousands apart
)

// number is a span of a line.
type number struct {
	start, end int
	form       form
}

// numbers finds all numbers of the line from left to right and appends them to found.
func (l *line) numbers(found []number) []number {
	for previous := -1; ; {
		n, ok := l.nextNumber(previous)
		if !ok {
			return found
		}
		found = append(found, n)
		previous = n.end
	}
}

// nextNumber finds the first number after the one that ends at previous, which is -1 when there is none.
func (l *line) nextNumber(previous int) (number, bool) {
	for i := max(previous, 0); i < len(l.s); {
		if c := l.s[i]; c < utf8.RuneSelf {
			if c >= '0' && c <= '9' {
				return l.numberAt(i, previous), true
			}
			i++
			continue
		}
		r, w := utf8.DecodeRuneInString(l.s[i:])
		if classOf(r)&(digit|vulgar) != 0 {
			return l.numberAt(i, previous), true
		}
		i += w
	}
	return number{}, false
}

// numberAt reads the number whose first digit stands at i.
func (l *line) numberAt(i, previous int) number {
	if _, w, c := l.after(i); c&vulgar != 0 {
		return number{i, i + w, vulgarForm}
	}
	if start, ok := l.leadingDot(i, previous); ok {
		end, _ := l.digits(i)
		return l.tenfold(number{start, end, fraction})
	}
	end, count := l.digits(i)
	n := number{start: i, end: end}
	if count <= 3 {
		if n, ok := l.groups(i, end, count, previous); ok {
			return l.tenfold(n)
		}
	}
	if end := l.fractionAt(n.end); end > n.end {
		n.end, n.form = end, fraction
	} else if _, w, c := l.after(n.end); c&vulgar != 0 {
		return number{n.start, n.end + w, vulgarForm}
	}
	return l.tenfold(n)
}

// leadingDot finds the full stop of a number like .75.
func (l *line) leadingDot(i, previous int) (start int, ok bool) {
	start = i - 1
	if start < max(previous, 0) || l.s[start] != '.' {
		return 0, false
	}
	r, _, c := l.before(start)
	return start, !c.isWord() && r != '.' && r != ',' || l.apart(start)
}

// fractionAt reads a decimal sign and digits, and returns i when there are none.
func (l *line) fractionAt(i int) int {
	r, w, _ := l.after(i)
	switch {
	case r == '.', r == '٫', r == '．' && l.fullWidth(i, i+w):
		end, _ := l.digits(i + w)
		if end > i+w {
			return end
		}
	}
	return i
}

// fullWidth says that what stands before i and at j are full-width digits. Between them a full-width
// comma or full stop belongs to the number; elsewhere it ends a clause.
func (l *line) fullWidth(i, j int) bool {
	left, _, _ := l.before(i)
	right, _, _ := l.after(j)
	return left >= '０' && left <= '９' && right >= '０' && right <= '９'
}
