// Spans that are no claims: dates, versions and sections. Rules 4 to 6.

package figures

// span is an exempt stretch of a line.
type span struct {
	start, end int
	category   Category
}

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
		if end := l.dateEnd(n.end); end > 0 {
			found = append(found, span{start, end, Date})
			floor = end
		}
	}
	return found
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

// versions appends the versions of the line: v1.2, 1.2.3.
func (l *line) versions(numbers []number, found []span) []span {
	floor := 0
	for _, n := range numbers {
		if n.start < floor || n.form&(grouped|fraction) != fraction {
			continue
		}
		start, end := l.version(l.digitsStart(n))
		if end == 0 && l.digitAt(n.start) > 0 {
			start, end = l.version(l.decimals(n))
		}
		if end > 0 && start >= floor {
			found = append(found, span{start, end, Version})
			floor = end
		}
	}
	return found
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

// sectionWords start a reference to a part of a document.
var sectionWords = map[string]bool{
	"Section": true, "Sec": true, "Chapter": true, "Ch": true, "Appendix": true, "Figure": true, "Fig": true,
	"Table": true, "Step": true, "Item": true, "Note": true,
}

// sections appends the references of the line: §3.2, Section 4, Fig. 2.
func (t *Tokenizer) sections(l *line, numbers []number, found []span) []span {
	floor := 0
	for _, n := range numbers {
		if n.start < floor || n.form&(grouped|exponent|power|vulgarForm) != 0 && !l.isLoose(n) {
			continue
		}
		start, ok := l.sectionWord(n.start)
		if !ok || start < floor || l.digitAt(n.start) == 0 {
			continue
		}
		end := l.dottedOpen(n.start)
		if t.claims(l, end) {
			continue
		}
		found = append(found, span{start, end, Section})
		floor = end
	}
	return found
}

// isLoose says that n is grouped by ordinary spaces in a way that may as well be two numbers:
// "Table 2 345 rows", but not "Note 2 000 rows".
func (l *line) isLoose(n number) bool {
	end, _ := l.digits(n.start)
	next, _, _ := l.after(end + 1)
	return n.form&spaced != 0 && l.s[end] == ' ' && digitValue(next) != 0
}

// sectionWord finds the section sign or word before the number at i.
func (l *line) sectionWord(i int) (start int, ok bool) {
	end := i
	for w := l.blankBefore(end); w > 0; w = l.blankBefore(end) {
		end -= w
	}
	r, w, _ := l.before(end)
	if r == '§' {
		return end - w, true
	}
	if end == i {
		return 0, false
	}
	if r == '.' {
		end--
	}
	start = end
	for end-start < len("Appendix") && start > 0 && isASCIILetter(l.s[start-1]) {
		start--
	}
	return start, end-start >= len("Ch") && sectionWords[l.s[start:end]] && l.opens(start)
}

// dottedOpen reads groups of digits joined by full stops, wherever they end.
func (l *line) dottedOpen(i int) (end int) {
	end, _ = l.digits(i)
	for l.goesOn(end, '.') {
		end, _ = l.digits(end + 1)
	}
	return end
}

// claims says that what follows a section number makes it a number of its own: a group of three, a
// share, money, a magnitude, or a glued unit of more than a letter (Note 5,000 · Note 5% · Step 250ms).
// Letters that sub-sections bear, A and B among them, do not.
func (t *Tokenizer) claims(l *line, end int) bool {
	r, w, _ := l.after(end)
	if kind := l.separator(r, end, w); kind != 0 && l.threes(end, kind) > end {
		return true
	}
	if _, magnitude := l.magnitude(end, 0); magnitude != "" && magnitude != "B" {
		return true
	}
	at, by := l.join(end)
	if word, _ := l.words(at); magnitudeWords[word] != "" || percentWords[word] != "" && word != "pp" || currencyWords[word] != "" {
		return true
	}
	if by == dash {
		return false
	}
	r, w, c := l.after(l.escaped(at))
	return percentSigns[r] != "" || c&sign != 0 && !l.startsNumber(at+w) || by == 0 && t.unit(l, at, true) != ""
}
