// Everything on one machine: PostgreSQL and Temporal as children, API and worker in this process.

// Package devstack is `countersign dev`.
package devstack

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"countersign/cmd/countersign/internal/deploy"
	"countersign/cmd/countersign/internal/devfile"
	"countersign/cmd/countersign/internal/keyfile"
	"countersign/cmd/countersign/internal/telemetry"
	"countersign/store"

	"golang.org/x/sync/errgroup"
)

// stopBound is how long the children may take to end in order.
const stopBound = 40 * time.Second

// Options of a development server.
type Options struct {
	// Dir holds everything it keeps; it is made when missing.
	Dir string
	// Port of the API on 127.0.0.1; 0 takes last time's when it is free, else a free one. So do the
	// two of Temporal.
	Port, TemporalPort, UIPort int
	// Durations of the revisions dispatched.
	Durations deploy.Durations
	// Mirrors are read by dispatches by catalog.
	Mirrors deploy.Mirrors
	// OperatorSecret seals lineage logs, "" for no seal.
	OperatorSecret string
	// Version is the program's.
	Version string
	// Console is where progress and warnings go.
	Console io.Writer
	// LogLevel is from which on the parts' log goes to the console too.
	LogLevel slog.Level
	// Ready is called once everything runs; ctx ends when it stops. Its error stops everything.
	Ready func(ctx context.Context, f devfile.File) error
}

// Run runs everything until ctx ends (then it returns nil) or something stays down.
func Run(ctx context.Context, o Options) (err error) {
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return err
	}
	lock, err := lockDir(o.Dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	// Whoever waits for the file waits for this start, not for what an earlier one left.
	if err := devfile.Remove(o.Dir); err != nil {
		return err
	}
	if err := checkPorts(o); err != nil {
		return err
	}
	log, progress, logFile, err := openLog(o.Dir, o.Console, o.LogLevel)
	if err != nil {
		return err
	}
	defer logFile.Close()
	s, err := startServers(ctx, o, progress)
	if err != nil {
		return stopped(ctx, err)
	}
	defer func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopBound)
		defer cancel()
		err = errors.Join(err, s.stop(stopping))
	}()
	return stopped(ctx, runParts(ctx, o, s, log, progress))
}

// stopped makes the wanted end no error.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))) {
		return nil
	}
	return err
}

// runParts migrates, serves, and tells the world.
func runParts(ctx context.Context, o Options, s *servers, log, progress *slog.Logger) error {
	listener, err := listen(o)
	if err != nil {
		return err
	}
	defer listener.Close() // serving closes it too; this is for the errors before
	file := devfile.File{
		URL: "http://" + listener.Addr().String(), DatabaseURL: s.databaseURL,
		TemporalAddress: s.temporalAddress, TemporalUIURL: "http://" + s.temporalUI,
	}
	if err := rememberPorts(o.Dir, file.URL, s); err != nil {
		return err
	}
	if err := store.Migrate(ctx, s.databaseURL, file.URL); err != nil {
		return err
	}
	keyPath := filepath.Join(o.Dir, SigningKey)
	records := deploy.Lineage{LineageKey: filepath.Join(o.Dir, LineageKey), OperatorSecret: o.OperatorSecret}
	if err := records.EnsureLineage(); err != nil {
		return err
	}
	st, err := store.Open(ctx, store.Options{URL: s.databaseURL, Signer: keyfile.Signer(keyPath), Lineage: records.Signer()})
	if err != nil {
		return err
	}
	defer st.Close()
	if err := ensureKey(ctx, st, keyPath, progress); err != nil {
		return err
	}
	if err := introduce(ctx, st, o.Dir, &file); err != nil {
		return err
	}
	tel, err := telemetry.Start(ctx, "countersign-dev", log)
	if err != nil {
		return err
	}
	defer shutdown(ctx, tel, log)
	if err := deploy.MeasurePool(tel, st); err != nil {
		return err
	}
	temporal := deploy.Temporal{TemporalAddress: s.temporalAddress, TemporalNamespace: "default"}
	client, err := temporal.Client(tel, log)
	if err != nil {
		return err
	}
	defer client.Close()
	parts := &deploy.Parts{
		Store: st, Temporal: client, Telemetry: tel, Log: log, Durations: o.Durations, Mirrors: o.Mirrors, Version: o.Version,
		TemporalUI: file.TemporalUIURL,
	}
	// What uses the servers ends first, so that a demo's node can still say that it stops.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g, serving := errgroup.WithContext(serving)
	g.Go(func() error { return parts.ServeAPI(serving, listener) })
	g.Go(func() error { return parts.RunWorker(serving) })
	g.Go(func() error {
		defer stop()
		using, cancel := context.WithCancelCause(ctx)
		defer context.AfterFunc(serving, func() { cancel(context.Cause(serving)) })()
		defer cancel(nil)
		return announce(using, o, s, parts, file, progress)
	})
	return g.Wait()
}

// introduce fills in who the instance and its clients are.
func introduce(ctx context.Context, st *store.Store, dir string, file *devfile.File) error {
	id, err := ensureIdentity(ctx, st, dir)
	if err != nil {
		return err
	}
	instance, err := st.Instance(ctx)
	if err != nil {
		return err
	}
	file.Resource, file.InstanceID = instance.Resource, instance.InstanceID
	file.ProjectID, file.OperatorToken, file.NodeID, file.NodeToken = id.ProjectID, id.OperatorToken, id.NodeID, id.NodeToken
	return nil
}

// announce keeps dev.json there and right from the moment that everything runs until ctx ends, and
// the servers running.
func announce(ctx context.Context, o Options, s *servers, parts *deploy.Parts, file devfile.File, progress *slog.Logger) error {
	publish := func() error {
		file.PIDs = s.pids()
		return file.Write(o.Dir)
	}
	if err := awaitReady(ctx, parts, file.URL); err != nil {
		return err
	}
	if err := publish(); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.keep(ctx, o, progress, publish) })
	g.Go(func() error { return o.Ready(ctx, file) })
	err := g.Wait()
	progress.Info("stopping")
	return errors.Join(err, devfile.Remove(o.Dir))
}

func shutdown(ctx context.Context, tel *telemetry.Telemetry, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	if err := tel.Shutdown(ctx); err != nil {
		log.Warn("telemetry", "error", err)
	}
}
