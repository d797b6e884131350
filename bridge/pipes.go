// What connects the bridge with a guard and its agent.

package bridge

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// pipes are the connections to a guard and its agent.
type pipes struct{ control, status, stdout, stderr pipe }

type pipe struct{ r, w *os.File }

func (p *pipes) open() error {
	for _, one := range []*pipe{&p.control, &p.status, &p.stdout, &p.stderr} {
		var err error
		if one.r, one.w, err = os.Pipe(); err != nil {
			p.closeTheirs()
			p.closeOurs()
			return fmt.Errorf("make pipe: %w", err)
		}
	}
	return nil
}

// closeTheirs drops the ends that the guard holds; closing a file that was never opened is harmless.
func (p *pipes) closeTheirs() {
	for _, f := range []*os.File{p.control.r, p.status.w, p.stdout.w, p.stderr.w} {
		f.Close()
	}
}

func (p *pipes) closeOurs() {
	for _, f := range []*os.File{p.control.w, p.status.r, p.stdout.r, p.stderr.r} {
		f.Close()
	}
}

// unlinked is a file without a name that holds data: an agent that waits for more input sees the end.
func unlinked(dir string, data []byte) (*os.File, error) {
	f, err := os.CreateTemp(dir, "stdin-*")
	if err != nil {
		return nil, fmt.Errorf("stdin file: %w", err)
	}
	err = os.Remove(f.Name())
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("stdin file: %w", err)
	}
	return f, nil
}

// readAll reads both outputs and returns a function that waits for their end, and ends them when
// somebody who escaped keeps them open.
func readAll(stdout, stderr *os.File, line func([]byte, bool), keep io.Writer) (drain func()) {
	var reading sync.WaitGroup
	reading.Go(func() { readLines(stdout, maxLine, line) })
	reading.Go(func() { _, _ = io.Copy(keep, stderr) })
	return func() {
		cut := time.AfterFunc(drainBound, func() {
			stdout.Close()
			stderr.Close()
		})
		reading.Wait()
		cut.Stop()
		stdout.Close()
		stderr.Close()
	}
}
