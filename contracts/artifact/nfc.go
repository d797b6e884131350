// Whether text is in Unicode Normalization Form C, rune by rune and without a buffer.

package artifact

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// inert is the first code point that can combine with what stands before it or that NFC could
// change: everything below stays what it is and begins anew.
const inert = 0x300

// nfcState decides NFC over a stream of runes. norm's own answer is about the stream-safe format as
// well: it calls 31 combining marks in a row not normal, though NFC says nothing about their number.
// So norm is only asked about one rune, or a pair of them, which is exact: a rune composes with the
// last starter exactly when nothing between them blocks it, and then the two alone compose too.
type nfcState struct {
	pair    [2 * utf8.UTFMax]byte // the last starter, and room for the rune asked about
	starter int                   // its length, 0 before the first one
	class   uint8                 // the combining class of the last mark after it, 0 when there is none
}

// accept takes the next rune, given as its bytes too, and reports whether the text is still NFC.
func (s *nfcState) accept(r rune, encoded []byte) bool {
	if r < inert {
		s.begin(encoded)
		return true
	}
	p := norm.NFC.Properties(encoded)
	if p.Decomposition() != nil && !norm.NFC.IsNormal(encoded) {
		return false
	}
	class := p.CCC()
	if class == 0 {
		ok := s.class != 0 || p.BoundaryBefore() || s.apart(encoded)
		s.begin(encoded)
		return ok
	}
	if class < s.class {
		return false
	}
	ok := class == s.class || s.apart(encoded)
	s.class = class
	return ok
}

func (s *nfcState) begin(encoded []byte) {
	s.starter = copy(s.pair[:], encoded)
	s.class = 0
}

// apart reports whether the last starter and the rune stay two.
func (s *nfcState) apart(encoded []byte) bool {
	n := copy(s.pair[s.starter:], encoded)
	return s.starter == 0 || norm.NFC.IsNormal(s.pair[:s.starter+n])
}

// acceptString judges the inside of a canonical JSON string, and nothing before it. An escape there is a
// control character, a quotation mark or a backslash, none of which combines with anything.
func (s *nfcState) acceptString(b []byte) bool {
	*s = nfcState{}
	for len(b) > 0 {
		if b[0] == '\\' {
			*s = nfcState{}
			if b[1] == 'u' {
				b = b[len(`\u0000`):]
			} else {
				b = b[len(`\n`):]
			}
			continue
		}
		if b[0] < utf8.RuneSelf {
			// Only the last of a run can be a starter that something follows.
			n := plainRun(b)
			s.begin(b[n-1 : n])
			b = b[n:]
			continue
		}
		r, size := utf8.DecodeRune(b)
		if !s.accept(r, b[:size]) {
			return false
		}
		b = b[size:]
	}
	return true
}

func plainRun(b []byte) int {
	for i, ch := range b {
		if ch >= utf8.RuneSelf || ch == '\\' {
			return i
		}
	}
	return len(b)
}

// textFault reads a piece of text and says what is wrong with it and where. It leaves a rune that the
// piece cuts off unread, unless the piece is the last.
func (s *nfcState) textFault(b []byte, last bool) (read int, reason string) {
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			s.begin(b[i : i+1])
			i++
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size <= 1 {
			if !last && !utf8.FullRune(b[i:]) {
				return i, ""
			}
			return i, "invalid UTF-8"
		}
		if !s.accept(r, b[i:i+size]) {
			return i, "the text " + remedyNFC
		}
		i += size
	}
	return len(b), ""
}

// lineOf is the number of the line that the byte at offset stands on, where LF ends lines.
func lineOf(folded []byte, offset int) int { return 1 + bytes.Count(folded[:offset], []byte{'\n'}) }
