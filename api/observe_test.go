package api

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"countersign/contracts"
	"countersign/store/storetest"
	"countersign/workflows"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// logged keeps log lines for a look at them.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// lines are the log's, as objects.
func (l *logged) lines(t testing.TB) (lines []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.SplitSeq(strings.TrimSpace(l.buf.String()), "\n") {
		var v map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &v), line)
		lines = append(lines, v)
	}
	return lines
}

// newObserved is an API with routes that go wrong.
func newObserved(t testing.TB, o Options) (*API, *storetest.Scene, *logged) {
	t.Helper()
	scene, log := storetest.NewScene(t), &logged{}
	o.Store, o.Gateway = scene.Store, &workflows.Gateway{}
	o.Log = slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	a, err := New(o)
	require.NoError(t, err)
	a.engine.GET("/test/panic", func(*gin.Context) { panic("the secret cause") })
	a.engine.GET("/test/abort", func(*gin.Context) { panic(http.ErrAbortHandler) })
	a.engine.GET("/test/fail", func(g *gin.Context) { refuse(g, errors.New("the secret cause")) })
	a.engine.GET("/test/away", func(g *gin.Context) {
		refuse(g, errors.Join(contracts.Refuse(contracts.CodeUnavailable, "come again"), errors.New("the secret cause")))
	})
	a.engine.GET("/test/slow", func(g *gin.Context) { refuse(g, context.DeadlineExceeded) })
	a.engine.GET("/test/gone", func(g *gin.Context) {
		<-g.Request.Context().Done()
		refuse(g, g.Request.Context().Err())
	})
	a.engine.GET("/test/unwritable", func(g *gin.Context) {
		if err := writeJSON(g, 200, mediaJSON, map[string]any{"f": func() {}}); err != nil {
			refuse(g, err)
		}
	})
	return a, scene, log
}

