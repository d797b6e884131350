// What the synthetic agent does for a task that produces an artifact.

package bridge

import (
	"fmt"
	"io"
	"os"
	"strings"

	"countersign/contracts/artifact"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// producedBy is a plan's declaration, nil for a commit.
func producedBy(spec jsontext.Value) (*artifact.Spec, error) {
	if produces, err := producesArtifact(spec); err != nil || !produces {
		return nil, err
	}
	declared, err := artifact.ParseSpec(spec)
	return &declared, err
}

// produce is the default worker: it writes the goal, and what a correction was asked for, in the form of
// the kind.
func (a *agent) produce() error {
	lines := []string{a.job.Goal}
	for _, f := range a.job.Feedback {
		lines = append(lines, f.CriterionID+": "+f.Feedback)
	}
	content := "# Task\n\n" + strings.Join(lines, "\n\n") + "\n"
	if a.job.Artifact.Kind != artifact.Report {
		var rows []string
		for i, line := range lines {
			row, err := json.Marshal(map[string]any{"n": i + 1, "text": line, "attempt": a.job.Attempt}, json.Deterministic(true))
			if err != nil {
				return err
			}
			rows = append(rows, string(row))
		}
		if content = strings.Join(rows, "\n") + "\n"; !a.job.Artifact.Kind.InRows() {
			content = rows[0]
		}
	}
	a.answer.Summary = "Wrote the goal to " + a.job.Artifact.OutputPath + "."
	return a.write(editStep{Path: a.job.Artifact.OutputPath, Content: content})
}

// examineArtifact looks at the bytes themselves rather than at what the worker says of them.
func (a *agent) examineArtifact() (found string, err error) {
	err = a.inTree(func(r *os.Root) error {
		f, err := r.Open(a.job.Artifact.OutputPath)
		if err != nil {
			return err
		}
		defer f.Close()
		canonical, err := artifact.Canonicalise(a.job.Artifact.Kind, f, io.Discard)
		if err != nil {
			return err
		}
		if a.job.CandidateHash == nil || canonical.ContentHash != *a.job.CandidateHash {
			return fmt.Errorf("the artifact is %s, not the candidate", canonical.ContentHash)
		}
		found = fmt.Sprintf("Synthetic session: nothing was judged but that the %s %s exists and has %d bytes.", a.job.Artifact.Kind, canonical.ContentHash, canonical.Bytes)
		return nil
	})
	return found, err
}
