// A tree as a file system, for reading.

package sdd

import (
	"io/fs"
	"os"
	"path"
	"sync"
	"syscall"
)

// files is a tree for reading. Opening never waits, as it would for a named pipe's writer. It is safe for
// concurrent use.
type files struct {
	root *os.Root
	// directories are kept open: a log's sidecars are in few, and a path is otherwise walked part by part.
	mu          sync.Mutex
	directories map[string]*os.Root
}

// maxOpen is how many directories are kept open, those of all sidecars and a few more.
const maxOpen = 264

func newFiles(root *os.Root) *files { return &files{root: root, directories: map[string]*os.Root{}} }

// Open opens a file or directory.
func (f *files) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if in := f.directory(path.Dir(name)); in != nil {
		return in.OpenFile(path.Base(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	}
	return f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// directory is a directory that is kept open; nil when it cannot be.
func (f *files) directory(name string) *os.Root {
	f.mu.Lock()
	defer f.mu.Unlock()
	if in, known := f.directories[name]; known || len(f.directories) == maxOpen {
		return in
	}
	in, err := openDirectory(f.root, name)
	if err != nil {
		return nil
	}
	f.directories[name] = in
	return in
}

// openDirectory opens a directory and nothing else. The slash makes the kernel refuse anything else before it
// opens it, and so before it waits for a named pipe's writer.
func openDirectory(in *os.Root, name string) (*os.Root, error) { return in.OpenRoot(name + "/") }

func (f *files) close() {
	for _, in := range f.directories {
		in.Close()
	}
}
