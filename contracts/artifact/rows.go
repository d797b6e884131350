// The canonical form of datasets and action logs.

package artifact

import (
	"io"
	"slices"
)

// foldRows writes JSONL: the canonical form of each object, joined by LF without a last one. Lines of
// white space are no rows. Memory is bounded by the longest row.
func foldRows(r io.Reader, s *sink) (rows int64, err error) {
	lines := newLineReader(r)
	w := objectWriter{limit: MaxRow}
	for {
		line, err := lines.next()
		if err == io.EOF {
			return rows, s.write(w.out)
		}
		if err != nil {
			return 0, err
		}
		if blank(line) {
			continue
		}
		if len(w.out)+len(line) > chunk {
			if err := s.write(w.out); err != nil {
				return 0, err
			}
			w.out = slices.Grow(w.out[:0], len(line)+1)
		}
		if rows > 0 {
			w.out = append(w.out, '\n')
		}
		if f := w.write(line); f != nil {
			return 0, &Rejection{lines.number, f.reason}
		}
		rows++
	}
}

// blank reports whether there is nothing but JSON white space.
func blank(b []byte) bool {
	for _, ch := range b {
		if ch != ' ' && ch != '\t' && ch != '\n' && ch != '\r' {
			return false
		}
	}
	return true
}
