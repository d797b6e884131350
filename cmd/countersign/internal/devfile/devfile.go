// The file by which a running development server is found.

// Package devfile reads and writes DIR/dev.json, which `countersign dev` leaves for its clients while
// it runs.
package devfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// DefaultDir is the data directory of `countersign dev`, below the working directory.
	DefaultDir = ".countersign"
	// Name of the file in a data directory.
	Name = "dev.json"
)

// File is what a client needs of a running development server.
type File struct {
	URL             string `json:"url"`
	TemporalAddress string `json:"temporal_address"`
	TemporalUIURL   string `json:"temporal_ui_url"`
	DatabaseURL     string `json:"database_url"`
	Resource        string `json:"resource"`
	InstanceID      string `json:"instance_id"`
	ProjectID       string `json:"project_id"`
	OperatorToken   string `json:"operator_token"`
	NodeID          string `json:"node_id"`
	NodeToken       string `json:"node_token"`
	// PIDs are the child processes of the server, in no order that means anything.
	PIDs []int `json:"pids"`
}

// ErrNone says that there is no file, so no development server either.
var ErrNone = errors.New("no development server is running here, in this directory or one above it: start one with `countersign dev`")

// Find reads the nearest DefaultDir/Name from dir upward and tells the data directory it lies in;
// ErrNone when there is none.
func Find(dir string) (f File, dataDir string, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return f, "", err
	}
	for {
		dataDir = filepath.Join(dir, DefaultDir)
		if f, err = Read(dataDir); !errors.Is(err, ErrNone) {
			return f, dataDir, err
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return f, "", err
		}
		dir = parent
	}
}

// Read reads the file of one data directory; ErrNone when it has none.
func Read(dataDir string) (File, error) {
	path := filepath.Join(dataDir, Name)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return File{}, ErrNone
	}
	if err != nil {
		return File{}, err
	}
	var f File
	if err := json.Unmarshal(data, &f); err != nil {
		return File{}, fmt.Errorf("%s is damaged: %w", path, err)
	}
	return f, nil
}

// Write puts the file in a data directory, whole or not at all, for its owner only.
func (f File) Write(dataDir string) error {
	return WriteJSON(filepath.Join(dataDir, Name), f)
}

// Remove takes the file away; a missing one is no error.
func Remove(dataDir string) error {
	err := os.Remove(filepath.Join(dataDir, Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// WriteJSON replaces path by v's JSON, whole or not at all, readable by its owner only.
func WriteJSON(path string, v any) error {
	data, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(append(data, '\n'))
	if err == nil {
		err = tmp.Sync()
	}
	if closed := tmp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
