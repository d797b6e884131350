// The HTTP API: what it is made of and how its routes are put together.

// Package api is the HTTP side of the server: authentication, the route table, problem details, and
// thin handlers that turn calls into store transactions and workflow commands. It never writes a
// workflow's state itself.
package api

import (
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/api/documents"
	"countersign/contracts"
	"countersign/store"
	"countersign/workflows"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/contrib/instrumentation/github.com/gin-gonic/gin/otelgin"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

func init() { gin.SetMode(gin.ReleaseMode) } // else the router prints its routes

// Options of an API.
type Options struct {
	Store   *store.Store
	Gateway *workflows.Gateway
	// Lease and Deadline are frozen into every contract; 0 means 90 s and 15 min, which are also the
	// most they can be.
	Lease, Deadline time.Duration
	// TemporalUI is the base URL of Temporal's UI, for links in answers; "" for none.
	TemporalUI string
	// Documents reads what agents are made of; nil for no mirror.
	Documents *documents.Mirrors
	Log       *slog.Logger // nil for slog.Default()
	Version   string       // the program's, shown by GET /v1/instance
	// Ready are checks of /readyz besides PostgreSQL, its migrations, Temporal, a worker and one that can sign.
	Ready []Check
	// Metrics serves GET /metrics; nil for no such route.
	Metrics http.Handler
	// Meter and Tracer record calls; nil for not.
	Meter  metric.MeterProvider
	Tracer trace.TracerProvider
}

// API is an http.Handler, safe for concurrent use.
type API struct {
	store   *store.Store
	gateway *workflows.Gateway
	hub     hub
	log     *slog.Logger

	lease, deadline time.Duration
	temporalUI      string
	documents       *documents.Mirrors

	version string
	checks  []Check
	engine  *gin.Engine
	metrics *metrics
	// exposition serves /metrics; nil for no such route.
	exposition http.Handler

	drain    sync.Once
	draining chan struct{} // closed when the server is about to stop
}

// MaxLease and MaxDeadline are how long a lease and an attempt can be at most.
const (
	MaxLease    = 90 * time.Second
	MaxDeadline = 15 * time.Minute
)

// New puts the API together. The error says which duration is out of range or which metric could not
// be made.
func New(o Options) (*API, error) {
	a := &API{
		store: o.Store, gateway: o.Gateway, log: o.Log, version: o.Version, exposition: o.Metrics, draining: make(chan struct{}),
		lease: o.Lease, deadline: o.Deadline, temporalUI: strings.TrimSuffix(o.TemporalUI, "/"),
		documents: o.Documents,
	}
	if a.documents == nil {
		a.documents = &documents.Mirrors{}
	}
	if a.lease == 0 {
		a.lease = MaxLease
	}
	if a.deadline == 0 {
		a.deadline = MaxDeadline
	}
	if a.lease < 0 || a.lease > MaxLease || a.deadline < 0 || a.deadline > MaxDeadline {
		return nil, fmt.Errorf("lease %v and deadline %v must be above 0 and at most %v and %v", a.lease, a.deadline, MaxLease, MaxDeadline)
	}
	if a.log == nil {
		a.log = slog.Default()
	}
	a.checks = append([]Check{
		{"postgresql", a.store.Ping}, {"migrations", a.store.Migrated},
		{"temporal", a.gateway.Healthy}, {"worker", a.gateway.WorkerPolls},
		{"signer", a.store.SignerReady},
	}, o.Ready...)
	var err error
	if a.metrics, err = newMetrics(o.Meter); err != nil {
		return nil, err
	}
	a.engine = gin.New()
	a.engine.HandleMethodNotAllowed = true
	a.engine.RedirectTrailingSlash = false
	a.engine.UseRawPath = true // a slash inside an id is part of the id
	if err := a.engine.SetTrustedProxies(nil); err != nil {
		return nil, err
	}
	if o.Tracer != nil {
		a.engine.Use(otelgin.Middleware("countersign", otelgin.WithTracerProvider(o.Tracer)))
	}
	a.engine.Use(a.identify, a.observe, a.recover)
	a.engine.NoRoute(func(g *gin.Context) { refuse(g, contracts.Refuse(contracts.CodeNotFound, "no such route")) })
	a.engine.NoMethod(func(g *gin.Context) {
		refuse(g, contracts.Refuse(contracts.CodeMethodNotAllowed, "the route has no method %s", g.Request.Method))
	})
	for _, r := range a.Routes() {
		a.engine.Handle(r.Method, ginPath(r.Path), a.serve(r))
	}
	a.engine.GET("/readyz", a.ready)
	if a.exposition != nil {
		a.engine.GET("/metrics", gin.WrapH(a.exposition))
	}
	tools, err := a.mcpHandler()
	if err != nil {
		return nil, err
	}
	a.engine.POST(mcpPath, tools)
	return a, a.publish()
}

// Routes is the route table. Only the routes that answer in forms of their own are not in it: /readyz,
// /metrics, /openapi.json, /docs and /mcp.
func (a *API) Routes() []Route {
	return slices.Concat(a.setupRoutes(), a.taskRoutes(), a.workflowRoutes(), a.catalogRoutes(), a.capabilityRoutes(), a.bridgeRoutes())
}

// ServeHTTP answers one call.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.engine.ServeHTTP(w, r) }

// Drain makes the API not ready and ends long polls, so that a stop need not wait for them. Calls are
// still answered.
func (a *API) Drain() { a.drain.Do(func() { close(a.draining) }) }

var pathParam = regexp.MustCompile(`\{(\w+)\}`)

func ginPath(path string) string { return pathParam.ReplaceAllString(path, ":$1") }
