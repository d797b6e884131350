// Opening what a task wrote.

package sdd

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"countersign/contracts"
	"countersign/contracts/artifact"

	"golang.org/x/sys/unix"
)

// openOutput opens a task's output. Symlinks are resolved, and where they lead must be inside the workdir
// and outside of records; the file there is opened without following any, so that nobody can swap a path
// between check and use. The error is artifact.Missing, or a *contracts.Error of code invalid.
func openOutput(workdir, outputPath string) (*os.File, error) {
	clean, err := artifact.CleanOutputPath(outputPath)
	if err != nil {
		return nil, contracts.Invalid("artifact_spec.output_path", "%v", err)
	}
	if workdir, err = filepath.Abs(workdir); err == nil {
		workdir, err = filepath.EvalSymlinks(workdir)
	}
	if err != nil {
		return nil, contracts.Invalid("workdir", "%v", err)
	}
	resolved, err := filepath.EvalSymlinks(filepath.Join(workdir, filepath.FromSlash(clean)))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return nil, artifact.Missing(clean)
	}
	relative := ""
	if err == nil {
		relative, err = artifact.CheckResolvedPath(workdir, resolved)
	}
	if err != nil {
		return nil, contracts.Invalid("artifact_spec.output_path", "%v", err)
	}
	f, err := openPlain(workdir, relative)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, artifact.Missing(clean)
	}
	if err != nil {
		return nil, contracts.Invalid("artifact_spec.output_path", "%v", err)
	}
	return f, nil
}

// openPlain opens a regular file below dir by a path none of whose parts is a symlink.
func openPlain(dir, relative string) (*os.File, error) {
	at, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	parts := strings.Split(relative, "/")
	for i, part := range parts {
		flags := unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK
		if i < len(parts)-1 {
			flags |= unix.O_DIRECTORY
		}
		next, err := unix.Openat(at, part, flags, 0)
		unix.Close(at)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: relative, Err: err}
		}
		at = next
	}
	f := os.NewFile(uintptr(at), relative)
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: relative, Err: errors.New("is no regular file")}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
