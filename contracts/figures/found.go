// One number with all that belongs to it: rules 8 and 10.

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
	left      neighbour
	right     neighbour
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
			states = l.money(n, f.end, closing)
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
		if digits > 19 {
			return true
		}
		i += w
	}
	return value >= uint64(least)
}
