// Reading lines of any length with bounded memory.

package bridge

import (
	"bufio"
	"errors"
	"io"
)

// maxLine is how much of one line is kept.
const maxLine = 8 << 20

// readLines calls line for every line until r ends. Of a line longer than limit the beginning is
// handed over with cut set, and the rest is read and dropped, so that the writer never blocks.
func readLines(r io.Reader, limit int, line func(line []byte, cut bool)) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	var (
		kept []byte
		cut  bool
	)
	for {
		part, err := buffered.ReadSlice('\n')
		whole := err == nil
		if whole {
			part = part[:len(part)-1]
		}
		if room := limit - len(kept); len(part) > room {
			part, cut = part[:room], true
		}
		kept = append(kept, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if whole || len(kept) > 0 {
			line(kept, cut)
		}
		if !whole {
			return
		}
		if cap(kept) > 1<<20 {
			kept = nil
		}
		kept, cut = kept[:0], false
	}
}
