// The currency before a number, and the words that make a number a name: rule 8.

package figures

// prefix finds the currency that stands before the number at start, no further left than floor. It
// says where the currency starts and what it is; start and "" when there is none.
func (l *line) prefix(start, floor int) (int, string) {
	for _, at := range [2]int{start, start - l.emphasisBefore(start, floor)} {
		if from, currency := l.currencyBefore(at, floor); currency != "" {
			return from, currency
		}
		_, w, c := l.before(at)
		if c&dash == 0 && (at == 0 || l.s[at-1] != '+') || at-w < floor {
			continue
		}
		if from, currency := l.currencyBefore(at-w, floor); currency != "" {
			return from, currency
		}
	}
	return start, ""
}

// currencyBefore finds a currency sign or code that ends at i, or at one blank before it.
func (l *line) currencyBefore(i, floor int) (int, string) {
	_, w, c := l.before(i)
	if c&blank != 0 {
		i -= w
		_, w, c = l.before(i)
	}
	if c&sign != 0 && i-w >= floor {
		return i - w, l.s[i-w : i]
	}
	if c&letter != 0 && i-3 >= floor && currencyCodes[l.s[i-3:i]] && l.opens(i-3) {
		return i - 3, l.s[i-3 : i]
	}
	return 0, ""
}

// emphasisBefore is the length of the Markdown emphasis, at most three signs of one kind, right before i.
// Within a word underscores are none.
func (l *line) emphasisBefore(i, floor int) int {
	n := 0
	for n < 3 && i-n > floor && isEmphasis(l.s[i-n-1]) && l.s[i-n-1] == l.s[i-1] {
		n++
	}
	if n > 0 && l.s[i-1] == '_' && !l.opens(i-n) {
		return 0
	}
	return n
}

func isEmphasis(c byte) bool { return c == '*' || c == '`' || c == '_' || c == '~' }

// emphasisAt is the length of the Markdown emphasis right after i.
func (l *line) emphasisAt(i int) int {
	n := 0
	for n < 3 && i+n < len(l.s) && isEmphasis(l.s[i+n]) && l.s[i+n] == l.s[i] {
		n++
	}
	return n
}

// closing is the length of the emphasis after end that closes the one before start: **12**% is 12%.
func (l *line) closing(start, end, floor int) int {
	if open := l.emphasisBefore(start, floor); open > 0 && l.emphasisAt(end) == open && l.s[start-1] == l.s[end] {
		return open
	}
	return 0
}

// isIdentifier says that the number at start is the tail of a name like P99. A letter of a script
// without blanks between words is no name, nor is one that something invisible keeps apart.
func (l *line) isIdentifier(start int) bool {
	_, _, c := l.before(start)
	return c&letter != 0 && c&unspaced == 0 && !l.apart(start)
}

// isLabelled says that n and the single letter glued to it number a thing (Annex 4A, 3d, 401k), so
// that the letter says nothing about the number. K, M and T are not used as such letters.
func (l *line) isLabelled(n number) bool {
	if n.form != 0 || n.end-n.start > 3 || n.end >= len(l.s) || !l.closes(n.end+1) {
		return false
	}
	name := l.s[n.start : n.end+1]
	switch {
	case planNames[name], name == "2d", name == "3d":
		return true
	}
	switch c := l.s[n.end]; {
	case c < 'A', c > 'Z' && c < 'a', c > 'z', c == 'K', c == 'M', c == 'T', c == 'k', c == 'm', c == 't':
		return false
	}
	end := n.start - l.blankBefore(n.start)
	start := end
	for end-start < 12 && start > 0 && isASCIILetter(l.s[start-1]) {
		start--
	}
	return end < n.start && labels[l.s[start:end]] && l.opens(start)
}

func (l *line) blankBefore(i int) int {
	if _, w, c := l.before(i); c&blank != 0 {
		return w
	}
	return 0
}

func isASCIILetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
