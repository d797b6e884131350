// The Markdown files of a backlog's directory, read without leaving it.

// Package backlogdir walks a backlog. Nothing outside the directory is ever opened: symbolic links are
// not followed, and what is no regular file is not read.
package backlogdir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"unicode/utf8"
)

// MaxFiles is how many Markdown files a backlog may have.
const MaxFiles = 10_000

// Each calls visit for every Markdown file (.md) at or below dir, in the order of their names: with its
// path relative to dir, and at most limit+1 bytes of it or why it cannot be read. Names that begin with
// a dot are passed over, and so are links that have no Markdown name. A directory that cannot be read is
// visited with the reason and a slash behind its path. The error is of dir itself, of too many files, or
// of the context.
func Each(ctx context.Context, dir string, limit int64, visit func(path string, data []byte, err error)) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	files := 0
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case name == ".":
			return err
		case strings.HasPrefix(d.Name(), ".") && d.IsDir():
			return fs.SkipDir
		case strings.HasPrefix(d.Name(), "."):
			return nil
		case d.IsDir() && !utf8.ValidString(name):
			visit(shown(name)+"/", nil, errName)
			return fs.SkipDir
		case d.IsDir() && err != nil:
			visit(name+"/", nil, cause(err))
			return fs.SkipDir
		case d.IsDir() || !strings.EqualFold(path.Ext(name), ".md"):
			return nil
		case files == MaxFiles:
			return fmt.Errorf("%s: more than %d Markdown files", dir, MaxFiles)
		}
		files++
		data, err := read(root, name, d, limit)
		visit(shown(name), data, cause(err))
		return nil
	})
}

var errName = errors.New("the name is not UTF-8")

func shown(name string) string { return strings.ToValidUTF8(name, "\ufffd") }

// cause leaves out the path, which the visitor has.
func cause(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}

// read reads a file that is still the regular one the walk saw. Opening does not wait for the other end
// of a pipe that took its place.
func read(root *os.Root, name string, d fs.DirEntry, limit int64) ([]byte, error) {
	switch {
	case !utf8.ValidString(name):
		return nil, errName
	case d.Type()&fs.ModeSymlink != 0:
		return nil, errors.New("is a symbolic link, which is not followed")
	case !d.Type().IsRegular():
		return nil, errors.New("is not a regular file")
	}
	walked, err := d.Info()
	if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	opened, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !os.SameFile(walked, opened):
		return nil, errors.New("was replaced while it was read")
	}
	return io.ReadAll(io.LimitReader(f, limit+1))
}
