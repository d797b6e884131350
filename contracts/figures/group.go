// Numbers whose thousands are set apart, in the ways of more than one country.

package figures

// maxGroups bounds every look ahead over groups. Eight of them reach beyond any number a report needs.
const maxGroups = 8

// groups reads the number whose first digits, at most three of them, span start to end, when groups
// follow.
func (l *line) groups(start, end, count, previous int) (number, bool) {
	r, w, c := l.after(end)
	if r == 0 {
		return number{}, false
	}
	if kind := l.separator(r, end, w); kind != 0 {
		if to := l.threes(end, kind); to > end {
			return number{start, l.fractionAt(to), grouped | l.fractionForm(to)}, true
		}
		if to := l.lakhs(end, count); kind == ',' && to > end {
			return number{start, l.fractionAt(to), grouped | l.fractionForm(to)}, true
		}
		return number{}, false
	}
	switch {
	case r == '.':
		return l.stops(start, end)
	case isGrouping(r, c):
		return l.blanks(start, end, previous)
	}
	return number{}, false
}

func (l *line) fractionForm(i int) form {
	if l.fractionAt(i) > i {
		return fraction
	}
	return 0
}

// separator names the kind of group sign r is, or 0: the signs of one number are of one kind.
func (l *line) separator(r rune, i, w int) rune {
	switch r {
	case ',', '_', '٬':
		return r
	case '\'', '’', '‘', 'ʼ', '＇', '‛', '´', '′', 'ʹ', 'ˈ', 'ꞌ':
		return '\''
	case '，':
		if l.fullWidth(i, i+w) {
			return r
		}
	}
	return 0
}

// threes reads groups of three digits, each after a sign of the kind; i when there is none.
func (l *line) threes(i int, kind rune) int {
	for {
		r, w, _ := l.after(i)
		if l.separator(r, i, w) != kind {
			return i
		}
		end, count := l.digitsUpTo(i+w, 3)
		if count < 3 {
			return i
		}
		i = end
	}
}

// lakhs reads groups of two and a last one of three, the Indian way (12,34,567).
func (l *line) lakhs(i, count int) int {
	from := i
	if count > 2 {
		return from
	}
	for range maxGroups {
		if i >= len(l.s) || l.s[i] != ',' {
			return from
		}
		end, count := l.digitsUpTo(i+1, 4)
		switch {
		case count == 3 && i > from:
			return end
		case count != 2:
			return from
		}
		i = end
	}
	return from
}

// stops reads groups after full stops. One group may be a decimal part, so it counts only before a
// decimal comma (1.234,56); more of them are a number when they are no address (1.234.567).
func (l *line) stops(start, end int) (number, bool) {
	r, _, c := l.before(start)
	first, _, _ := l.after(start)
	if c.isWord() || r == '.' || r == ',' {
		return number{}, false
	}
	zero := digitValue(first) == 0
	to, groups, small := end, 0, l.atMost255(start)
	for ; groups <= maxGroups && to < len(l.s) && l.s[to] == '.'; groups++ {
		next, count := l.digitsUpTo(to+1, 4)
		if count != 3 {
			break
		}
		small = small && l.atMost255(to+1)
		to = next
	}
	if groups == 0 || groups > maxGroups || l.goesOn(to, '.') {
		return number{}, false
	}
	if to < len(l.s) && l.s[to] == ',' && (groups > 1 || !zero) {
		if next, count := l.digits(to + 1); count > 0 && !l.goesOn(next, ',') && !l.goesOn(next, '.') {
			return number{start, next, grouped | fraction | continental}, true
		}
	}
	address := groups == 3 && small
	if groups == 1 || zero || address || l.isSuffixed(to) {
		return number{}, false
	}
	return number{start, to, grouped | continental}, true
}

// goesOn says that the sign and a digit stand at i.
func (l *line) goesOn(i int, sign byte) bool {
	return i < len(l.s) && l.s[i] == sign && l.digitAt(i+1) > 0
}

// isSuffixed says that a hyphen or plus and a word follow, as in a version (1.234.567-rc1).
func (l *line) isSuffixed(i int) bool {
	if i >= len(l.s) || l.s[i] != '-' && l.s[i] != '+' {
		return false
	}
	_, _, c := l.after(i + 1)
	return c&letter != 0
}

func (l *line) atMost255(i int) bool {
	value := 0
	for w := l.digitAt(i); w > 0; w = l.digitAt(i) {
		r, _, _ := l.after(i)
		value = value*10 + int(digitValue(r))
		i += w
	}
	return value <= 255
}

// isGrouping says that the blank r may set thousands apart; those that end a line or a column do not.
func isGrouping(r rune, c class) bool {
	switch r {
	case '\t', '\v', '\f', '\r', 0x85, 0x2028, 0x2029:
		return false
	}
	return c&blank != 0
}

// blanks reads groups of three after single blanks (1 234 567). An ordinary space also stands between
// numbers of their own, so with it no other number may be one space away, and nothing may tie the
// first digits to what stands before.
func (l *line) blanks(start, end, previous int) (number, bool) {
	first, _, _ := l.after(start)
	kind, width, _ := l.after(end)
	if digitValue(first) == 0 || l.isTied(start) {
		return number{}, false
	}
	if kind == ' ' && previous >= 0 && previous == start-1 && l.s[previous] == ' ' {
		return number{}, false
	}
	to, groups := end, 0
	for ; groups <= maxGroups; groups++ {
		if r, _, _ := l.after(to); r != kind {
			break
		}
		next, count := l.digitsUpTo(to+width, 4)
		if count != 3 {
			break
		}
		to = next
	}
	if r, _, _ := l.after(to); groups == 0 || groups > maxGroups || r == kind && l.digitAt(to+width) > 0 {
		return number{}, false
	}
	if to < len(l.s) && l.s[to] == ',' {
		next, count := l.digitsUpTo(to+1, 3)
		switch {
		case count == 3 && l.digitAt(next) == 0:
			return number{}, false
		case count == 1 || count == 2:
			if !l.goesOn(next, ',') && !l.goesOn(next, '.') {
				return number{start, next, grouped | fraction | spaced | continental}, true
			}
		}
	}
	return number{start, l.fractionAt(to), grouped | spaced | l.fractionForm(to)}, true
}

// isTied says that what stands before i belongs to the digits at i: a word, a time, a path, a version,
// a range or a date. A dash of its own is a minus.
func (l *line) isTied(i int) bool {
	r, w, c := l.before(i)
	if c&dash != 0 {
		_, _, c := l.before(i - w)
		return c.isWord()
	}
	switch r {
	case '.', ',', ':', '/', '\'', '’', '#', '^', '+':
		return true
	}
	return c.isWord()
}

// parts splits a number that is grouped by blanks into the numbers between them.
func (l *line) parts(n number, found []number) []number {
	for i := n.start; i < n.end; {
		end, _ := l.digits(i)
		part := number{start: i, end: end}
		if to := l.fractionAt(end); to > end {
			part = number{i, to, fraction}
		}
		found = append(found, part)
		i = part.end
		for i < n.end && l.digitAt(i) == 0 {
			_, w, _ := l.after(i)
			i += w
		}
	}
	return found
}
