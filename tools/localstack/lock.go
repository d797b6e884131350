// Locks on a server's directory: one supervisor at a time, and no start while
// anything of an earlier server lives.

//go:build unix

package localstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// orphanGrace is how long orphans may take to end by themselves once told.
	orphanGrace = 10 * time.Second
	// orphanBound is after how long a start gives up on them.
	orphanBound = 30 * time.Second
)

// tryLock opens path and locks it for this open file and those inherited from
// it; a nil file means that somebody else holds it.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// forkBound is how long a child of this process may stand between fork and exec,
// holding every file that is open here, also one closed since.
const forkBound = 2 * time.Second

// lockOwner is tryLock, patient while the lock seems to be this process's own:
// then it is held by a forked child that has not yet become its program, or by
// another server of this process, which a moment's waiting tells apart.
func lockOwner(ctx context.Context, path string) (*os.File, error) {
	for end := time.Now().Add(forkBound); ; {
		owner, err := tryLock(path)
		if owner != nil || err != nil {
			return owner, err
		}
		b, err := os.ReadFile(path)
		if err != nil || strings.TrimSpace(string(b)) != strconv.Itoa(os.Getpid()) || time.Now().After(end) {
			return nil, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}

// dirLock is the hold on a server's directory.
type dirLock struct {
	owner *os.File
	// alive is handed to the server; this process closes its own copy once the
	// server runs.
	alive *os.File
}

// lockDir makes dir when missing and takes both its locks. Processes of an earlier server whose
// supervisor is dead are told to end by sig, then killed, and waited for; a
// live supervisor is ErrInUse.
func lockDir(ctx context.Context, dir string, sig syscall.Signal, log *slog.Logger) (*dirLock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	owner, err := lockOwner(ctx, filepath.Join(dir, "owner.lock"))
	if err != nil {
		return nil, err
	}
	if owner == nil {
		who := "a process that is just starting"
		if b, err := os.ReadFile(filepath.Join(dir, "owner.lock")); err == nil && len(b) > 0 {
			who = "process " + strings.TrimSpace(string(b))
		}
		return nil, fmt.Errorf("%w: %s is run by %s", ErrInUse, dir, who)
	}
	err = owner.Truncate(0)
	if err == nil {
		_, err = owner.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	}
	if err != nil {
		owner.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	alive, err := awaitOrphans(ctx, filepath.Join(dir, "alive.lock"), sig, log)
	if err != nil {
		owner.Close()
		return nil, err
	}
	return &dirLock{owner: owner, alive: alive}, nil
}

func awaitOrphans(ctx context.Context, path string, sig syscall.Signal, log *slog.Logger) (*os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, orphanBound)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var told, killed bool
	begun := time.Now()
	for {
		f, err := tryLock(path)
		if f != nil || err != nil {
			return f, err
		}
		// Only the server and its children have this file open, and whoever
		// supervised them is dead: they are ours to end.
		late := time.Since(begun) > orphanGrace
		if !told || late && !killed {
			pids := holders(path)
			log.Info("waiting for processes left by an earlier run", "dir", filepath.Dir(path), "pids", pids)
			if late {
				sig, killed = syscall.SIGKILL, true
			}
			for _, pid := range pids {
				_ = syscall.Kill(pid, sig)
			}
			told = true
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: processes %v of an earlier run on %s do not end: %w",
				ErrInUse, holders(path), filepath.Dir(path), context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// passed is called when the server has inherited the alive lock.
func (l *dirLock) passed() {
	l.alive.Close()
}

// release gives the directory up; whatever of the server still lives keeps the
// alive lock.
func (l *dirLock) release() {
	l.alive.Close()
	l.owner.Close()
}
