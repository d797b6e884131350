// Dates, with a time and a zone when they follow: rule 4.

package figures

// dates appends the dates of the line: 2026-07-24, with a time and a zone when they follow.
func (l *line) dates(numbers []number, found []span) []span {
	floor := 0
	for _, n := range numbers {
		if n.end >= len(l.s) || l.s[n.end] != '-' {
			continue
		}
		start, ok := l.yearBefore(n.end)
		if !ok || start < floor {
			continue
		}
		if end := l.dateEnd(n.end); end > 0 && !l.isTouched(start, end) {
			found = append(found, span{start, end, Date})
			floor = end
		}
	}
	return found
}

// isTouched says that a currency or percent sign touches the digits from start to end: $5000-12-31 is no date.
func (l *line) isTouched(start, end int) bool {
	_, _, before := l.before(start)
	r, w, after := l.after(l.escaped(end))
	return before&sign != 0 || percentSigns[r] != "" || after&sign != 0 && !l.startsNumber(l.escaped(end)+w)
}

// yearBefore finds the four digits that end at i and start a word.
func (l *line) yearBefore(i int) (int, bool) {
	for range 4 {
		_, w, c := l.before(i)
		if c&digit == 0 {
			return 0, false
		}
		i -= w
	}
	return i, l.opens(i)
}

// dateEnd reads -07-24 at i and the longest time after it that ends a word; 0 when there is no date.
func (l *line) dateEnd(i int) int {
	i, ok := l.part(i, '-', 2)
	if !ok {
		return 0
	}
	if i, ok = l.part(i, '-', 2); !ok {
		return 0
	}
	best := 0
	keep := func(end int) {
		if l.closes(end) {
			best = end
		}
	}
	keep(i)
	if i, ok = l.part(i, 'T', 2); !ok {
		return best
	}
	if i, ok = l.part(i, ':', 2); !ok {
		return best
	}
	keep(i)
	keep(l.zone(i))
	if i, ok = l.part(i, ':', 2); !ok {
		return best
	}
	keep(i)
	keep(l.zone(i))
	if l.goesOn(i, '.') {
		i, _ = l.digits(i + 1)
		keep(i)
		keep(l.zone(i))
	}
	return best
}

// part reads the sign and exactly count digits.
func (l *line) part(i int, sign byte, count int) (int, bool) {
	if i >= len(l.s) || l.s[i] != sign {
		return i, false
	}
	end, n := l.digitsUpTo(i+1, count)
	return end, n == count
}

// zone reads Z or an offset of at most 14 hours: +02, +0200, +02:00. It returns i when there is none.
func (l *line) zone(i int) int {
	if i >= len(l.s) {
		return i
	}
	switch l.s[i] {
	case 'Z':
		return i + 1
	case '+', '-':
		hours, n := l.digitsUpTo(i+1, 2)
		if n < 2 || l.twoDigits(i+1) > 14 {
			return i
		}
		if end, ok := l.part(hours, ':', 2); ok {
			return end
		}
		if end, n := l.digitsUpTo(hours, 2); n == 2 && l.twoDigits(hours) < 60 {
			return end
		}
		return hours
	}
	return i
}

func (l *line) twoDigits(i int) int {
	tens, w, _ := l.after(i)
	ones, _, _ := l.after(i + w)
	return int(digitValue(tens))*10 + int(digitValue(ones))
}
