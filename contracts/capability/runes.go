// What a reader sees of a text: characters that hide, and characters that pass for others.

package capability

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// isBreak reports the three control characters a quoted text may hold.
func isBreak(r rune) bool { return r == '\t' || r == '\n' || r == '\r' }

// unseen reports control characters (but for tab, LF and CR), the format characters that reorder or
// vanish (bidirectional, zero-width, tags) and Unicode's own line separators. They let a text read
// otherwise than it is.
func unseen(r rune) bool {
	return unicode.IsControl(r) && !isBreak(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// bracket reports < and >, and the characters that compatibility folding turns into them.
func bracket(r rune) bool {
	return r == '<' || r == '>' || r >= utf8.RuneSelf && strings.ContainsAny(norm.NFKC.String(string(r)), "<>")
}

// fold rewrites a text as a reader takes it: without characters that do not show, and with
// look-alikes such as fullwidth letters in their plain form. at maps each byte of folded, and its
// end, to the place in text it came from.
func fold(text string) (folded string, at []int) {
	var b strings.Builder
	b.Grow(len(text))
	at = make([]int, 0, len(text)+1)
	for i, r := range text {
		if unseen(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
			continue
		}
		if r < utf8.RuneSelf {
			b.WriteByte(byte(r))
		} else {
			b.WriteString(norm.NFKC.String(string(r)))
		}
		for len(at) < b.Len() {
			at = append(at, i)
		}
	}
	return b.String(), append(at, len(text))
}
