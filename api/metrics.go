// Measurements of calls.

package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// metrics follow OpenTelemetry's names for HTTP servers. The histogram's count is the number of calls.
type metrics struct {
	duration metric.Float64Histogram
	active   metric.Int64UpDownCounter
}

func newMetrics(p metric.MeterProvider) (*metrics, error) {
	if p == nil {
		p = noop.NewMeterProvider()
	}
	meter := p.Meter("countersign/api")
	duration, err := meter.Float64Histogram("http.server.request.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of calls by route, method and status."),
		metric.WithExplicitBucketBoundaries(.005, .01, .025, .05, .075, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 30))
	if err != nil {
		return nil, fmt.Errorf("metric of durations: %w", err)
	}
	active, err := meter.Int64UpDownCounter("http.server.active_requests", metric.WithDescription("Calls being answered."))
	if err != nil {
		return nil, fmt.Errorf("metric of active calls: %w", err)
	}
	return &metrics{duration, active}, nil
}

// begin counts a call in and returns what measures its end.
func (m *metrics) begin(ctx context.Context) func(method, route string, status int, took time.Duration) {
	m.active.Add(ctx, 1)
	return func(method, route string, status int, took time.Duration) {
		m.active.Add(ctx, -1)
		m.duration.Record(ctx, took.Seconds(), metric.WithAttributes(
			attribute.String("http.request.method", knownMethod(method)),
			attribute.String("http.route", route),
			attribute.Int("http.response.status_code", status),
		))
	}
}

// knownMethod keeps a client from making up label values.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "_OTHER"
}
