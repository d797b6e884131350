// Line ends: CRLF and CR become LF.

package artifact

import "bytes"

// newlineFolder folds the line ends of a stream that comes in pieces.
type newlineFolder struct {
	afterCR bool // the last byte was a CR, already written as LF
}

// fold rewrites b in place and returns how many bytes it has now.
func (f *newlineFolder) fold(b []byte) int {
	if !f.afterCR && bytes.IndexByte(b, '\r') < 0 {
		return len(b)
	}
	n := 0
	for _, ch := range b {
		if ch == '\n' && f.afterCR {
			f.afterCR = false
			continue
		}
		if f.afterCR = ch == '\r'; f.afterCR {
			ch = '\n'
		}
		b[n] = ch
		n++
	}
	return n
}
