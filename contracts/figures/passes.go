// The passes over one line, in the order of rule 2.

package figures

import "sort"

// span is an exempt stretch of a line.
type span struct {
	start, end int
	category   Category
}

// scanner holds what one scan reuses from line to line.
type scanner struct {
	t       *Tokenizer
	emit    func(*found, *place) bool
	place   place
	allowed [][][]int // matches not yet passed, by pattern
	line    line
	numbers []number
	whole   []number
	exempt  []span
	spans   []span
	merged  []span
}

// scanLine finds the numbers of one line in the order of rule 2 and emits them by position. It returns
// false when the scan should end.
func (s *scanner) scanLine() bool {
	s.line = line{s: s.place.raw}
	s.numbers = s.line.numbers(s.numbers[:0])
	if len(s.numbers) == 0 && len(s.allowed) == 0 {
		return true
	}
	if s.line = readLine(s.place.raw); s.line.at != nil {
		s.numbers = s.line.numbers(s.numbers[:0])
	}
	s.exempt = s.exempt[:0]
	for i := range s.allowed {
		s.merge(s.allowedHere(i))
	}
	s.merge(s.line.dates(s.numbers, s.spans[:0]))
	s.merge(s.line.versions(s.numbers, s.spans[:0]))
	s.merge(s.t.sections(&s.line, s.numbers, s.spans[:0]))
	s.splitSpaced()
	return s.report()
}

// merge adds those of more, sorted by position, that overlap nothing accepted so far.
func (s *scanner) merge(more []span) {
	s.spans = more[:0]
	if len(more) == 0 {
		return
	}
	s.merged = s.merged[:0]
	i := 0
	for _, next := range more {
		for i < len(s.exempt) && s.exempt[i].end <= next.start {
			s.merged = append(s.merged, s.exempt[i])
			i++
		}
		if i == len(s.exempt) || next.end <= s.exempt[i].start {
			s.merged = append(s.merged, next)
		}
	}
	s.merged = append(s.merged, s.exempt[i:]...)
	s.exempt, s.merged = s.merged, s.exempt
}

// allowedHere are the matches of one pattern in this line that do not cut a number.
func (s *scanner) allowedHere(pattern int) []span {
	found, k := s.spans[:0], 0
	from, to := s.place.offset, s.place.offset+len(s.place.raw)
	for len(s.allowed[pattern]) > 0 && s.allowed[pattern][0][0] <= to {
		m := s.allowed[pattern][0]
		s.allowed[pattern] = s.allowed[pattern][1:]
		start, end := s.line.seen(m[0]-from, m[1]-from)
		for k < len(s.numbers) && s.magnitudeEnd(s.numbers[k]) <= start {
			k++
		}
		last := k
		for last < len(s.numbers) && s.magnitudeEnd(s.numbers[last]) <= end {
			last++
		}
		if start < end && !s.cuts(k, start) && !s.cuts(last, end) {
			found = append(found, span{start, end, Allowlisted})
		}
		k = last
	}
	return found
}

// cuts says that i lies inside the k-th number or between it and its magnitude.
func (s *scanner) cuts(k, i int) bool {
	return k < len(s.numbers) && s.numbers[k].start < i && i < s.magnitudeEnd(s.numbers[k])
}

func (s *scanner) magnitudeEnd(n number) int {
	end, _ := s.line.magnitude(n.end, 0)
	return end
}

// splitSpaced undoes grouping by blanks where an exempt span needs a part of the number.
func (s *scanner) splitSpaced() {
	if len(s.exempt) == 0 {
		return
	}
	s.whole = s.whole[:0]
	for _, n := range s.numbers {
		i := sort.Search(len(s.exempt), func(i int) bool { return s.exempt[i].end > n.start })
		if n.form&spaced != 0 && i < len(s.exempt) && s.exempt[i].start < n.end {
			s.whole = s.line.parts(n, s.whole)
		} else {
			s.whole = append(s.whole, n)
		}
	}
	s.numbers, s.whole = s.whole, s.numbers
}

// report emits exempt spans, ranges and single numbers by position. What overlaps an exempt span is
// dropped whole.
func (s *scanner) report() bool {
	var (
		floor   = 0 // where the last token ends
		pending *found
		first   found
		second  found
	)
	flush := func() bool {
		if pending == nil {
			return true
		}
		f := pending
		pending = nil
		return s.emit(f, &s.place)
	}
	for k, e := 0, 0; k < len(s.numbers) || e < len(s.exempt); {
		if e < len(s.exempt) && (k == len(s.numbers) || s.exempt[e].start <= s.numbers[k].start) {
			x := s.exempt[e]
			e++
			if !flush() || !s.emit(&found{line: &s.line, start: x.start, end: x.end, category: x.category}, &s.place) {
				return false
			}
			floor = x.end
			continue
		}
		ceiling := len(s.line.s)
		if e < len(s.exempt) {
			ceiling = s.exempt[e].start
		}
		if n := s.numbers[k]; n.start < floor || n.end > ceiling {
			k++
			continue
		}
		next := &first
		if pending == next {
			next = &second
		}
		if !s.t.find(next, &s.line, s.numbers[k:], floor, ceiling) {
			k++
			continue
		}
		if pending != nil {
			s.t.connect(pending, next)
		}
		if !flush() {
			return false
		}
		pending, floor = next, next.end
		k += len(next.numbers)
	}
	return flush()
}
