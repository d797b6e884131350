// countersign api and countersign worker: the server's two parts as processes of their own.

package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"countersign/cmd/countersign/internal/deploy"
	"countersign/cmd/countersign/internal/keyfile"
	"countersign/cmd/countersign/internal/telemetry"
	"countersign/store"
)

type apiCommand struct {
	deploy.Database  `group:"config"`
	deploy.Temporal  `group:"config"`
	deploy.Durations `group:"config"`
	deploy.Mirrors   `group:"config"`
	deploy.Lineage   `group:"config"`
	deploy.Log       `group:"config"`
	Listen           string `group:"config" default:"127.0.0.1:8080" env:"COUNTERSIGN_LISTEN" placeholder:"HOST:PORT" help:"Where to serve (${default})."`
	TemporalUIURL    string `name:"temporal-ui-url" group:"config" env:"COUNTERSIGN_TEMPORAL_UI_URL" placeholder:"URL" help:"Temporal's UI, for links to a revision's workflow."`
}

const telemetryHelp = `

Metrics are served at /metrics. Traces go out over OTLP (HTTP) when OTEL_EXPORTER_OTLP_ENDPOINT or
OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set; the other OTEL_* variables work as OpenTelemetry says.
SIGTERM and SIGINT end it in order; the exit status is then 0.`

// Help is shown by --help.
func (apiCommand) Help() string {
	return `Any number may run at once, behind any load balancer. /healthz tells that the process lives, /readyz that PostgreSQL,
Temporal, the schema, a worker and one that can sign are there.` + telemetryHelp
}

// Run serves until the program is told to end.
func (c *apiCommand) Run(s *session) error {
	log := c.Logger(s.errs)
	l, err := deploy.Listen(c.Listen)
	if err != nil {
		return err
	}
	keys := store.Options{Lineage: c.Lineage.Signer()}
	return withParts(s, "countersign-api", c.Database, c.Temporal, keys, log, l, func(ctx context.Context, p *deploy.Parts) error {
		p.Durations, p.TemporalUI, p.Mirrors = c.Durations, c.TemporalUIURL, c.Mirrors
		return p.ServeAPI(ctx, l)
	})
}

type workerCommand struct {
	deploy.Database `group:"config"`
	deploy.Temporal `group:"config"`
	deploy.Signing  `group:"config"`
	deploy.Lineage  `group:"config"`
	deploy.Log      `group:"config"`
	Listen          string `group:"config" default:"127.0.0.1:8081" env:"COUNTERSIGN_WORKER_LISTEN" placeholder:"HOST:PORT" help:"Where to serve /healthz, /readyz and /metrics (${default})."`
}

// Help is shown by --help.
func (workerCommand) Help() string {
	return `Any number may run at once. It runs the revision workflow and its activities, sends what the outbox holds, and
settles what nobody else has settled. It signs the receipts, and does not start without the signing key that
` + "`countersign migrate`" + ` makes.` + telemetryHelp
}

// Run works until the program is told to end.
func (c *workerCommand) Run(s *session) error {
	log := c.Logger(s.errs)
	signer := keyfile.Signer(c.SigningKey)
	// Told here, once and clearly; what happens to the file later is logged and shows in /readyz.
	if _, err := signer(); err != nil {
		return err
	}
	l, err := deploy.Listen(c.Listen)
	if err != nil {
		return err
	}
	return withParts(s, "countersign-worker", c.Database, c.Temporal, store.Options{Signer: signer, Lineage: c.Lineage.Signer()}, log, l, func(ctx context.Context, p *deploy.Parts) error {
		return p.ServeWorker(ctx, l)
	})
}

// withParts connects what a part runs on, and lets go of it when the part has ended.
func withParts(s *session, service string, d deploy.Database, t deploy.Temporal, o store.Options, log *slog.Logger, l net.Listener, run func(context.Context, *deploy.Parts) error) error {
	defer l.Close() // serving closes it too; this is for the errors before
	tel, err := telemetry.Start(s.ctx, service, log)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), 5*time.Second)
		defer cancel()
		if err := tel.Shutdown(ctx); err != nil {
			log.Warn("telemetry", "error", err)
		}
	}()
	o.URL, o.MaxConns = d.DatabaseURL, d.DatabaseMaxConns
	st, err := store.Open(s.ctx, o)
	if err != nil {
		return err
	}
	defer st.Close()
	if err := st.LineageKey(); err != nil {
		log.Warn("no artifact or attachment can be recorded here", "why", err)
	}
	if err := deploy.MeasurePool(tel, st); err != nil {
		return err
	}
	client, err := t.Client(tel, log)
	if err != nil {
		return err
	}
	defer client.Close()
	log.Info("started", "service", service, "version", programVersion(), "listen", l.Addr().String())
	err = run(s.ctx, &deploy.Parts{
		Store: st, Temporal: client, Telemetry: tel, Log: log, Version: programVersion(),
	})
	if err != nil {
		return fmt.Errorf("%s: %w", service, err)
	}
	log.Info("stopped", "service", service)
	return nil
}
