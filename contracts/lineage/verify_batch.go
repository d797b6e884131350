// The log's lines, many at once: read, then checked on all cores.

package lineage

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"
)

// maxRead is how many bytes of a line are read; no format has longer ones.
const maxRead = 64 << 10

// A batch is what is checked at once.
const (
	batchLines = 1024
	batchBytes = 1 << 20
)

// rawLine is a line before and after it was read.
type rawLine struct {
	data   []byte
	fault  string // why there is nothing to parse
	record *record
}

// nextBatch reads lines as they are. The error is io.EOF at the end.
func (v *verification) nextBatch(in *bufio.Reader) (batch []rawLine, err error) {
	for size := 0; len(batch) < batchLines && size < batchBytes; {
		slice, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = in.ReadSlice('\n')
			}
			batch = append(batch, rawLine{fault: fmt.Sprintf("has more than %d bytes", maxRead)})
		case err == io.EOF && len(slice) > 0:
			batch = append(batch, rawLine{fault: "is torn: it has no line feed"})
		case err == nil:
			data := append([]byte(nil), slice[:len(slice)-1]...)
			batch = append(batch, rawLine{data: data})
			size += len(data)
		}
		if err != nil {
			return batch, err
		}
	}
	return batch, nil
}

// startCheck parses lines and checks what can be checked of each alone, on all cores.
func (v *verification) startCheck(batch []rawLine) *sync.WaitGroup {
	var next atomic.Int64
	var done sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(batch)) {
		done.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(batch)) && v.ctx.Err() == nil; i = next.Add(1) - 1 {
				batch[i].record = v.check(batch[i])
			}
		})
	}
	return &done
}

// cancellable ends reading with its context.
type cancellable struct {
	ctx context.Context
	fs.File
}

func (c *cancellable) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.File.Read(b)
}
