// Which mirror stands for which repository.

// Package documents reads Git documents at exact commits from mirrors on this machine: bare or other
// repositories that somebody keeps up to date. It runs the git program, never a shell, and reaches no
// network. Nothing it returns was not hashed: an object that is damaged is refused.
package documents

import (
	"fmt"
	"os/exec"
	"path/filepath"

	"countersign/contracts/workflow"
)

// Mirrors is safe for concurrent use.
type Mirrors struct {
	git   string
	paths map[string]string // repository as a project names it → directory
}

// Open takes a directory for each repository. The error names a path that is not absolute, or says that
// there is no git program although there is a mirror.
func Open(paths map[string]string) (*Mirrors, error) {
	m := &Mirrors{paths: paths}
	if len(paths) == 0 {
		return m, nil
	}
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("mirrors need the git program: %w", err)
	}
	if m.git, err = filepath.Abs(git); err != nil {
		return nil, fmt.Errorf("find git: %w", err)
	}
	for repository, path := range paths {
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("the mirror of %s is at %q, which is no absolute path", repository, path)
		}
	}
	return m, nil
}

// Place is a document at a commit: 40 lowercase hex characters, and a clean path in the repository.
type Place struct{ Commit, Path string }

// Fault says which of the places asked for cannot be used, and why.
type Fault struct {
	Index  int
	Reason workflow.SourceReason
	Detail string
}

// Error is the fault in one line.
func (f *Fault) Error() string { return fmt.Sprintf("%s: %s", f.Reason, f.Detail) }
