// The lines of a stream, in a buffer that grows to the longest and no further.

package artifact

import (
	"bytes"
	"fmt"
	"io"
)

// chunk is how much is read or written at once.
const chunk = 64 << 10

// lineReader cuts a stream into lines of at most MaxRow bytes.
type lineReader struct {
	r      io.Reader
	folder newlineFolder
	buf    []byte
	start  int // of what no line has taken yet
	end    int // of what was read
	done   bool
	number int // of the line returned last
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: r, buf: make([]byte, chunk)}
}

// next returns a line without its end, which stands until the next call and may be written over, and
// io.EOF after the last one. A line that is too long is a *Rejection.
func (l *lineReader) next() ([]byte, error) {
	for searched := 0; ; {
		pending := l.buf[l.start:l.end]
		i := bytes.IndexByte(pending[searched:], '\n')
		switch {
		case i >= 0:
			pending = pending[:searched+i]
			l.start += len(pending) + 1
		case len(pending) <= MaxRow && !l.done:
			searched = len(pending)
			if err := l.fill(); err != nil {
				return nil, err
			}
			continue
		case len(pending) == 0:
			return nil, io.EOF
		default:
			l.start = l.end
		}
		l.number++
		if len(pending) > MaxRow {
			return nil, &Rejection{l.number, fmt.Sprintf("a row has at most %d bytes", MaxRow)}
		}
		return pending, nil
	}
}

// fill reads once more, behind what is pending.
func (l *lineReader) fill() error {
	l.end = copy(l.buf, l.buf[l.start:l.end])
	l.start = 0
	if l.end > len(l.buf)/2 {
		// In few steps, for what is left behind counts until it is collected.
		size := 4 * len(l.buf)
		if size > MaxRow/2 {
			size = MaxRow + chunk
		}
		if size > len(l.buf) {
			grown := make([]byte, size)
			copy(grown, l.buf[:l.end])
			l.buf = grown
		}
	}
	n, err := l.r.Read(l.buf[l.end:])
	l.end += l.folder.fold(l.buf[l.end : l.end+n])
	if err == io.EOF {
		l.done = true
		return nil
	}
	return err
}
