// countersign backlog: tasks from a directory of Markdown files.

package main

import (
	"errors"
	"fmt"
	"strings"

	"countersign/cmd/countersign/internal/backlogdir"
	"countersign/contracts"
	"countersign/contracts/planning"
)

type backlogCommands struct {
	Scan backlogScan `cmd:"" help:"Make a task of every Markdown file of a directory."`
}

type backlogScan struct {
	projectFlag
	Dir string `arg:"" help:"The directory; its subdirectories are scanned too."`
}

// Help is shown by --help.
func (backlogScan) Help() string {
	return `A file begins with YAML frontmatter; what follows it is the goal. A refused file is skipped and named, the rest of
the scan goes on. A file that is a task of the project already, unchanged, is not made again. Symbolic links are not
followed. Exit status: 0, 2 when a file was refused, 1 when the scan broke off.

Example:

  countersign backlog scan backlog/`
}

// scannedFile is a file that was refused, or what became of it.
type scannedFile struct {
	File string `json:"file"`
	loadedEntry
	Field  string `json:"field,omitzero"`
	Reason string `json:"reason,omitzero"`
}

// backlogResult is what scan prints: scanned, or incomplete.
type backlogResult struct {
	Outcome string        `json:"outcome"`
	Files   []scannedFile `json:"files"`
}

// scan is what the directory held.
type scan struct {
	files   []scannedFile
	entries []planning.Entry
	of      []int // of[i] is the file of entries[i]
}

// Run scans.
func (c *backlogScan) Run(s *session) error {
	found, err := c.read(s)
	if err != nil {
		return err
	}
	result := backlogResult{"scanned", found.files}
	if len(found.entries) > 0 {
		loaded, err := c.load(s, found)
		if loaded == nil {
			return err
		}
		for i, l := range loaded {
			result.Files[found.of[i]].loadedEntry = l
		}
		if err != nil {
			result.Outcome = "incomplete"
			return errors.Join(result.print(s), err)
		}
	}
	err = result.print(s)
	if refused := len(found.files) - len(found.entries); err == nil && refused > 0 {
		err = &statusError{exitRefused, fmt.Errorf("%d of %d files were refused", refused, len(found.files))}
	}
	return err
}

// load makes the tasks; the error names the file at which it broke off.
func (c *backlogScan) load(s *session, found scan) ([]loadedEntry, error) {
	r, project, err := c.remote(s)
	if err != nil {
		return nil, err
	}
	loaded, err := s.load(r, project, found.entries)
	if loaded != nil && err != nil {
		err = brokenOff(loaded, "files", func(i int) string { return found.files[found.of[i]].File }, err)
	}
	return loaded, err
}

// read reads every file and says at once which are refused.
func (c *backlogScan) read(s *session) (scan, error) {
	found := scan{files: []scannedFile{}}
	err := backlogdir.Each(s.ctx, c.Dir, planning.MaxBytes, func(path string, data []byte, err error) {
		file := scannedFile{File: path}
		var entry planning.Entry
		if err == nil {
			entry, err = planning.ParseBacklog(data)
		}
		if err == nil {
			found.of, found.entries = append(found.of, len(found.files)), append(found.entries, entry)
		} else {
			file.Outcome, file.Reason = "refused", err.Error()
			if refusal, ok := errors.AsType[*contracts.Error](err); ok {
				file.Field, file.Reason = refusal.Path, refusal.Detail
			}
			report(s.errs, errors.New(strings.Join(nonEmpty(file.File, file.Field, file.Reason), ": ")))
		}
		found.files = append(found.files, file)
	})
	if err == nil {
		err = planning.Distinguish(found.entries)
	}
	if err != nil && s.ctx.Err() == nil {
		err = &statusError{exitRefused, err}
	}
	return found, err
}

func nonEmpty(words ...string) []string {
	var kept []string
	for _, word := range words {
		if word != "" {
			kept = append(kept, word)
		}
	}
	return kept
}

// print leaves out of a person's table what standard error has named.
func (b backlogResult) print(s *session) error {
	return s.print(b, func() error {
		var rows [][]string
		for _, file := range b.Files {
			if file.Outcome != "refused" {
				rows = append(rows, append([]string{file.File}, file.row()...))
			}
		}
		return s.out.Table([]string{"FILE", "TASK", "OUTCOME", "TITLE"}, rows)
	})
}
