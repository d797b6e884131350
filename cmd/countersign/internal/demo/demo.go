// One task from dispatch to receipt, on this machine, with nothing but what `countersign dev` made.

// Package demo is `countersign demo`.
package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"countersign/api/client"
	"countersign/bridge"
	"countersign/cmd/countersign/internal/devfile"
	"countersign/cmd/countersign/internal/follow"
	"countersign/contracts"
	"countersign/contracts/workflow"

	"golang.org/x/sync/errgroup"
)

const (
	// label marks the demo's tasks, so that a later demo can tell what an earlier one left.
	label = "demo"
	// patience is how long the server may be away.
	patience = 30 * time.Second
	// giveBack is how long a demo may take to cancel what it began, and to revoke its node.
	giveBack = 5 * time.Second
)

// ErrBusy says that another demo runs on the same directory.
var ErrBusy = errors.New("another demo is running here; wait for its end")

// Result is what a demo came to.
type Result struct {
	Task       workflow.Task     `json:"task"`
	Workflow   workflow.Detail   `json:"workflow"`
	Receipt    *workflow.Receipt `json:"receipt"`
	Repository string            `json:"repository"`
	Branch     string            `json:"branch"`
}

// Options of a demo.
type Options struct {
	Client *client.Client
	Dev    devfile.File
	// DataDir is the development server's; each demo has a directory of its own in it.
	DataDir string
	// View is shown the phases; Begun is called with the task before the first of them.
	View  follow.View
	Begun func(task workflow.Task, repository string)
	// Log is the node's.
	Log *slog.Logger
}

// Run makes a repository and a task, dispatches it, runs a node, and follows the revision to its end,
// which need not be a good one. When ctx ends before, the revision is cancelled. The node is revoked
// with the demo's end, however it ends.
func Run(ctx context.Context, o Options) (Result, error) {
	// A workspace is an absolute path.
	home, err := filepath.Abs(filepath.Join(o.DataDir, "demo"))
	if err != nil {
		return Result{}, err
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return Result{}, err
	}
	lock, err := lockDir(home)
	if err != nil {
		return Result{}, err
	}
	defer lock.Close()
	node, err := o.node(ctx, home)
	if err != nil {
		return Result{}, err
	}
	defer o.retire(context.WithoutCancel(ctx), node)
	dir, err := os.MkdirTemp(home, time.Now().UTC().Format("20060102-150405-"))
	if err != nil {
		return Result{}, err
	}
	r := Result{Repository: filepath.Join(dir, "repository"), Branch: branch}
	base, err := makeRepository(ctx, r.Repository)
	if err != nil {
		return r, err
	}
	r.Task, err = o.Client.CreateTask(ctx, o.Dev.ProjectID, workflow.CreateTask{Title: title, Goal: goal, Labels: []string{label}})
	if err != nil {
		return r, err
	}
	if o.Begun != nil {
		o.Begun(r.Task, r.Repository)
	}
	s, err := spec(r.Task, node.ID, filepath.Base(dir), r.Repository, base)
	if err != nil {
		return r, err
	}
	if err := o.dispatch(ctx, s); err != nil {
		o.drop(context.WithoutCancel(ctx), r.Task)
		return r, err
	}
	if r.Workflow, err = o.play(ctx, node, r, filepath.Join(dir, "bridge")); err != nil {
		o.cancel(context.WithoutCancel(ctx), r.Task)
		return r, err
	}
	if r.Task, err = o.Client.Task(ctx, r.Task.ID); err != nil || r.Workflow.Phase != workflow.PhaseAccepted {
		return r, err
	}
	receipt, err := o.Client.Receipt(ctx, r.Task.ID)
	r.Receipt = &receipt
	return r, err
}

// lockDir lets one demo run at a time, so that whatever an earlier one left is nobody's.
func lockDir(home string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(home, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrBusy
		}
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return f, nil
}

// dispatch takes the demo node from a demo that was killed, and from nobody else.
func (o Options) dispatch(ctx context.Context, s workflow.Spec) error {
	_, err := o.Client.Dispatch(ctx, o.Dev.ProjectID, workflow.DispatchRequest{Spec: s})
	if contracts.CodeOf(err) != contracts.CodeNodeBusy {
		return err
	}
	open, err := o.Client.Tasks(ctx, workflow.TaskQuery{ProjectID: o.Dev.ProjectID, Status: workflow.TaskOpen, Limit: 100})
	if err != nil {
		return err
	}
	for _, t := range open.Tasks {
		left := t.ID != s.TaskID && len(t.Labels) == 1 && t.Labels[0] == label
		if left && t.Workflow != nil && !t.Workflow.Phase.Final() {
			o.cancel(ctx, t)
		}
	}
	_, err = o.Client.Dispatch(ctx, o.Dev.ProjectID, workflow.DispatchRequest{Spec: s})
	return err
}

// play runs the node until the revision is final.
func (o Options) play(ctx context.Context, own node, r Result, root string) (workflow.Detail, error) {
	node, err := bridge.New(bridge.Options{
		Server: o.Dev.URL, Token: own.Token, NodeID: own.ID, Root: root,
		Workspaces: []string{r.Repository}, Log: o.Log,
	})
	if err != nil {
		return workflow.Detail{}, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	g, following := errgroup.WithContext(running)
	g.Go(func() error { return node.Run(running) })
	var d workflow.Detail
	g.Go(func() error {
		defer stop()
		var err error
		d, err = follow.Until(following, o.Client, r.Task.ID, patience, o.View)
		return err
	})
	return d, g.Wait()
}

// drop cancels a task that was never dispatched.
func (o Options) drop(ctx context.Context, t workflow.Task) {
	ctx, cancel := context.WithTimeout(ctx, giveBack)
	defer cancel()
	status := workflow.TaskCancelled
	if _, err := o.Client.PatchTask(ctx, t.ProjectID, t.ID, workflow.PatchTask{ExpectedVersion: t.Version, Status: &status}); err != nil {
		o.Log.Warn("the demo's task was not cancelled", "task", t.ID, "error", err)
	}
}

// cancel gives the node back; what cannot be cancelled any more needs no cancelling.
func (o Options) cancel(ctx context.Context, t workflow.Task) {
	ctx, cancel := context.WithTimeout(ctx, giveBack)
	defer cancel()
	_, err := o.Client.Control(ctx, t.ProjectID, t.ID, workflow.ControlRequest{ExpectedVersion: t.Version, Action: workflow.ControlCancel})
	if err != nil && contracts.CodeOf(err) != contracts.CodeWorkflowTerminal {
		o.Log.Warn("the demo's task was not cancelled", "task", t.ID, "error", err)
	}
}
