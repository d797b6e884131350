// One number with all that belongs to it: rules 7 to 10.

package figures

// found is a token on its way out, in terms of its line. It costs nothing to make, for most numbers of
// most texts claim nothing and need no keys.
type found struct {
	line      *line
	start     int
	end       int
	category  Category
	numbers   []number // none for an exempt span
	magnitude string   // of the only number
	prefix    string   // the currency it states before itself
	suffix    string   // the currency, share or unit it states after itself
	left      end      // what one dash joins to it on either side
	right     end
}

// end is one end of what a dash joins.
type end struct {
	number    number
	magnitude string
	joined    bool
}

// find fills f from the first of the numbers, as a range or as a number of its own, within floor and
// ceiling. It is false for the tail of an identifier.
func (t *Tokenizer) find(f *found, l *line, numbers []number, floor, ceiling int) bool {
	if t.spread(f, l, numbers, floor, ceiling) {
		return true
	}
	start, prefix := l.prefix(numbers[0].start, floor)
	if prefix == "" && l.isIdentifier(numbers[0].start) {
		return false
	}
	if prefix == "" {
		if count, end := l.duration(numbers); count > 0 && end <= ceiling {
			*f = found{line: l, start: start, end: end, category: Quantity, numbers: numbers[:count]}
			return true
		}
	}
	t.single(f, l, numbers, start, prefix, floor, ceiling)
	return true
}

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

// single reads one number with its magnitude and what it counts.
func (t *Tokenizer) single(f *found, l *line, numbers []number, start int, prefix string, floor, ceiling int) {
	n := numbers[0]
	*f = found{line: l, start: start, end: n.end, numbers: numbers[:1], prefix: prefix}
	var states suffix
	if t.mayFollow(l, n.end) && (prefix != "" || !l.isLabelled(n)) {
		if end, magnitude := l.magnitude(n.end, l.closing(start, n.end, floor)); end <= ceiling {
			f.end, f.magnitude = end, magnitude
		}
		closing := l.closing(start, f.end, floor)
		states = t.share(l, n, f.end, closing)
		if states.kind == "" && prefix == "" {
			states = l.money(f.end, closing)
		}
		if states.kind != "" && states.end <= ceiling {
			f.end, f.suffix = states.end, states.states
		} else {
			states.kind = ""
		}
	}
	switch {
	case prefix != "":
		f.category = Currency
	case states.kind != "":
		f.category = states.kind
	default:
		f.category = t.bare(l, n, f.magnitude)
	}
}

// mayFollow says that what stands at i can start something that belongs to a number. It spares most
// numbers all further questions.
func (t *Tokenizer) mayFollow(l *line, i int) bool { return i < len(l.s) && t.follows[l.s[i]] }

// bare is the category of a number that says nothing about what it counts.
func (t *Tokenizer) bare(l *line, n number, magnitude string) Category {
	switch {
	case magnitude != "" || n.form != 0:
		return Count
	case l.isYear(n):
		return Date
	case l.atLeast(n, t.least):
		return Count
	}
	return BelowThreshold
}

// atLeast compares a plain integer of any length with least.
func (l *line) atLeast(n number, least int64) bool {
	value, digits := uint64(0), 0
	for i := n.start; i < n.end; {
		r, w, _ := l.after(i)
		value = value*10 + uint64(digitValue(r))
		if value > 0 {
			digits++
		}
		if digits > 18 {
			return true
		}
		i += w
	}
	return value >= uint64(least)
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
	a.right = end{b.numbers[0], b.magnitude, len(b.numbers) == 1}
	b.left = end{a.numbers[0], a.magnitude, len(a.numbers) == 1}
	switch {
	case a.category == BelowThreshold && b.prefix == "" && (b.magnitude != "" || b.category == Currency):
		a.category, a.suffix = b.category, b.suffix
	case a.category == Currency && (b.category == BelowThreshold || b.category == Date && tight):
		b.category, b.prefix, b.suffix = Currency, a.prefix, a.suffix
	}
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