func ask(t testing.TB, a *API, method, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

func TestFailuresAreLoggedAndNotShown(t *testing.T) {
	t.Parallel()
	a, _, log := newObserved(t, Options{})
	for path, want := range map[string]struct {
		status int
		code   contracts.Code
		retry  string
	}{
		"/test/panic":      {500, contracts.CodeInternal, ""},
		"/test/fail":       {500, contracts.CodeInternal, ""},
		"/test/unwritable": {500, contracts.CodeInternal, ""},
		"/test/away":       {503, contracts.CodeUnavailable, "1"},
		"/test/slow":       {503, contracts.CodeUnavailable, "1"},
	} {
		w := ask(t, a, "GET", path)
		require.Equal(t, want.status, w.Code, path)
		require.Equal(t, want.retry, w.Header().Get("Retry-After"), path)
		require.NotContains(t, w.Body.String(), "secret cause", path)
		require.NotContains(t, w.Body.String(), "func()", path)
		var p problem
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
		require.Equal(t, want.code, p.Code)
		if want.status == 500 {
			require.Empty(t, p.Detail)
		}
	}
	calls, panics := 0, 0
	for _, line := range log.lines(t) {
		switch line["msg"] {
		case "panic":
			panics++
			require.Contains(t, line["stack"], "observe_test.go")
		case "call":
			calls++
			require.Equal(t, "ERROR", line["level"])
			require.NotEmpty(t, line["error"])
			if path := line["route"]; path == "/test/panic" || path == "/test/fail" || path == "/test/away" {
				require.Contains(t, line["error"], "the secret cause")
			}
		}
	}
	require.Equal(t, 5, calls)
	require.Equal(t, 1, panics)
	require.Panics(t, func() { ask(t, a, "GET", "/test/abort") }, "net/http cuts the connection itself")
}

func TestAClientThatHangsUpIsNoFailure(t *testing.T) {
	t.Parallel()
	a, _, log := newObserved(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/test/gone", nil))
	line := log.lines(t)[0]
	require.EqualValues(t, statusHungUp, line["status"])
	require.Equal(t, "INFO", line["level"])
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	a, _, log := newObserved(t, Options{})
	for _, sane := range []string{"abc", "a-b_c.1", strings.Repeat("x", 64)} {
		require.Equal(t, sane, ask(t, a, "GET", "/healthz", requestIDHeader, sane).Header().Get(requestIDHeader))
	}
	seen := map[string]bool{}
	for _, other := range []string{"", "a b", strings.Repeat("x", 65), "é", "a\nb", "<script>"} {
		id := ask(t, a, "GET", "/nonsense", requestIDHeader, other).Header().Get(requestIDHeader)
		require.Len(t, id, 36)
		require.False(t, seen[id])
		seen[id] = true
	}
	for _, line := range log.lines(t)[3:] {
		require.True(t, seen[line["request"].(string)], "the log has the id of the answer")
	}
}

func TestCallsAreLoggedWithoutSecrets(t *testing.T) {
	t.Parallel()
	a, scene, log := newObserved(t, Options{})
	ask(t, a, "GET", "/v1/projects", "Authorization", "Bearer "+scene.OwnerToken)
	ask(t, a, "GET", "/bridge/v1/executions", "Authorization", "Bearer "+scene.NodeToken)
	ask(t, a, "GET", "/v1/tasks/no-such?x=secret", "Authorization", "Bearer "+scene.OwnerToken)
	ask(t, a, "GET", "/v1/projects", "Authorization", "Bearer cs_somebody-elses")
	ask(t, a, "GET", "/healthz")
	lines := log.lines(t)
	require.Equal(t, "owner", lines[0]["user"])
	require.Equal(t, "/v1/projects", lines[0]["route"])
	require.EqualValues(t, 200, lines[0]["status"])
	require.Equal(t, scene.Node.ID, lines[1]["node"])
	require.Equal(t, "/v1/tasks/:id", lines[2]["route"])
	require.Equal(t, "invalid", lines[2]["code"])
	require.NotContains(t, lines[3], "user")
	require.Equal(t, "DEBUG", lines[4]["level"])
	log.mu.Lock()
	defer log.mu.Unlock()
	for _, secret := range []string{scene.OwnerToken, scene.NodeToken, "somebody-elses", "x=secret"} {
		require.NotContains(t, log.buf.String(), secret)
	}
}

func TestCallsAreMeasuredAndTraced(t *testing.T) {
	t.Parallel()
	reader, spans := sdkmetric.NewManualReader(), tracetest.NewSpanRecorder()
	meter := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("measured")) })
	a, _, _ := newObserved(t, Options{Meter: meter, Tracer: tracer, Metrics: metrics})
	ask(t, a, "GET", "/healthz")
	ask(t, a, "GET", "/healthz")
	ask(t, a, "GET", "/v1/tasks/some-task")
	ask(t, a, "GET", "/nonsense/1")
	ask(t, a, "GET", "/nonsense/2")
	ask(t, a, "HACK", "/v1/tasks/x")
	require.Equal(t, "measured", ask(t, a, "GET", "/metrics").Body.String())

	var data metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &data))
	counts := map[string]uint64{}
	for _, m := range data.ScopeMetrics[0].Metrics {
		switch points := m.Data.(type) {
		case metricdata.Histogram[float64]:
			require.Equal(t, "http.server.request.duration", m.Name)
			for _, p := range points.DataPoints {
				counts[label(p.Attributes, "http.request.method")+" "+label(p.Attributes, "http.route")+" "+label(p.Attributes, "http.response.status_code")] = p.Count
			}
		case metricdata.Sum[int64]:
			require.Equal(t, "http.server.active_requests", m.Name)
			require.Zero(t, points.DataPoints[0].Value)
		}
	}
	require.Equal(t, map[string]uint64{
		"GET /healthz 200": 2, "GET /v1/tasks/:id 401": 1, "GET unknown 404": 2, "_OTHER unknown 405": 1, "GET /metrics 200": 1,
	}, counts)
	require.Len(t, spans.Ended(), 7)
	require.Equal(t, "GET /v1/tasks/:id", spans.Ended()[2].Name())
}

func label(set attribute.Set, key attribute.Key) string {
	v, _ := set.Value(key)
	return v.String()
}
