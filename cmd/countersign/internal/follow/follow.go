// Following one revision to its end by reading, whatever the server goes through meanwhile.

// Package follow reads a revision until it is final and shows each phase as it comes.
package follow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/api/client"
	"countersign/contracts"
	"countersign/contracts/workflow"
)

const (
	// pollEvery is how often the server is asked; a person sees no difference to less.
	pollEvery = 400 * time.Millisecond
	// callBound is how long one question may take before the server counts as away.
	callBound = 10 * time.Second
	// pageSize is the most that the server gives of a history at once.
	pageSize = 100
)

// Source is where revisions are read, a *client.Client.
type Source interface {
	Workflow(ctx context.Context, taskID string, after, limit int) (workflow.Detail, error)
	WorkflowByID(ctx context.Context, workflowID string, after, limit int) (workflow.Detail, error)
}

// View is told what is read.
type View interface {
	// Entry is called once for every history entry, in order.
	Entry(d *workflow.Detail, e workflow.HistoryEntry)
	// State is called after every read that did not end the revision.
	State(d *workflow.Detail)
	// Away is called when the server does not answer, with how long it has been away.
	Away(err error, since time.Duration)
}

// ErrAway says that the server was away for longer than the caller's patience.
var ErrAway = errors.New("the server stays away")

// Read reads a task's current revision with its whole history.
func Read(ctx context.Context, source Source, taskID string) (workflow.Detail, error) {
	return whole(ctx, nil, func(ctx context.Context, after int) (workflow.Detail, error) {
		return source.Workflow(ctx, taskID, after, pageSize)
	})
}

// Until reads a task's current revision until it is final, even when another revision has taken its
// place by then. A server that does not answer at the first question is an error at once; later it is
// asked again for as long as patience, then the error is ErrAway. The detail has the whole history.
func Until(ctx context.Context, source Source, taskID string, patience time.Duration, view View) (workflow.Detail, error) {
	d, err := Read(ctx, source, taskID)
	if err != nil {
		return d, err
	}
	shown := 0
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		for ; shown < len(d.History); shown++ {
			view.Entry(&d, d.History[shown])
		}
		if d.Phase.Final() {
			return d, nil
		}
		view.State(&d)
		if d, err = again(ctx, source, d, patience, tick.C, view); err != nil {
			return d, err
		}
	}
}

// again reads the revision once more at the next tick, or at a later one when the server is away.
func again(ctx context.Context, source Source, d workflow.Detail, patience time.Duration, tick <-chan time.Time, view View) (workflow.Detail, error) {
	heard := time.Now()
	for {
		select {
		case <-ctx.Done():
			return d, ctx.Err()
		case <-tick:
		}
		next, err := whole(ctx, d.History, func(ctx context.Context, after int) (workflow.Detail, error) {
			return source.WorkflowByID(ctx, d.WorkflowID, after, pageSize)
		})
		away := time.Since(heard)
		switch {
		case err == nil:
			return next, nil
		case ctx.Err() != nil:
			return d, ctx.Err()
		case !passing(err):
			return d, err
		case away > patience:
			return d, fmt.Errorf("%w, for %s: %w", ErrAway, away.Round(time.Second), err)
		}
		view.Away(err, away)
	}
}

// whole reads what follows the known history, page by page.
func whole(ctx context.Context, known []workflow.HistoryEntry, page func(context.Context, int) (workflow.Detail, error)) (workflow.Detail, error) {
	for {
		after := 0
		if len(known) > 0 {
			after = known[len(known)-1].Sequence
		}
		d, err := one(ctx, after, page)
		if err != nil {
			return d, err
		}
		full := len(d.History) == pageSize
		known = append(known, d.History...)
		d.History = known
		if !full {
			return d, nil
		}
	}
}

func one(ctx context.Context, after int, page func(context.Context, int) (workflow.Detail, error)) (workflow.Detail, error) {
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	return page(ctx, after)
}

// passing reports whether the same question may be answered later.
func passing(err error) bool {
	switch contracts.CodeOf(err) {
	case contracts.CodeUnavailable, contracts.CodeRateLimited, contracts.CodeInternal:
		return true
	}
	return errors.Is(err, client.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded)
}
