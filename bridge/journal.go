// What is written down before it is done, so that a bridge that died knows what it left behind.

package bridge

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// step is how far an attempt has come. It is written before the step is taken.
type step string

const (
	stepClaiming  step = "claiming"  // the claim may or may not have taken effect
	stepWorkspace step = "workspace" // a worktree may exist
	stepSpawning  step = "spawning"  // a process tree may exist, known by its marker
	stepRunning   step = "running"   // a process tree exists, known by its pids too
	stepStopped   step = "stopped"   // the tree is proven dead
	stepReporting step = "reporting" // the terminal event is written down and may have been sent
	stepReported  step = "reported"  // the server has answered it, or the lease is lost
	stepDone      step = "done"      // nothing is left but this record
)

// record is the state file of one attempt.
type record struct {
	V           int    `json:"v"`
	Step        step   `json:"step"`
	ExecutionID string `json:"execution_id"`
	ClaimID     string `json:"claim_id"`
	// Claim is the server's answer; nil while claiming.
	Claim *workflow.ClaimAnswer `json:"claim,omitzero"`
	// Sequence is the last event the server has answered.
	Sequence int `json:"sequence"`
	// Pending are the exact bytes of an event whose answer is not known.
	Pending []byte `json:"pending,omitzero"`
	// Terminal says that Pending ends the attempt.
	Terminal bool `json:"terminal,omitzero"`
	// Repository is the common git directory of the workspace.
	Repository string        `json:"repository,omitzero"`
	Tree       *worktreeMark `json:"tree,omitzero"`
	// Plain is the workspace of an artifact task.
	Plain   string       `json:"plain,omitzero"`
	Process *processMark `json:"process,omitzero"`
	// Candidate is the sealed commit of a work attempt, and Branch the move it still needs.
	Candidate string      `json:"candidate,omitzero"`
	Branch    *branchMark `json:"branch,omitzero"`
	// Uncontained says that a process of the attempt could not be killed.
	Uncontained bool      `json:"uncontained,omitzero"`
	At          time.Time `json:"at"`
}

// journal is an attempt's record and the directory it is kept in.
type journal struct {
	record
	dir string
}

// executionID is what may name a directory, a ref and a file: a UUID, and anything as harmless.
var executionID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// begin makes the directory of a new attempt. An execution that was here before is not begun again.
func begin(r root, execution, claim string) (*journal, error) {
	dir := r.attempt(execution)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make attempt directory: %w", err)
	}
	j := &journal{dir: dir, record: record{V: 1, ExecutionID: execution, ClaimID: claim}}
	return j, j.to(stepClaiming)
}

// to writes the record down as of the next step.
func (j *journal) to(s step) error {
	j.Step = s
	return j.save()
}

// save replaces the state file in one go: after a power cut there is the old one or the new one.
func (j *journal) save() error {
	j.At = time.Now().UTC()
	data, err := json.Marshal(j.record, jsontext.Multiline(true))
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if err := writeFile(filepath.Join(j.dir, stateFile), data); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

const stateFile = "state.json"

func writeFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// path is a file of the attempt.
func (j *journal) path(name string) string { return filepath.Join(j.dir, name) }

// forget removes every trace of an attempt that never became one.
func (j *journal) forget() error { return os.RemoveAll(j.dir) }

// journals reads all attempts of a root, oldest first. A directory without a readable record is an
// attempt that died before its claim was sent.
func journals(r root) ([]*journal, error) {
	entries, err := os.ReadDir(r.attempts())
	if err != nil {
		return nil, fmt.Errorf("read attempts: %w", err)
	}
	var all []*journal
	for _, e := range entries {
		j := &journal{dir: r.attempt(e.Name())}
		data, err := os.ReadFile(j.path(stateFile))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err := j.forget(); err != nil {
				return nil, fmt.Errorf("remove empty attempt: %w", err)
			}
			continue
		case err != nil:
			return nil, fmt.Errorf("read journal: %w", err)
		}
		if err := json.Unmarshal(data, &j.record); err != nil {
			return nil, fmt.Errorf("journal %s: %w", j.path(stateFile), err)
		}
		if j.ExecutionID != e.Name() {
			return nil, fmt.Errorf("journal %s is of execution %q", j.path(stateFile), j.ExecutionID)
		}
		all = append(all, j)
	}
	slices.SortFunc(all, func(a, b *journal) int { return a.At.Compare(b.At) })
	return all, nil
}
