// countersign demo: one task from dispatch to receipt, shown.

package main

import (
	"context"
	"errors"
	"log/slog"

	"countersign/cmd/countersign/internal/demo"
	"countersign/cmd/countersign/internal/devfile"
	"countersign/cmd/countersign/internal/follow"
	"countersign/cmd/countersign/internal/term"
	"countersign/contracts/workflow"
)

type demoCommand struct {
	Data string `placeholder:"DIR" help:"The data directory of the dev server. Default: the nearest .countersign upward from here."`
}

// Help is shown by --help.
func (demoCommand) Help() string {
	return `It needs a running dev server, and Git. A small real repository is made below the data directory and a task about it
dispatched to a node of the demo's own, which this program runs meanwhile with the synthetic runtime: no provider, no account.
The first attempt has a mistake on purpose; the verifier finds it, the correction is verified and signed for.

Exit status: 0 accepted, 3 blocked, 4 cancelled.`
}

// Run runs the demo.
func (c *demoCommand) Run(s *session) error {
	r, err := c.remote(s)
	if err != nil {
		return err
	}
	result, err := s.demo(s.ctx, r)
	if err != nil {
		return err
	}
	if s.json() {
		if err := s.out.JSON(result); err != nil {
			return err
		}
	}
	return endStatus(result.Workflow)
}

// remote is the dev server, for only that lends the demo its project.
func (c *demoCommand) remote(s *session) (remote, error) {
	if c.Data != "" {
		dev, err := devfile.Read(c.Data)
		if err != nil {
			return remote{}, err
		}
		return devRemote(dev, c.Data), nil
	}
	r, err := s.remote()
	if err == nil && r.dev == nil {
		err = usageError{errors.New("the demo needs a dev server; --server and COUNTERSIGN_URL name another server")}
	}
	return r, err
}

// demo runs a demo and, for a person, shows it.
func (s *session) demo(ctx context.Context, r remote) (demo.Result, error) {
	o := demo.Options{
		Client: r.Client, Dev: *r.dev, DataDir: r.dataDir, View: follow.Quiet{},
		Log: slog.New(slog.NewTextHandler(s.errs, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	if s.json() {
		return demo.Run(ctx, o)
	}
	lines := follow.NewLines(s.out)
	o.View = lines
	o.Begun = func(task workflow.Task, repository string) {
		s.out.Printf("\n%s\n  task        %s  %s\n  repository  %s\n\n", s.out.Paint(term.Bold, "demo"), task.ID, term.Safe(task.Title), term.Safe(repository))
	}
	result, err := demo.Run(ctx, o)
	lines.Clear()
	if err != nil {
		return result, err
	}
	s.out.Println(s.ending(result.Workflow))
	if result.Receipt == nil {
		return result, nil
	}
	return result, s.showReceipt(r, result)
}

func (s *session) showReceipt(r remote, result demo.Result) error {
	receipt := result.Receipt
	s.out.Println()
	err := s.out.Fields("receipt", receipt.ReceiptID, "  accepted", stamp(receipt.AcceptedAt), "  commit", deref(receipt.CandidateCommit),
		"  contract", receipt.ContractDigest)
	if err != nil {
		return err
	}
	s.out.Println()
	s.out.Printf(`Next:
  %[1]s workflow get %[2]s
  %[1]s receipt export %[2]s --out receipt-%[2]s
  %[1]s task list --status done
  git -C %[3]s log --stat %[4]s
  curl -H "Authorization: Bearer %[5]s" %[6]s/v1/tasks/%[2]s/receipt
  the workflow in Temporal's UI: %[7]s
`, programName(), result.Task.ID, result.Repository, result.Branch, r.dev.OperatorToken, r.dev.URL, result.Workflow.Temporal.UIURL)
	return nil
}
