// Writing below the tree: durable, whole, and never through a symlink.

package sdd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// step is called before each change to the disk that others could see; a test cuts recordings off there.
var step = func(what string) {}

// makeDirs makes a directory and its parents, each durable. A symlink where one should be is refused.
func (t *tree) makeDirs(name string, mode fs.FileMode) error {
	at := ""
	for part := range strings.SplitSeq(name, "/") {
		parent := at
		at = path.Join(at, part)
		info, err := t.root.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			step("mkdir " + at)
			if err = t.root.Mkdir(at, mode); err == nil {
				err = t.syncDir(parent)
			}
			if err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return unfit("%s/%s is no directory of its own", directory, at)
		}
	}
	return nil
}

func (t *tree) syncDir(name string) error { return syncDir(t.root, cmp.Or(name, ".")) }

// syncDir makes what happened to a directory's entries durable.
func syncDir(root *os.Root, name string) error {
	dir, err := root.Open(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// pending is where a file stands while it is being written, whichever it will be.
const pending = "lineage/pending"

// replace writes a file whole, durable, or leaves what is there. Its directory is made when missing.
func (t *tree) replace(name string, data []byte, mode fs.FileMode) error {
	for _, file := range []string{pending, name} {
		if err := t.makeDirs(path.Dir(file), 0o755); err != nil {
			return err
		}
	}
	step("write " + name)
	f, err := t.create(pending, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = finish(f, err); err != nil {
		return err
	}
	return t.rename(pending, name)
}

// create makes a new file, in place of one that was left there.
func (t *tree) create(name string, mode fs.FileMode) (*os.File, error) {
	if err := t.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return t.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
}

// finish makes what was written durable, unless writing failed.
func finish(f *os.File, err error) error {
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// rename puts a file in its place, durable.
func (t *tree) rename(from, to string) error {
	step("rename " + to)
	if err := t.root.Rename(from, to); err != nil {
		return err
	}
	return t.syncDir(path.Dir(to))
}

// read reads a small regular file that must not be a symlink; nil data when there is none.
func (t *tree) read(name string, limit int64) ([]byte, error) {
	f, err := t.openRegular(name, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s/%s has more than %d bytes", directory, name, limit)
	}
	return data, err
}

// openRegular opens a regular file that is there.
func (t *tree) openRegular(name string, flags int) (*os.File, error) {
	info, err := t.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, unfit("%s/%s is no regular file", directory, name)
	}
	return t.root.OpenFile(name, flags, 0)
}
