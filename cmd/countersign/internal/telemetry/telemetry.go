// Metrics always, traces when the environment says where to.

// Package telemetry sets up OpenTelemetry for a process: metrics on a Prometheus registry of its own,
// and traces over OTLP when the standard OTEL_* environment names an endpoint.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Telemetry is a process's metrics and traces.
type Telemetry struct {
	// Registry is what /metrics shows.
	Registry *prometheus.Registry
	// Meters makes instruments that end up in the registry.
	Meters metric.MeterProvider
	// Traces makes tracers; they do nothing when Tracing is false.
	Traces  trace.TracerProvider
	Tracing bool

	shutdown []func(context.Context) error
}

// Start sets a process's telemetry up. service is its name in traces unless OTEL_SERVICE_NAME says
// otherwise. What OpenTelemetry itself fails at goes to log, for it must not stop anything.
func Start(ctx context.Context, service string, log *slog.Logger) (*Telemetry, error) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("telemetry", "error", err) }))
	attributes, err := resource.New(ctx, resource.WithAttributes(semconv.ServiceName(service)), resource.WithFromEnv(), resource.WithTelemetrySDK())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("telemetry resource: %w", err)
	}
	t := &Telemetry{Registry: prometheus.NewRegistry(), Traces: noop.NewTracerProvider()}
	t.Registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if err := t.startMetrics(attributes); err != nil {
		return nil, err
	}
	if !tracesWanted() {
		return t, nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("trace exporter: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(attributes))
	t.Traces, t.Tracing = provider, true
	t.shutdown = append(t.shutdown, provider.Shutdown)
	otel.SetTracerProvider(provider)
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))
	return t, nil
}

// temporalBuckets fit calls and activities between a millisecond and the longest deadline, in
// seconds; the SDK names none and OpenTelemetry's own are for milliseconds.
var temporalBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 90, 300, 900}

func (t *Telemetry) startMetrics(attributes *resource.Resource) error {
	exporter, err := otelprom.New(otelprom.WithRegisterer(t.Registry), otelprom.WithoutScopeInfo(), otelprom.WithoutTargetInfo())
	if err != nil {
		return fmt.Errorf("metrics exporter: %w", err)
	}
	ofTemporal := sdkmetric.NewView(
		sdkmetric.Instrument{Name: "temporal_*", Kind: sdkmetric.InstrumentKindHistogram},
		sdkmetric.Stream{Aggregation: sdkmetric.AggregationExplicitBucketHistogram{Boundaries: temporalBuckets}},
	)
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter), sdkmetric.WithResource(attributes), sdkmetric.WithView(ofTemporal))
	t.Meters = provider
	t.shutdown = append(t.shutdown, provider.Shutdown)
	return nil
}

// tracesWanted follows OpenTelemetry's environment: an endpoint is named and nothing turns it off.
func tracesWanted() bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// Handler serves /metrics.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.Registry, promhttp.HandlerOpts{Registry: t.Registry})
}

// Shutdown sends what is still held back.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	var errs []error
	for _, f := range t.shutdown {
		errs = append(errs, f(ctx))
	}
	return errors.Join(errs...)
}
