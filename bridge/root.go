// The bridge's own directory: who may read it, who holds it, what lies where.

package bridge

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// root is the resolved path of the bridge-owned directory.
type root string

// openRoot makes or checks the directory: it must be ours and closed to everybody else.
func openRoot(path string) (root, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("root %q is not an absolute path", path)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", fmt.Errorf("make root: %w", err)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("resolve root: %w", err)
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", fmt.Errorf("root: %w", err)
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() {
		return "", fmt.Errorf("root %s belongs to user %d, the bridge runs as %d", real, s.Uid, os.Geteuid())
	}
	if err := os.Chmod(real, 0o700); err != nil {
		return "", fmt.Errorf("close root to others: %w", err)
	}
	r := root(real)
	for _, dir := range []string{r.attempts(), r.trees(), r.plains()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", fmt.Errorf("make root: %w", err)
		}
	}
	return r, nil
}

// attempts holds one directory an execution: its state file, logs and scratch space.
func (r root) attempts() string { return filepath.Join(string(r), "attempts") }

func (r root) attempt(execution string) string { return filepath.Join(r.attempts(), execution) }

// trees holds the worktrees, named by execution so that git's own names for them are readable.
func (r root) trees() string { return filepath.Join(string(r), "trees") }

func (r root) tree(execution string) string { return filepath.Join(r.trees(), execution) }

// plains holds the workspaces of artifact tasks, named by session (seed "artifact contract").
func (r root) plains() string { return filepath.Join(string(r), ".sdd", "workspaces") }

func (r root) plain(session string) string { return filepath.Join(r.plains(), session) }

// ErrRootInUse says that another bridge runs on the same root directory.
var ErrRootInUse = errors.New("another bridge uses this root directory; give this one another with --root (COUNTERSIGN_BRIDGE_ROOT)")

// lock takes the root for this process. The kernel lets go of it when the process ends, however it ends.
func (r root) lock() (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(string(r), "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: %w", r, ErrRootInUse)
		}
		return nil, fmt.Errorf("lock root: %w", err)
	}
	return func() { f.Close() }, nil
}

// free is how many bytes an unprivileged process may still write below the root.
func (r root) free() (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(string(r), &s); err != nil {
		return 0, fmt.Errorf("statfs: %w", err)
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil
}
