// Versions: rule 5.

package figures

// versions appends the versions of the line: v1.2, 1.2.3.
func (l *line) versions(numbers []number, found []span) []span {
	floor := 0
	for _, n := range numbers {
		if n.form&(grouped|fraction) != fraction {
			continue
		}
		// A version may start at the digits after the point: 3.4 of 1.2.3.4.5.6 ends one and starts another.
		for _, first := range [2]int{l.digitsStart(n), l.decimals(n)} {
			if start, end := l.version(first); end > 0 && start >= floor && !l.isPriced(start, end) {
				found = append(found, span{start, end, Version})
				floor = end
			}
		}
	}
	return found
}

// isPriced says that a currency or percent sign stands at the digits from start to end: $0.100.200 is no version.
func (l *line) isPriced(start, end int) bool {
	if _, currency := l.currencyBefore(start, 0); currency != "" {
		return true
	}
	r, w, c := l.after(end)
	return percentSigns[r] != "" || c&sign != 0 && !l.startsNumber(end+w)
}

// digitsStart is the first digit of n, after a leading full stop.
func (l *line) digitsStart(n number) int {
	if l.s[n.start] == '.' {
		return n.start + 1
	}
	return n.start
}

// decimals is where the digits after the decimal sign of n start.
func (l *line) decimals(n number) int {
	if l.s[n.start] == '.' {
		return n.start + 1
	}
	end, _ := l.digits(n.start)
	_, w, _ := l.after(end)
	return end + w
}

// version reads a version whose first digit stands at i; an end of 0 says that there is none.
func (l *line) version(i int) (start, end int) {
	if i > 0 && l.s[i-1] == 'v' && l.opens(i-1) {
		end, groups := l.dotted(i, -1)
		if groups > 1 {
			return i - 1, end
		}
		return 0, 0
	}
	if !l.opens(i) {
		return 0, 0
	}
	if end, groups := l.dotted(i, 3); groups == 3 {
		return i, end
	}
	return 0, 0
}

// dotted reads up to most groups of digits joined by full stops (all when most is negative), as far as
// they end a word.
func (l *line) dotted(i, most int) (end, groups int) {
	for count := 0; count != most; {
		to, n := l.digits(i)
		if n == 0 {
			break
		}
		count++
		if l.closes(to) {
			end, groups = to, count
		}
		if !l.goesOn(to, '.') {
			break
		}
		i = to + 1
	}
	return end, groups
}
