// A pack as a directory.

// Package packdir reads and writes a receipt's pack.
package packdir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"countersign/contracts/receipt"
)

// ErrAnother says that a directory is not written to, for the sake of what it holds.
var ErrAnother = errors.New("holds another receipt; choose another directory")

// Write puts the pack's files in a directory, which is made when missing. Files of these names are
// replaced, each whole or not at all; others are left alone.
func Write(dir string, p receipt.Pack) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	// The same receipt again may bring newer keys; another receipt's pack is not written over.
	there, err := os.ReadFile(filepath.Join(dir, receipt.FileEnvelope))
	if err == nil && !bytes.Equal(there, p[receipt.FileEnvelope]) {
		return fmt.Errorf("pack: %s %w", dir, ErrAnother)
	}
	for _, name := range receipt.Files {
		if err := replace(filepath.Join(dir, name), p[name]); err != nil {
			return fmt.Errorf("pack: %w", err)
		}
	}
	return nil
}

func replace(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Chmod(0o644) // for others to read, as a new file would be
	}
	if closed := tmp.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// Read reads what a directory has of a pack; what is missing is left out, for the verification to
// name.
func Read(dir string) (receipt.Pack, error) {
	p := receipt.Pack{}
	for _, name := range receipt.Files {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("pack: %w", err)
		}
		p[name] = data
	}
	return p, nil
}
