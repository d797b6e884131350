// Reading a tree.

// Package sdd keeps a lineage log in a .sdd directory: it records artifacts and attachments there, without
// a server, and hands the tree to those who verify it. Whatever the moment a recording is cut off, the tree
// verifies as before or the next recording finishes it and says so.
package sdd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"countersign/contracts"
	"countersign/contracts/lineage"
)

// directory is the tree's, below the workdir.
const directory = ".sdd"

// errNoTree says that the workdir has none.
var errNoTree = errors.New("there is no .sdd directory")

// Verify checks a task's artifact in the tree below workdir, see lineage.Verify. It writes nothing, and
// waits for a recording that is under way. A workdir without a tree is a Result too; the error is that of a
// context that ended.
func Verify(ctx context.Context, workdir, taskID string, o lineage.Options) (lineage.Result, error) {
	t, err := open(ctx, workdir, syscall.LOCK_SH)
	if ctx.Err() != nil {
		return lineage.Result{}, ctx.Err()
	}
	if err != nil {
		return lineage.Result{TaskID: taskID, Failures: []string{fmt.Sprintf("%s: %v", workdir, err)}}, nil
	}
	defer t.close()
	tree := newFiles(t.root)
	defer tree.close()
	return lineage.Verify(ctx, tree, taskID, o)
}

// tree is an open .sdd directory with its lock. Nothing below it is reached through a path that leads
// outside.
type tree struct {
	root *os.Root
	lock *os.File // the directory itself, which is there before any file is
}

// open opens the tree below a workdir and locks it. The error is errNoTree when there is none.
func open(ctx context.Context, workdir string, lock int) (*tree, error) {
	parent, err := os.OpenRoot(workdir)
	if err != nil {
		return nil, contracts.Invalid("workdir", "%v", err)
	}
	defer parent.Close()
	info, err := parent.Lstat(directory)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errNoTree
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, contracts.Invalid("workdir", "its %s is no directory of its own", directory)
	}
	root, err := openDirectory(parent, directory)
	if err != nil {
		return nil, err
	}
	t := &tree{root: root}
	if t.lock, err = root.Open("."); err == nil {
		err = t.is(info)
	}
	if err == nil {
		err = flock(ctx, t.lock, lock)
	}
	if err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// is makes sure that the directory was not swapped for another one since it was looked at.
func (t *tree) is(looked fs.FileInfo) error {
	info, err := t.lock.Stat()
	if err == nil && !os.SameFile(info, looked) {
		err = unfit("%s was replaced just now", directory)
	}
	return err
}

// close lets go of the lock.
func (t *tree) close() {
	if t.lock != nil {
		t.lock.Close()
	}
	t.root.Close()
}

// lockEvery is how often a taken lock is tried again.
const lockEvery = 5 * time.Millisecond

// flock waits for the lock until the context ends; the kernel lets go of it however the process ends. Who
// only reads does without one where the file system has none.
func flock(ctx context.Context, f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EWOULDBLOCK), errors.Is(err, syscall.EINTR):
		case how == syscall.LOCK_SH:
			return nil
		default:
			return fmt.Errorf("lock %s: %w", directory, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockEvery):
		}
	}
}
