// The end of the log, read backwards.

package sdd

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"

	"countersign/contracts/lineage"
)

// tail is what the last bytes of a log say.
type tail struct {
	size  int64  // of whole lines, in bytes
	torn  int64  // bytes behind the last line feed
	last  []byte // the last whole line, nil when there is none
	prior []byte // the one before
}

// chunk is how much is read at once, more than two lines.
const chunk = 4 * lineage.MaxLine

// openLog opens the log; nil when there is none.
func (t *tree) openLog(flags int) (*os.File, error) {
	f, err := t.openRegular(lineage.LogPath, flags)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f, err
}

// readTail reads the last two lines.
func (t *tree) readTail() (tail, error) {
	f, err := t.openLog(os.O_RDONLY)
	if f == nil || err != nil {
		return tail{}, err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return tail{}, err
	}
	from := max(0, size-chunk)
	data := make([]byte, size-from)
	if _, err := f.ReadAt(data, from); err != nil && err != io.EOF {
		return tail{}, err
	}
	end := bytes.LastIndexByte(data, '\n') + 1
	if end == 0 && from > 0 {
		return tail{}, unfit("the log's last line has more than %d bytes", chunk)
	}
	found := tail{size: from + int64(end), torn: int64(len(data) - end)}
	for _, line := range []*[]byte{&found.last, &found.prior} {
		if end == 0 {
			break
		}
		start := bytes.LastIndexByte(data[:end-1], '\n') + 1
		if start == 0 && from > 0 {
			break
		}
		*line, end = data[start:end-1], start
	}
	return found, nil
}

// window is how much of the log lastWith reads at once.
const window = 1 << 20

// lastWith is the last line that has a text in it, nil when none has. It reads backwards, so that what was
// recorded lately is found at once. No line is longer than lineage.MaxLine.
func lastWith(f *os.File, text string) ([]byte, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	buffer := make([]byte, min(size, window+2*lineage.MaxLine))
	for at := size; at > 0; at = max(0, at-window) {
		// The part reaches a line's length further on both sides, so that each line is whole in one.
		from := max(0, at-window-lineage.MaxLine)
		part := buffer[:min(size, at+lineage.MaxLine)-from]
		if _, err := f.ReadAt(part, from); err != nil && err != io.EOF {
			return nil, err
		}
		i := bytes.LastIndex(part, []byte(text))
		if i < 0 {
			continue
		}
		start := bytes.LastIndexByte(part[:i], '\n') + 1
		if start == 0 && from > 0 {
			continue // it begins before this part, and is whole in the next
		}
		line, _, _ := bytes.Cut(part[start:], []byte{'\n'})
		return line, nil
	}
	return nil, nil
}
