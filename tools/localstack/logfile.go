// The size-capped log of a child process, with its last lines kept at hand.

//go:build unix

package localstack

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
)

const (
	logCap  = 8 << 20
	tailCap = 16 << 10
)

// logFile appends to path and keeps at most one older file, path+".1", so that
// a noisy child costs at most two caps of disk.
type logFile struct {
	mu   sync.Mutex
	path string
	file *os.File
	size int64
	tail []byte
}

func openLog(path string) (*logFile, error) {
	l := &logFile{path: path}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *logFile) open() error {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return fmt.Errorf("open log: %w", err)
	}
	l.file, l.size = f, info.Size()
	return nil
}

// Write never fails: a full disk must not end the child, whose output pipe
// would otherwise be closed.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail = append(l.tail, p...)
	if over := len(l.tail) - tailCap; over > 0 {
		l.tail = append(l.tail[:0], l.tail[over:]...)
	}
	if l.size+int64(len(p)) > logCap && l.file != nil {
		l.file.Close()
		l.file = nil
		if err := os.Rename(l.path, l.path+".1"); err == nil {
			_ = l.open()
		}
	}
	if l.file != nil {
		n, _ := l.file.Write(p)
		l.size += int64(n)
	}
	return len(p), nil
}

func (l *logFile) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

func (l *logFile) contains(s string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Contains(l.tail, []byte(s))
}

// lastLines returns the last n lines written since the log was opened.
func (l *logFile) lastLines(n int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.Split(strings.TrimRight(string(l.tail), "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}
