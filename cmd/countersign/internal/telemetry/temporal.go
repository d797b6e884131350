// Temporal's SDK in the same metrics and traces.

package telemetry

import (
	"fmt"
	"log/slog"

	"go.temporal.io/sdk/client"
	temporalotel "go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"
)

// Temporal adds metrics, and traces where they are wanted, to the options of a Temporal client.
func (t *Telemetry) Temporal(o *client.Options, log *slog.Logger) error {
	o.MetricsHandler = temporalotel.NewMetricsHandler(temporalotel.MetricsHandlerOptions{
		Meter:                t.Meters.Meter("temporal-sdk-go"),
		UseMonotonicCounters: true,
		OnError:              func(err error) { log.Warn("temporal metrics", "error", err) },
	})
	if !t.Tracing {
		return nil
	}
	tracing, err := temporalotel.NewTracingInterceptor(temporalotel.TracerOptions{Tracer: t.Traces.Tracer("temporal-sdk-go")})
	if err != nil {
		return fmt.Errorf("temporal tracing: %w", err)
	}
	o.Interceptors = append(o.Interceptors, interceptor.ClientInterceptor(tracing))
	return nil
}
