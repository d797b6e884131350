// The order of an object's members: RFC 8785, section 3.2.3.

package artifact

import (
	"slices"
	"strconv"
)

// arrange puts the members from first on in the order of their keys and refuses a key that stands
// twice. They fill out up to its end.
func (w *objectWriter) arrange(first int) *fault {
	members := w.members[first:]
	begin := members[0].start
	out := w.out
	slices.SortFunc(members, func(a, b member) int { return compareKeys(out[a.start:], out[b.start:]) })
	for i, m := range members[1:] {
		if before := members[i]; compareKeys(out[before.start:], out[m.start:]) == 0 {
			// Which of two equal ones the sort puts first is open.
			return w.repeated(w.keyAt(first, max(before.start, m.start)))
		}
	}
	// What was read of the source is spent, and nearly always as long as what it became.
	size := len(out) - int(begin)
	space := w.src[:0:w.pos]
	if cap(space) < size {
		w.spare = slices.Grow(w.spare[:0], size)
		space = w.spare
	}
	for i, m := range members {
		if i > 0 {
			space = append(space, ',')
		}
		space = append(space, out[m.start:m.end]...)
	}
	copy(out[begin:], space)
	return nil
}

// keyAt returns start and the line that the key there was read on.
func (w *objectWriter) keyAt(first int, start uint32) (int, int) {
	if !w.lines {
		return int(start), w.line
	}
	nth := 0
	for _, m := range w.members[first:] {
		if m.start < start {
			nth++
		}
	}
	return int(start), w.keyLines[first+nth]
}

// repeated refuses the key that stands at start in out.
func (w *objectWriter) repeated(start, line int) *fault {
	w.line = line
	key := w.out[start+1:]
	n := 0
	for key[n] != '"' {
		if key[n] == '\\' {
			n++
		}
		n++
	}
	return w.refuse("the key %s stands twice", strconv.Quote(clip(string(key[:n]), 40)))
}

// compareKeys orders two canonical keys, each from its opening quotation mark on, as their UTF-16 code
// units are ordered. UTF-8 has the same order, but that the code points beyond U+FFFF, which are
// surrogates in UTF-16, come before U+E000 to U+FFFF.
func compareKeys(a, b []byte) int {
	for i := 1; ; i++ {
		x, y := a[i], b[i]
		if x == y && x != '"' && x != '\\' {
			continue
		}
		switch {
		case x == '\\' || y == '\\':
			return compareEscaped(a[i:], b[i:])
		case x == y:
			return 0
		case x == '"':
			return -1
		case y == '"':
			return 1
		}
		return compareLead(x, y)
	}
}

// compareLead orders two different bytes of UTF-8 with nothing different before them.
func compareLead(x, y byte) int {
	const (
		private = 0xEE // leads U+E000 and up, but for the surrogates all that is left of three bytes
		astral  = 0xF0 // leads U+10000 and up
	)
	if x >= private && y >= private && (x >= astral) != (y >= astral) {
		x, y = y, x
	}
	return int(x) - int(y)
}

// compareEscaped is compareKeys for keys with escapes.
func compareEscaped(a, b []byte) int {
	for {
		x, n := unescapedByte(a)
		y, m := unescapedByte(b)
		switch {
		case x != y && x >= 0 && y >= 0:
			return compareLead(byte(x), byte(y))
		case x != y:
			return x - y
		case x < 0:
			return 0
		}
		a, b = a[n:], b[m:]
	}
}

// unescapedByte decodes the first byte of the inside of a canonical string, and says how many bytes
// that takes; it is -1 at the quotation mark that ends the string.
func unescapedByte(b []byte) (value, size int) {
	switch {
	case b[0] == '"':
		return -1, 1
	case b[0] != '\\':
		return int(b[0]), 1
	case b[1] == 'u':
		v, _ := strconv.ParseUint(string(b[2:6]), 16, 8)
		return int(v), 6
	}
	return int(unescape[b[1]]), 2
}
