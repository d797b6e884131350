// The API of one process.

package deploy

import (
	"context"
	"net"

	"countersign/api"

	"go.opentelemetry.io/otel/trace"
)

// ServeAPI serves the HTTP contract until ctx ends.
func (p *Parts) ServeAPI(ctx context.Context, l net.Listener) error {
	log := p.Log.With("part", "api")
	mirrors, err := p.Mirrors.Open()
	if err != nil {
		return err
	}
	a, err := api.New(api.Options{
		Store: p.Store, Gateway: p.Gateway(), Lease: p.Durations.Lease, Deadline: p.Durations.Deadline, TemporalUI: p.TemporalUI, Documents: mirrors,
		Log: log, Version: p.Version, Metrics: p.Telemetry.Handler(), Meter: p.Telemetry.Meters, Tracer: p.tracer(),
	})
	if err != nil {
		return err
	}
	return a.Serve(ctx, l)
}

// tracer is nil when nobody wants traces, which saves every call the work for them.
func (p *Parts) tracer() trace.TracerProvider {
	if !p.Telemetry.Tracing {
		return nil
	}
	return p.Telemetry.Traces
}
