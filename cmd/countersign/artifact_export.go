// countersign artifact export: the server's records as a tree that verifies offline.

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"countersign/contracts"
	"countersign/contracts/artifact"
	"countersign/contracts/lineage"
	"countersign/contracts/workflow"
	"countersign/store/sdd"
)

type artifactExport struct {
	Tasks          []string `arg:"" name:"task" help:"Accepted tasks of one project, whose bytes and receipts are wanted."`
	Workdir        string   `required:"" type:"path" placeholder:"DIR" help:"Where the .sdd directory is written; it must not have one yet."`
	Attachments    bool     `help:"Also the bytes of every attachment, the evidence among them."`
	OperatorSecret string   `env:"COUNTERSIGN_OPERATOR_SECRET,BERNSTEIN_OPERATOR_SECRET" placeholder:"SECRET" help:"The server's, to check the seals as well. Better given by the environment."`
}

// Help is shown by --help.
func (artifactExport) Help() string {
	return `It writes the whole log of the tasks' project, hashes only, with signatures, head and card, and the bytes and receipts
of the tasks named; never a key. What it wrote is then verified as countersign artifact verify does, and the results are
printed. Exit status: 0 when all tasks verify, else 2; the tree stays, for whoever wants to see why.

Example:

  countersign artifact export TASK --workdir audit && countersign artifact verify TASK --workdir audit`
}

type exportedTree struct {
	Workdir string           `json:"workdir"`
	Entries int64            `json:"entries"`
	Tasks   []lineage.Result `json:"tasks"`
}

// Run exports.
func (c *artifactExport) Run(s *session) error {
	r, err := s.remote()
	if err != nil {
		return err
	}
	project, err := r.projectOf(s.ctx, c.Tasks)
	if err != nil {
		return err
	}
	e, err := sdd.NewExport(c.Workdir)
	if err != nil {
		return &statusError{exitRefused, err}
	}
	done := exportedTree{Workdir: c.Workdir}
	done.Entries, err = c.fill(s.ctx, r, project, e)
	if err != nil {
		return errors.Join(err, e.Discard())
	}
	for _, task := range c.Tasks {
		result, err := sdd.Verify(s.ctx, c.Workdir, task, lineage.Options{Secret: []byte(c.OperatorSecret)})
		if err != nil {
			return err
		}
		done.Tasks = append(done.Tasks, result)
	}
	err = s.print(done, func() error {
		for _, result := range done.Tasks {
			s.verified(result)
		}
		s.out.Printf("\n%d entries are in %s\n", done.Entries, c.Workdir)
		return nil
	})
	for _, result := range done.Tasks {
		if err == nil && !result.OK {
			err = &statusError{exitRefused, fmt.Errorf("task %q is not verified: %s", result.TaskID, result.Failures[0])}
		}
	}
	return err
}

// projectOf is the one project of all tasks.
func (r remote) projectOf(ctx context.Context, tasks []string) (project string, err error) {
	for _, id := range tasks {
		if err := artifact.CheckTaskID(id); err != nil {
			return "", err
		}
		task, err := r.Task(ctx, id)
		if err != nil {
			return "", fmt.Errorf("task %s: %w", id, err)
		}
		if project != "" && task.ProjectID != project {
			return "", contracts.Invalid("task", "%s belongs to another project: each project has a log of its own", id)
		}
		project = task.ProjectID
	}
	return project, nil
}

// fill writes the log, then the bytes, then what says that it is whole.
func (c *artifactExport) fill(ctx context.Context, r remote, project string, e *sdd.Export) (entries int64, err error) {
	var page workflow.LineagePage
	newest := map[string]lineage.Entry{}
	for {
		if page, err = r.Lineage(ctx, project, int(entries)); err != nil {
			return 0, err
		}
		for _, raw := range page.Lines {
			line, err := lineage.ParseLine([]byte(raw.Line))
			if err != nil {
				return 0, fmt.Errorf("the server's line %d: %w", entries+1, err)
			}
			if err := e.Line(line, raw.Sidecar); err != nil {
				return 0, err
			}
			entries++
			newest[line.Path()] = line.Entry
		}
		if page.Head == nil {
			return 0, &statusError{exitRefused, errors.New("the project has no records")}
		}
		head, err := lineage.ParseHead(page.Head)
		if err != nil {
			return 0, fmt.Errorf("the server's head: %w", err)
		}
		if entries >= head.Entries || len(page.Lines) == 0 {
			break
		}
	}
	for _, task := range c.Tasks {
		entry, ok := newest[lineage.ArtifactPath(task)]
		if !ok {
			return 0, &statusError{exitRefused, fmt.Errorf("task %s has no accepted artifact", task)}
		}
		if err := e.Receipt(entry); err != nil {
			return 0, err
		}
		if err := copyBytes(e, entry, func() (io.ReadCloser, error) { return r.Artifact(ctx, task) }); err != nil {
			return 0, err
		}
	}
	for _, entry := range newest {
		if !c.Attachments || entry.Kind != lineage.Attachment {
			continue
		}
		if err := copyBytes(e, entry, func() (io.ReadCloser, error) { return r.Attachment(ctx, project, entry.ContentHash) }); err != nil {
			return 0, err
		}
	}
	return entries, e.Finish(bytes.TrimSpace(page.Head), bytes.TrimSpace(page.Card))
}

func copyBytes(e *sdd.Export, entry lineage.Entry, open func() (io.ReadCloser, error)) error {
	in, err := open()
	if err != nil {
		return err
	}
	defer in.Close()
	return e.Bytes(entry, in)
}
