// File arguments: how they are opened, and how an error says which it is about.

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// openInput opens a file argument; - is standard input. A directory is refused here: it opens like a
// file, and only a read would fail.
func (s *session) openInput(path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(s.in), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, &statusError{exitRefused, err}
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = &fs.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
	}
	if err != nil {
		f.Close()
		return nil, &statusError{exitRefused, err}
	}
	return f, nil
}

// readInput reads a file argument; - is standard input.
func (s *session) readInput(path string) ([]byte, error) {
	in, err := s.openInput(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	if err != nil {
		return nil, &statusError{exitRefused, about(path, err)}
	}
	return data, nil
}

// about names the file argument that an error is about, unless the error names a file itself.
func about(path string, err error) error {
	if _, named := errors.AsType[*fs.PathError](err); named || err == nil {
		return err
	}
	if path == "-" {
		path = "standard input"
	}
	return fmt.Errorf("%s: %w", path, err)
}
