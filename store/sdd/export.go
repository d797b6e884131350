// A tree written as a copy of records that were made elsewhere.

package sdd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"countersign/contracts/lineage"
)

// Export is a tree in the making. It stands beside the place where it will be, and is nothing until Finish
// has put it there; Discard removes what was not finished.
type Export struct {
	workdir string
	// made are the directories that did not exist before, the innermost first.
	made    []string
	partial string
	log     *os.File
	lines   *bufio.Writer
}

// NewExport begins a tree below workdir, which is made when missing. A workdir that has a tree is refused:
// a copy never replaces records.
func NewExport(workdir string) (*Export, error) {
	made := missing(workdir)
	if err := os.MkdirAll(workdir, 0o755); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(filepath.Join(workdir, directory)); err == nil {
		return nil, fmt.Errorf("%s has a %s directory: export into another one", workdir, directory)
	}
	partial, err := os.MkdirTemp(workdir, directory+".partial-*")
	if err != nil {
		return nil, err
	}
	e := &Export{workdir: workdir, made: made, partial: partial}
	if e.log, err = e.create(lineage.LogPath); err != nil {
		return nil, errors.Join(err, e.Discard())
	}
	e.lines = bufio.NewWriter(e.log)
	return e, nil
}

func (e *Export) create(name string) (*os.File, error) {
	at := filepath.Join(e.partial, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

func (e *Export) write(name string, in io.Reader) error {
	f, err := e.create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, in)
	return finish(f, err)
}

// Line adds the next line of the log, without its line feed, and its sidecar.
func (e *Export) Line(line lineage.Line, sidecar string) error {
	if _, err := e.lines.Write(append(line.Encode(), '\n')); err != nil {
		return err
	}
	at := filepath.Join(e.partial, filepath.FromSlash(lineage.SidecarPath(line.Hash())))
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	return os.WriteFile(at, []byte(sidecar), 0o644)
}

// Bytes adds the bytes of an entry, read to their end.
func (e *Export) Bytes(entry lineage.Entry, in io.Reader) error {
	return e.write(lineage.BytesPath(entry.Path()), in)
}

// Receipt adds the receipt of a task's entry.
func (e *Export) Receipt(entry lineage.Entry) error {
	data, err := lineage.NewReceipt(entry).Encode()
	if err != nil {
		return err
	}
	return e.file(lineage.ReceiptPath(entry.TaskID), data)
}

func (e *Export) file(name string, data []byte) error {
	f, err := e.create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return finish(f, err)
}

// Finish adds head and card and puts the tree in its place.
func (e *Export) Finish(head, card []byte) error {
	err := e.lines.Flush()
	if err = finish(e.log, err); err != nil {
		return err
	}
	e.log = nil
	if err := errors.Join(e.file(lineage.HeadPath, head), e.file(lineage.CardPath, card)); err != nil {
		return err
	}
	if err := os.Chmod(e.partial, 0o755); err != nil {
		return err
	}
	if err := os.Rename(e.partial, filepath.Join(e.workdir, directory)); err != nil {
		return err
	}
	e.partial = ""
	return nil
}

// missing are the directories that have to be made for dir to exist, itself first.
func missing(dir string) (dirs []string) {
	for {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			return dirs
		}
		dirs = append(dirs, dir)
		dir = filepath.Dir(dir)
	}
}

// Discard removes a tree that was not finished, and the directories that NewExport made for it unless
// somebody has put something there; after Finish it does nothing.
func (e *Export) Discard() error {
	if e.log != nil {
		e.log.Close()
	}
	if e.partial == "" {
		return nil
	}
	err := os.RemoveAll(e.partial)
	for _, dir := range e.made {
		if os.Remove(dir) != nil {
			break // somebody has put something there
		}
	}
	return err
}
