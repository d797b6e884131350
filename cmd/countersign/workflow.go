// countersign workflow: get (and watch), cancel, reconcile.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/api/client"
	"countersign/cmd/countersign/internal/devfile"
	"countersign/cmd/countersign/internal/follow"
	"countersign/cmd/countersign/internal/term"
	"countersign/contracts"
	"countersign/contracts/workflow"
)

type workflowCommands struct {
	Get       workflowGet      `cmd:"" help:"Show a task's current revision, or watch it to its end."`
	Cancel    cancelCommand    `cmd:"" help:"Cancel a task's current revision; its node then stops the agent."`
	Reconcile reconcileCommand `cmd:"" help:"Settle an attempt whose lease is over."`
}

type workflowGet struct {
	Task     string        `arg:"" help:"The task's id."`
	Watch    bool          `help:"Show each phase as it comes, to the end; the exit status tells how it ended."`
	Patience time.Duration `default:"30s" help:"With --watch: how long to ask again while the server does not answer."`
}

// Help is shown by --help.
func (workflowGet) Help() string {
	return `With --watch on a terminal the last line lives: what the revision waits for, and how long the lease still runs.
With --output json one document is printed, with --watch at the end.

Exit status: 5 for a task that is unknown or has no revision, 6 when the server cannot be reached (or stays away for
longer than --patience); with --watch also 0 accepted, 3 blocked, 4 cancelled, 130 interrupted.

Examples:

  countersign workflow get TASK
  countersign workflow get TASK --watch && echo signed for
  countersign workflow get TASK --output json | jq .history`
}

// Run shows or watches.
func (c *workflowGet) Run(s *session) error {
	if err := checkID("task", c.Task); err != nil {
		return readStatus(err)
	}
	r, err := s.remote()
	if err != nil {
		return readStatus(err)
	}
	if !c.Watch {
		d, err := follow.Read(s.ctx, r, c.Task)
		if err != nil {
			return readStatus(err)
		}
		return s.printDetail(d)
	}
	d, err := s.watch(r, c.Task, c.Patience)
	if err != nil {
		return readStatus(err)
	}
	return endStatus(d)
}

// watch shows a revision to its end: as JSON one document, as text a line per entry and a last one.
func (s *session) watch(r remote, task string, patience time.Duration) (workflow.Detail, error) {
	if s.json() {
		d, err := follow.Until(s.ctx, r, task, patience, follow.Quiet{})
		if err == nil {
			err = s.out.JSON(d)
		}
		return d, err
	}
	lines := follow.NewLines(s.out)
	d, err := follow.Until(s.ctx, r, task, patience, lines)
	lines.Clear()
	if err == nil {
		s.out.Println(s.ending(d))
		for _, line := range follow.Dispatches(&d) {
			s.out.Println(line)
		}
		err = s.out.Fields(refusalFields(d.Refusal)...)
	}
	return d, err
}

// ending is how a revision ended, in one line.
func (s *session) ending(d workflow.Detail) string {
	switch d.Phase {
	case workflow.PhaseAccepted:
		return s.out.Paint(term.Green, "accepted") + ", receipt " + term.Safe(deref(d.ReceiptID))
	case workflow.PhaseBlocked:
		return s.out.Paint(term.Red, "blocked") + ": " + term.Safe(reasonOf(d))
	}
	return s.out.Paint(term.Yellow, term.Safe(string(d.Phase)))
}

// endStatus is the exit status of a watched revision.
func endStatus(d workflow.Detail) error {
	switch d.Phase {
	case workflow.PhaseBlocked:
		return &statusError{code: exitBlocked}
	case workflow.PhaseCancelled:
		return &statusError{code: exitCancelled}
	}
	return nil
}

// readStatus gives the two errors that a reading script tells apart their exit status.
func readStatus(err error) error {
	switch {
	case contracts.CodeOf(err) == contracts.CodeNotFound:
		return &statusError{exitUnknownTask, err}
	case errors.Is(err, client.ErrUnreachable), errors.Is(err, follow.ErrAway), errors.Is(err, devfile.ErrNone),
		errors.Is(err, context.DeadlineExceeded), contracts.CodeOf(err) == contracts.CodeUnavailable:
		return &statusError{exitUnreachable, err}
	}
	return err
}

func (s *session) printDetail(d workflow.Detail) error {
	return s.print(d, func() error {
		lines := follow.NewLines(s.out)
		for _, e := range d.History {
			lines.Entry(&d, e)
		}
		if len(d.Feedback) > 0 {
			rows := make([][]string, 0, len(d.Feedback))
			for _, f := range d.Feedback {
				rows = append(rows, []string{f.CriterionID, f.Outcome, f.EvidencePath, f.Feedback})
			}
			s.out.Println()
			if err := s.out.Table([]string{"CRITERION", "OUTCOME", "EVIDENCE", "FEEDBACK"}, rows); err != nil {
				return err
			}
		}
		if lines := follow.Dispatches(&d); len(lines) > 0 {
			s.out.Println()
			for _, line := range lines {
				s.out.Println(line)
			}
		}
		s.out.Println()
		pairs := []string{"revision", fmt.Sprintf("%s (%d)", d.WorkflowID, d.Revision), "phase", string(d.Phase), "why", reasonOf(d)}
		pairs = append(pairs, refusalFields(d.Refusal)...)
		return s.out.Fields(append(pairs,
			"waits for", follow.Situation(&d), "candidate", cmp.Or(deref(d.CandidateHash), deref(d.CandidateCommit)), "receipt", deref(d.ReceiptID),
			"contract", d.ContractDigest, "Temporal", d.Temporal.UIURL,
		)...)
	})
}

func reasonOf(d workflow.Detail) string {
	if d.Reason == nil {
		return ""
	}
	return string(*d.Reason)
}

type cancelCommand struct{ control }

// Help is shown by --help.
func (cancelCommand) Help() string {
	return `The revision is cancelled at once, and nothing that its attempt reports counts any more. The agent itself is stopped by
its node, which hears of it with the next renewal of its lease: within about a third of the lease, when it can reach the
server. The task stays open; countersign task cancel ends that.`
}

// Run cancels.
func (c *cancelCommand) Run(s *session) error { return c.send(s, workflow.ControlCancel) }

type reconcileCommand struct{ control }

// Run reconciles.
func (c *reconcileCommand) Run(s *session) error { return c.send(s, workflow.ControlReconcile) }

// control is what cancel and reconcile have in common.
type control struct {
	Task            string `arg:"" help:"The task's id."`
	ExpectedVersion int    `placeholder:"N" help:"Refuse when the task has another version. Default: the one it has now."`
}

func (c *control) send(s *session, action workflow.ControlAction) error {
	r, task, err := s.task(c.Task)
	if err != nil {
		return err
	}
	version := c.ExpectedVersion
	if version == 0 {
		version = task.Version
	}
	d, err := r.Control(s.ctx, task.ProjectID, c.Task, workflow.ControlRequest{ExpectedVersion: version, Action: action})
	if err != nil {
		return err
	}
	return s.print(d, func() error {
		s.out.Println(s.ending(d))
		return nil
	})
}
