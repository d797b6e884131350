// The worker and the API of one process.

package deploy

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"countersign/activities"
	"countersign/cmd/countersign/internal/telemetry"
	"countersign/store"
	"countersign/worker"
	"countersign/workflows"

	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"
)

// Parts is what API and worker run on.
type Parts struct {
	Store     *store.Store
	Temporal  activities.Temporal
	Telemetry *telemetry.Telemetry
	Log       *slog.Logger
	// Durations of the revisions that the API dispatches.
	Durations Durations
	// Mirrors are read by dispatches by catalog.
	Mirrors Mirrors
	// Version is the program's, as GET /v1/instance shows it.
	Version string
	// TemporalUI is the address of Temporal's UI for links, "" for none.
	TemporalUI string
}

// Gateway is the way to the revisions' workflows.
func (p *Parts) Gateway() *workflows.Gateway {
	return &workflows.Gateway{Temporal: p.Temporal, Store: p.Store, TaskQueue: workflows.DefaultTaskQueue, Log: p.Log}
}

const (
	firstRetry = time.Second
	longRetry  = 15 * time.Second
)

// RunWorker runs a worker until ctx ends. While Temporal or PostgreSQL is away it tries again, for
// ever: what orchestrates processes knows less about them than this loop.
func (p *Parts) RunWorker(ctx context.Context) error {
	var running atomic.Bool
	return p.keepWorking(ctx, &running)
}

// ServeWorker is RunWorker with a listener for /healthz, /readyz and /metrics.
func (p *Parts) ServeWorker(ctx context.Context, l net.Listener) error {
	var running atomic.Bool
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := p.Store.Ping(r.Context()); err != nil {
			http.Error(w, "PostgreSQL does not answer", http.StatusServiceUnavailable)
			return
		}
		if !running.Load() {
			http.Error(w, "Temporal does not take the worker", http.StatusServiceUnavailable)
			return
		}
		if err := p.Store.SignsNow(r.Context()); err != nil {
			http.Error(w, "the signing key cannot be used; the log says why", http.StatusServiceUnavailable)
		}
	})
	mux.Handle("GET /metrics", p.Telemetry.Handler())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return p.keepWorking(ctx, &running) })
	g.Go(func() error {
		return serve(ctx, l, &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}, p.Log)
	})
	return g.Wait()
}

func (p *Parts) keepWorking(ctx context.Context, running *atomic.Bool) error {
	for wait := firstRetry; ; wait = min(2*wait, longRetry) {
		begun := time.Now()
		err := p.work(ctx, running)
		if ctx.Err() != nil {
			return err
		}
		if time.Since(begun) > longRetry {
			wait = firstRetry
		}
		p.Log.Error("the worker does not run", "error", err, "again_in", wait)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

func (p *Parts) work(ctx context.Context, running *atomic.Bool) error {
	// Asked first, for the SDK's own start is silent about why it waits.
	if _, err := p.Temporal.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return err
	}
	running.Store(true)
	defer running.Store(false)
	return worker.Run(ctx, worker.Options{
		Store: p.Store, Temporal: p.Temporal, TaskQueue: workflows.DefaultTaskQueue, Log: p.Log.With("part", "worker"),
		Meter: p.Telemetry.Meters, Name: WorkerName(),
	})
}
