// The worker process: revisions and their activities, the relay and the sweeper.

// Package worker runs everything that moves revisions when nobody calls.
package worker

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"countersign/activities"
	"countersign/store"
	"countersign/workflows"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/metric"
	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"golang.org/x/sync/errgroup"
)

// Options of Run.
type Options struct {
	// Store must have the signing key.
	Store     *store.Store
	Temporal  activities.Temporal
	TaskQueue string
	Log       *slog.Logger
	// Name is what the worker says it can sign as; no other process has it. "" makes one up.
	Name string
	// BeatEvery is how often the worker says that it can sign; 0 means 10 s.
	BeatEvery time.Duration
	// Meter records what is open; nil for not.
	Meter metric.MeterProvider
	// SweepEvery is how often the sweeper looks; 0 means 2 s.
	SweepEvery time.Duration
	// RelayEvery is how often the relay looks when it found nothing; 0 means 1 s.
	RelayEvery time.Duration
	// LostAfter is how long after its start a revision may be asked about in Temporal, and how often;
	// 0 means 60 s.
	LostAfter time.Duration
	// CloseAfter is how long a final revision's workflow may stay open before it is told; 0 means 10 s.
	CloseAfter time.Duration
}

// stopTimeout is how long running activities and workflow tasks may take to end.
const stopTimeout = 15 * time.Second

// Run works until ctx ends, then stops gracefully. It returns an error only when it could not start
// or Temporal refused the worker for good.
func Run(ctx context.Context, o Options) error {
	o.SweepEvery = orElse(o.SweepEvery, 2*time.Second)
	o.RelayEvery = orElse(o.RelayEvery, time.Second)
	o.LostAfter = orElse(o.LostAfter, time.Minute)
	o.CloseAfter = orElse(o.CloseAfter, 10*time.Second)
	o.BeatEvery = orElse(o.BeatEvery, 10*time.Second)
	if o.Name == "" {
		o.Name = uuid.NewString()
	}
	if o.TaskQueue == "" {
		o.TaskQueue = workflows.DefaultTaskQueue
	}
	fatal := make(chan error, 1)
	w := sdk.New(o.Temporal.Client, o.TaskQueue, sdk.Options{
		// A worker that died is noticed after this, not after the default 5 s.
		StickyScheduleToStartTimeout: time.Second,
		WorkerStopTimeout:            stopTimeout,
		OnFatalError:                 func(err error) { fatal <- err },
	})
	unmeasure, err := measure(o)
	if err != nil {
		return err
	}
	defer unmeasure()
	Register(w, &activities.Activities{Store: o.Store, Temporal: o.Temporal, Log: o.Log})
	if err := w.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	defer w.Stop()
	g := &workflows.Gateway{Temporal: o.Temporal, Store: o.Store, TaskQueue: o.TaskQueue, Log: o.Log}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { (&relay{o, g}).run(ctx); return nil })
	group.Go(func() error { (&sweeper{o, g}).run(ctx); return nil })
	group.Go(func() error { beat(ctx, o); return nil })
	group.Go(func() error {
		select {
		case err := <-fatal:
			return fmt.Errorf("worker: %w", err)
		case <-ctx.Done():
			return nil
		}
	})
	return group.Wait()
}

// Register registers the revision workflow and its activities; replay tests register the same.
func Register(w sdk.Registry, a *activities.Activities) {
	RegisterWorkflow(w)
	for name, f := range map[string]any{
		activities.NameWork: a.Work, activities.NameVerify: a.Verify, activities.NameCommit: a.Commit,
		activities.NameAdopt: a.Adopt, activities.NameSteps: a.Steps,
	} {
		w.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
}

// RegisterWorkflow registers the revision workflow alone.
func RegisterWorkflow(w sdk.WorkflowRegistry) {
	w.RegisterWorkflowWithOptions(workflows.RevisionWorkflow, workflow.RegisterOptions{Name: workflows.TypeRevision})
}

func orElse(d, standard time.Duration) time.Duration {
	if d == 0 {
		return standard
	}
	return d
}

// pause waits for d or the end of ctx, which it reports.
func pause(ctx context.Context, d time.Duration) (ended bool) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return true
	case <-t.C:
		return false
	}
}
