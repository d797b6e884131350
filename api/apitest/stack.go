// A whole countersign in one process: API servers and workers on a real PostgreSQL and Temporal.

// Package apitest runs everything behind real HTTP for tests, and speaks to it as operators and
// nodes do.
package apitest

import (
	"context"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"countersign/activities"
	"countersign/api"
	"countersign/api/documents"
	"countersign/contracts/workflow"
	"countersign/store"
	"countersign/store/storetest"
	"countersign/tools/localstack"
	"countersign/worker"
	"countersign/workflows"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
)

// Options of a Stack; the zero Options are one API and one worker with the full lease and deadline.
// With COUNTERSIGN_TEST_PAIRS set there are two of each at least, and calls alternate between them.
type Options struct {
	Lease, Deadline time.Duration
	APIs, Workers   int
	// Mirrors are directories of Git repositories by the name that projects give them.
	Mirrors map[string]string
	// TemporalAddress is another Temporal than the shared one.
	TemporalAddress string
	// NoSweeper leaves expiries to Temporal alone.
	NoSweeper bool
	// NoRelay leaves the outbox alone.
	NoRelay bool
	// Outside runs no server: the caller runs its own on the scene's database and sets URL.
	Outside bool
	// Log takes what the servers and workers say; nil discards it.
	Log *slog.Logger
	// Bundle is another database than a new one on the shared PostgreSQL.
	Bundle *storetest.Bundle
}

// Stack is a running server with a scene to dispatch in.
type Stack struct {
	*storetest.Scene
	Options  Options
	Gateway  *workflows.Gateway
	Temporal client.Client
	// URLs are the API servers; calls go to URL, the first, or to all in turn in pairs.
	URLs    []string
	URL     string
	Workers []*Process

	t     testing.TB
	log   *slog.Logger
	calls atomic.Int64
}

// Process is one part of the stack that can be stopped and started.
type Process struct {
	start func() (stop func())
	stop  func()
}

// Stop ends the part gracefully; a part that is stopped already stays so.
func (p *Process) Stop() {
	if p.stop != nil {
		p.stop()
		p.stop = nil
	}
}

// Start starts the part when it is stopped.
func (p *Process) Start() {
	if p.stop == nil {
		p.stop = p.start()
	}
}

// New starts a stack that ends with the test.
func New(t testing.TB, o Options) *Stack {
	t.Helper()
	least := 1
	if os.Getenv("COUNTERSIGN_TEST_PAIRS") != "" {
		least = 2
	}
	o.APIs, o.Workers = max(o.APIs, least), max(o.Workers, least)
	if o.Bundle == nil {
		o.Bundle = storetest.New(t)
	}
	s := &Stack{Scene: storetest.NewSceneIn(t, o.Bundle), Options: o, t: t, log: slog.New(slog.DiscardHandler)}
	if o.Log != nil {
		s.log = o.Log
	}
	if os.Getenv("COUNTERSIGN_TEST_LOG") != "" {
		s.log = slog.Default()
	}
	if o.TemporalAddress == "" {
		o.TemporalAddress = localstack.TemporalAddress(t)
	}
	var err error
	s.Temporal, err = client.Dial(client.Options{HostPort: o.TemporalAddress, Logger: s.log})
	require.NoError(t, err)
	t.Cleanup(s.Temporal.Close)
	s.Gateway = s.gateway(s.Store)
	if o.Outside {
		s.Gateway.TaskQueue = workflows.DefaultTaskQueue
		return s
	}
	for range o.Workers {
		s.addWorker()
	}
	for range o.APIs {
		s.URLs = append(s.URLs, s.addAPI())
	}
	s.URL = s.URLs[0]
	return s
}

func (s *Stack) gateway(st *store.Store) *workflows.Gateway {
	queue := "test-" + uuid.NewString()
	if s.Gateway != nil {
		queue = s.Gateway.TaskQueue
	}
	return &workflows.Gateway{
		Temporal: activities.Temporal{Client: s.Temporal, Namespace: client.DefaultNamespace}, Store: st, TaskQueue: queue, Log: s.log,
	}
}

func (s *Stack) addWorker() {
	p := &Process{start: func() func() {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		o := worker.Options{
			Store: s.Store, Temporal: s.Gateway.Temporal, TaskQueue: s.Gateway.TaskQueue, Log: s.log,
			SweepEvery: 200 * time.Millisecond, RelayEvery: 100 * time.Millisecond, LostAfter: time.Second, CloseAfter: time.Second,
		}
		if s.Options.NoSweeper {
			o.SweepEvery = time.Hour
		}
		if s.Options.NoRelay {
			o.RelayEvery = time.Hour
		}
		go func() { done <- worker.Run(ctx, o) }()
		return func() {
			cancel()
			require.NoError(s.t, <-done)
		}
	}}
	p.Start()
	s.t.Cleanup(p.Stop)
	s.Workers = append(s.Workers, p)
}

// addAPI starts an API server with a pool of its own, as another process would have.
func (s *Stack) addAPI() string {
	st := s.Open(s.t, store.Options{Lineage: storetest.Lineage})
	mirrors, err := documents.Open(s.Options.Mirrors)
	require.NoError(s.t, err)
	a, err := api.New(api.Options{
		Store: st, Gateway: s.gateway(st), Lease: s.Options.Lease, Deadline: s.Options.Deadline, Log: s.log, Version: "test", Documents: mirrors,
	})
	require.NoError(s.t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(s.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- a.Serve(ctx, l) }()
	s.t.Cleanup(func() {
		cancel()
		require.NoError(s.t, <-served)
	})
	return "http://" + l.Addr().String()
}

// As is the same stack with another node in the place of the scene's, for tests that share one.
func (s *Stack) As(t testing.TB, node workflow.Node, token string) *Stack {
	scene := *s.Scene
	scene.Node, scene.NodeToken = node, token
	return &Stack{
		Scene: &scene, Options: s.Options, Gateway: s.Gateway, Temporal: s.Temporal, URLs: s.URLs, URL: s.URL, Workers: s.Workers,
		t: t, log: s.log,
	}
}
