// The servers that tests run on: one pair per test binary, or one for a whole
// `go test` run when withstack has started it.

//go:build unix

package localstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
)

const (
	// TestDatabaseURLEnv names the environment variable with the maintenance
	// database's URL of a PostgreSQL that tests are to use.
	TestDatabaseURLEnv = "COUNTERSIGN_TEST_DATABASE_URL"
	// TestTemporalEnv names the environment variable with the host:port of a
	// Temporal frontend that tests are to use.
	TestTemporalEnv = "COUNTERSIGN_TEST_TEMPORAL"
)

// TB is the part of testing.TB that is needed here; so programs that use this
// package do not contain the testing package.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Main runs a test binary's tests and then stops the servers they asked for;
// it returns the exit code. In TestMain: os.Exit(localstack.Main(m)). Without
// it the servers end with the process all the same, but their directory stays
// until the next run.
func Main(m interface{ Run() int }) int {
	code := m.Run()
	if err := shared.stop(); err != nil {
		slog.Error("stop the test servers", "error", err)
		code = max(code, 1)
	}
	return code
}

// PostgresURL is the URL, as superuser, of the maintenance database of the
// PostgreSQL that this test binary's tests share; the first call starts it
// when COUNTERSIGN_TEST_DATABASE_URL is not set. Tests make databases or
// schemas of their own on it.
func PostgresURL(t TB) string {
	t.Helper()
	if url := os.Getenv(TestDatabaseURLEnv); url != "" {
		return url
	}
	url, err := shared.postgresURL(context.Background())
	if err != nil {
		t.Fatalf("PostgreSQL for the tests: %v", err)
	}
	return url
}

// TemporalAddress is the host:port of the Temporal that this test binary's
// tests share, with SearchAttributes in its namespace "default"; the first
// call starts it when COUNTERSIGN_TEST_TEMPORAL is not set.
func TemporalAddress(t TB) string {
	t.Helper()
	if address := os.Getenv(TestTemporalEnv); address != "" {
		return address
	}
	address, err := shared.temporalAddress(context.Background())
	if err != nil {
		t.Fatalf("Temporal for the tests: %v", err)
	}
	return address
}

// TemporalBinary is the path of a temporal program, for tests that start and
// kill servers of their own.
func TemporalBinary(t TB) string {
	t.Helper()
	path, err := shared.temporalBinary(context.Background())
	if err != nil {
		t.Fatalf("Temporal for the tests: %v", err)
	}
	return path
}

// stack is a lazily started pair of servers in a directory of its own.
type stack struct {
	mu  sync.Mutex
	dir string
	// lock tells other processes that dir is in use.
	lock      *os.File
	postgres  *Postgres
	temporal  *Temporal
	binary    string
	postgresE error
	temporalE error
}

var shared stack

func (s *stack) postgresURL(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.postgres == nil && s.postgresE == nil {
		s.postgresE = s.startPostgres(ctx)
	}
	if s.postgresE != nil {
		return "", s.postgresE
	}
	if err := s.postgres.Err(); err != nil {
		return "", err
	}
	return s.postgres.URL(maintenanceDB), nil
}

func (s *stack) temporalAddress(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.temporal == nil && s.temporalE == nil {
		s.temporalE = s.startTemporal(ctx)
	}
	if s.temporalE != nil {
		return "", s.temporalE
	}
	if err := s.temporal.Err(); err != nil {
		return "", err
	}
	return s.temporal.Address(), nil
}

func (s *stack) temporalBinary(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.findTemporal(ctx)
}

func (s *stack) findTemporal(ctx context.Context) (string, error) {
	if s.binary != "" {
		return s.binary, nil
	}
	var err error
	s.binary, err = FindTemporal(ctx, slog.Default())
	return s.binary, err
}

func (s *stack) startPostgres(ctx context.Context) error {
	if err := s.makeDir(ctx); err != nil {
		return err
	}
	var err error
	s.postgres, err = StartPostgres(ctx, PostgresOptions{
		Dir: filepath.Join(s.dir, "postgres"), Log: testLog(), Fast: true,
	})
	return err
}

func (s *stack) startTemporal(ctx context.Context) error {
	if err := s.makeDir(ctx); err != nil {
		return err
	}
	binary, err := s.findTemporal(ctx)
	if err != nil {
		return err
	}
	s.temporal, err = StartTemporal(ctx, TemporalOptions{
		Binary: binary, Dir: filepath.Join(s.dir, "temporal"), UIPort: -1, Log: testLog(),
		SearchAttributes: SearchAttributes, InMemory: true,
	})
	return err
}

// testLog keeps a test run's output to what went wrong.
func testLog() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// makeDir makes the stack's directory, and removes those whose processes were
// killed before they could.
func (s *stack) makeDir(ctx context.Context) error {
	if s.dir != "" {
		return nil
	}
	base, err := privateTempDir("countersign-localstack")
	if err != nil {
		return err
	}
	// Making and locking a directory is one step to whoever sweeps.
	sweep, err := awaitLock(ctx, filepath.Join(base, "sweep.lock"), func() {})
	if err != nil {
		return err
	}
	defer sweep.Close()
	old, err := filepath.Glob(filepath.Join(base, "stack-*"))
	if err != nil {
		return err
	}
	for _, dir := range old {
		lock, err := tryLock(filepath.Join(dir, "stack.lock"))
		if err != nil || lock == nil {
			continue
		}
		// Servers that are still on their way out may get in the way; the next
		// run tries again.
		_ = os.RemoveAll(dir)
		lock.Close()
	}
	dir, err := os.MkdirTemp(base, "stack-")
	if err != nil {
		return err
	}
	lock, err := tryLock(filepath.Join(dir, "stack.lock"))
	if err != nil {
		return err
	}
	s.dir, s.lock = dir, lock
	return nil
}

// stop ends what was started and removes the directory.
func (s *stack) stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	if s.postgres != nil {
		errs = append(errs, s.postgres.Err(), s.postgres.Stop(context.Background()))
	}
	if s.temporal != nil {
		// Nothing of it is kept, so its slow orderly end is not worth while.
		errs = append(errs, s.temporal.Err())
		s.temporal.Kill()
		<-s.temporal.Done()
	}
	if s.dir != "" {
		if err := os.RemoveAll(s.dir); err != nil {
			errs = append(errs, fmt.Errorf("remove the servers' directory: %w", err))
		}
		s.lock.Close()
	}
	return errors.Join(errs...)
}

// RunWithStack starts both servers in a temporary directory, calls run with
// the environment variables (name=value) by which tests find them, and stops
// and removes all of it. The end of ctx ends the start, not run. PostgreSQL is
// installed when it is missing and EnsurePostgres can.
func RunWithStack(ctx context.Context, log *slog.Logger, run func(env []string) error) (err error) {
	s := &stack{}
	defer func() { err = errors.Join(err, s.stop()) }()
	if err := EnsurePostgres(ctx, log); err != nil {
		return err
	}
	url, err := s.postgresURL(ctx)
	if err != nil {
		return err
	}
	address, err := s.temporalAddress(ctx)
	if err != nil {
		return err
	}
	return run([]string{TestDatabaseURLEnv + "=" + url, TestTemporalEnv + "=" + address})
}
