// What /metrics shows, and when traces go out.

package telemetry

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
)

func TestMetricsOfProcessAndTemporal(t *testing.T) {
	tel, err := Start(t.Context(), "test", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.False(t, tel.Tracing)
	var o client.Options
	require.NoError(t, tel.Temporal(&o, slog.Default()))
	require.Empty(t, o.Interceptors)
	o.MetricsHandler.Counter("temporal_request").Inc(1)
	o.MetricsHandler.Timer("temporal_request_latency").Record(20 * time.Millisecond)

	w := httptest.NewRecorder()
	tel.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	body := w.Body.String()
	require.Contains(t, body, "go_goroutines ")
	require.Contains(t, body, "temporal_request_total 1")
	require.Contains(t, body, `temporal_request_latency_seconds_bucket{le="0.025"} 1`)
	require.NoError(t, tel.Shutdown(t.Context()))
}

func TestTracesGoOutOnlyWhenAnEndpointIsNamed(t *testing.T) {
	got := make(chan string, 16)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		got <- r.URL.Path
	}))
	t.Cleanup(collector.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)

	tel, err := Start(t.Context(), "test", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.True(t, tel.Tracing)
	var o client.Options
	require.NoError(t, tel.Temporal(&o, slog.Default()))
	require.Len(t, o.Interceptors, 1)
	_, span := tel.Traces.Tracer("test").Start(t.Context(), "one")
	span.End()
	require.NoError(t, tel.Shutdown(t.Context()))
	require.Equal(t, "/v1/traces", <-got)

	t.Setenv("OTEL_TRACES_EXPORTER", "none")
	require.False(t, tracesWanted())
}
