// PostgreSQL and Temporal on this machine, started again when they end unasked.

package devstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"countersign/tools/localstack"

	"golang.org/x/sync/errgroup"
)

const (
	databaseName = "countersign"
	// restarts is how often a server that keeps ending is started again before that is the user's
	// problem; one that has run for calm starts with a clean slate.
	restarts = 5
	calm     = time.Minute
	// firstPause doubles from restart to restart.
	firstPause = 250 * time.Millisecond
)

// server is what PostgreSQL and Temporal have in common here.
type server interface {
	Done() <-chan struct{}
	Err() error
	Stop(context.Context) error
	Pid() int
}

// servers are both, as they run now.
type servers struct {
	databaseURL     string
	temporalAddress string
	temporalUI      string

	mu       sync.Mutex
	postgres server
	temporal server
}

// startServers brings both up at once; on an error neither runs.
func startServers(ctx context.Context, o Options, log *slog.Logger) (*servers, error) {
	s := &servers{}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := localstack.EnsurePostgres(gctx, log); err != nil {
			return err
		}
		pg, err := localstack.StartPostgres(gctx, s.postgresOptions(o, log))
		if err != nil {
			return err
		}
		s.postgres, s.databaseURL = pg, pg.URL(databaseName)
		return localstack.EnsureDatabase(gctx, pg.URL("postgres"), databaseName)
	})
	g.Go(func() error {
		options, err := s.temporalOptions(gctx, o, log)
		if err != nil {
			return err
		}
		if options.UIPort == 0 {
			options.UIPort = lastUIPort(o.Dir)
		}
		t, err := localstack.StartTemporal(gctx, options)
		if err != nil {
			return err
		}
		s.temporal, s.temporalAddress, s.temporalUI = t, t.Address(), t.UIAddress()
		return nil
	})
	if err := g.Wait(); err != nil {
		return nil, errors.Join(err, s.stop(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func (s *servers) postgresOptions(o Options, log *slog.Logger) localstack.PostgresOptions {
	return localstack.PostgresOptions{Dir: filepath.Join(o.Dir, "postgres"), Log: log}
}

func (s *servers) temporalOptions(ctx context.Context, o Options, log *slog.Logger) (localstack.TemporalOptions, error) {
	binary, err := localstack.FindTemporal(ctx, log)
	return localstack.TemporalOptions{
		Binary: binary, Dir: filepath.Join(o.Dir, "temporal"), Port: o.TemporalPort, UIPort: o.UIPort, Log: log,
		SearchAttributes: localstack.SearchAttributes,
	}, err
}

// keep watches both until ctx ends and starts them again, on the same ports, when they end unasked.
// changed is called, never twice at once, when one of them is another process. The error says that
// one stays down.
func (s *servers) keep(ctx context.Context, o Options, log *slog.Logger, changed func() error) error {
	var mu sync.Mutex
	changedOne := func() error {
		mu.Lock()
		defer mu.Unlock()
		return changed()
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return s.keepOne(ctx, "PostgreSQL", &s.postgres, log, changedOne, func(ctx context.Context) (server, error) {
			options := s.postgresOptions(o, log)
			var err error
			if options.Port, err = portOf(s.databaseURL); err != nil {
				return nil, err
			}
			return localstack.StartPostgres(ctx, options)
		})
	})
	g.Go(func() error {
		return s.keepOne(ctx, "Temporal", &s.temporal, log, changedOne, func(ctx context.Context) (server, error) {
			options, err := s.temporalOptions(ctx, o, log)
			if err != nil {
				return nil, err
			}
			if options.Port, err = portOf("//" + s.temporalAddress); err != nil {
				return nil, err
			}
			if options.UIPort, err = portOf("//" + s.temporalUI); err != nil {
				return nil, err
			}
			return localstack.StartTemporal(ctx, options)
		})
	})
	return g.Wait()
}

// keepOne starts a server again whenever it ends. One that has stayed up for a while has its tries
// back.
func (s *servers) keepOne(ctx context.Context, name string, current *server, log *slog.Logger, changed func() error, start func(context.Context) (server, error)) error {
	tries := 0
	for {
		began, running := time.Now(), s.get(current)
		select {
		case <-ctx.Done():
			return nil
		case <-running.Done():
		}
		if time.Since(began) > calm {
			tries = 0
		}
		next, err := again(ctx, name, &tries, running.Err(), log, start)
		if next == nil {
			return err
		}
		s.set(current, next)
		if err := changed(); err != nil {
			return err
		}
	}
}

// again starts a server until it runs, ctx ends (then both results are nil) or the tries are used up.
func again(ctx context.Context, name string, tries *int, ended error, log *slog.Logger, start func(context.Context) (server, error)) (server, error) {
	for {
		if *tries++; *tries > restarts {
			return nil, fmt.Errorf("%s does not stay up: %w", name, ended)
		}
		log.Warn(name+" ended, starting it again", "try", *tries, "error", ended)
		select {
		case <-ctx.Done():
			return nil, nil
		case <-time.After(firstPause << (*tries - 1)):
		}
		next, err := start(ctx)
		if err == nil {
			return next, nil
		}
		ended = err
	}
}

func (s *servers) get(which *server) server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *which
}

func (s *servers) set(which *server, to server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*which = to
}

// pids are the process ids of both as they run now.
func (s *servers) pids() []int {
	return []int{s.get(&s.postgres).Pid(), s.get(&s.temporal).Pid()}
}

// stop ends what runs, at the same time.
func (s *servers) stop(ctx context.Context) error {
	var g errgroup.Group
	for _, one := range []server{s.get(&s.postgres), s.get(&s.temporal)} {
		if one != nil {
			g.Go(func() error { return one.Stop(ctx) })
		}
	}
	return g.Wait()
}

func portOf(address string) (int, error) {
	u, err := url.Parse(address)
	if err != nil {
		return 0, err
	}
	_, port, err := net.SplitHostPort(u.Host)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(port)
}
