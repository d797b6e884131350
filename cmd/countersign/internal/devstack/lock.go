// One development server a directory.

package devstack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrInUse says that another development server runs on the directory.
var ErrInUse = errors.New("another `countersign dev` runs on this directory")

// lockDir holds the directory for this process; the kernel lets go of it however the process ends.
func lockDir(dir string) (*os.File, error) {
	path := filepath.Join(dir, "dev.lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		pid, err := os.ReadFile(path)
		if err != nil || len(pid) == 0 {
			pid = []byte("unknown")
		}
		return nil, fmt.Errorf("%w: %s is held by process %s; stop that one, or use another --data directory",
			ErrInUse, dir, strings.TrimSpace(string(pid)))
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}
