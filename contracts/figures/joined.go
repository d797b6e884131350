// Numbers that belong together: ranges, durations and the ends of a dash. Rule 7.

package figures

// spread reads a range: two numbers with one dash between them and a share after them.
func (t *Tokenizer) spread(f *found, l *line, numbers []number, floor, ceiling int) bool {
	if len(numbers) < 2 || numbers[1].end > ceiling {
		return false
	}
	a, b := numbers[0], numbers[1]
	dashed, tight := l.dashed(a.end, b.start)
	if !dashed {
		return false
	}
	// "Q3 - 5% growth" and "In 2026 - 5% more" are no ranges: what stands before the dash is a name or a year.
	if !tight && (l.isIdentifier(a.start) || l.isYear(a) && !l.isYear(b)) {
		return false
	}
	closing := l.closing(a.start, b.end, floor)
	if _, magnitude := l.magnitude(b.end, closing); magnitude != "" {
		return false
	}
	share := t.share(l, b, b.end, closing)
	if share.kind == "" || share.end > ceiling {
		return false
	}
	*f = found{line: l, start: a.start, end: share.end, category: Range, numbers: numbers[:2], suffix: share.states}
	return true
}

// dashed says that one dash and nothing but blanks and emphasis stands between i and j; tight, that it
// stands without blanks.
func (l *line) dashed(i, j int) (ok, tight bool) {
	tight = true
	dashes := 0
	for i < j {
		_, w, c := l.after(i)
		switch {
		case c&dash != 0 && dashes == 0:
			dashes++
		case c&blank != 0:
			tight = false
		case c&emphasis == 0:
			return false, false
		}
		i += w
	}
	return dashes == 1, tight
}

// maxParts bounds the parts of a duration: days, hours, minutes, seconds and what is below.
const maxParts = 8

// duration reads a number glued to a unit of time that the next number is glued to, and so on: 1h30m.
// It says how many numbers there are, at least two, or 0.
func (l *line) duration(numbers []number) (count, end int) {
	for k, n := range numbers[:min(len(numbers), maxParts)] {
		if n.form&^fraction != 0 || k > 0 && n.start != end {
			return 0, 0
		}
		end = l.timeUnit(n.end)
		if end == n.end {
			return 0, 0
		}
		if l.closes(end) {
			if k == 0 {
				return 0, 0
			}
			return k + 1, end
		}
	}
	return 0, 0
}

// timeUnit reads the letters at i when they are a unit of time, and returns i when they are not.
func (l *line) timeUnit(i int) int {
	end := i
	for count := 0; count < 5; count++ {
		_, w, c := l.after(end)
		if c&letter == 0 || c&unspaced != 0 {
			break
		}
		end += w
	}
	if end > i && timeUnits[l.s[i:end]] {
		return end
	}
	return i
}

// neighbour is a number that a dash joins to a token.
type neighbour struct {
	number    number
	magnitude string
	joined    bool
}

// leads says that a dash and a digit stand at i.
func (l *line) leads(i int) bool {
	_, w, c := l.after(i)
	return c&dash != 0 && l.digitAt(i+w) > 0
}

// connect notes that one dash joins two tokens, and lets an end that would claim nothing by itself
// claim what the other does: the 3 of "3-5M", the 20 of "$10-20".
func (t *Tokenizer) connect(a, b *found) {
	if a.category == Range || b.category == Range {
		return
	}
	dashed, tight := a.line.dashed(a.end, b.start)
	if !dashed {
		return
	}
	a.right = neighbour{b.numbers[0], b.magnitude, len(b.numbers) == 1}
	b.left = neighbour{a.numbers[0], a.magnitude, len(a.numbers) == 1}
	// Three numbers in a row are a date or an id rather than two ends.
	switch {
	case a.category == BelowThreshold && b.prefix == "" && (b.magnitude != "" || b.category == Currency):
		if !a.line.isTied(a.start) {
			a.category, a.suffix = b.category, b.suffix
		}
	case a.left.joined, b.line.leads(b.end):
	case a.category == Currency && (b.category == BelowThreshold || b.category == Date && tight):
		b.category, b.prefix, b.suffix = Currency, a.prefix, a.suffix
	}
}
