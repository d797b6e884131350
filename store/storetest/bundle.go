// A database of its own for every test, copied from a migrated template.

// Package storetest gives tests a real, migrated PostgreSQL database each and the few things most
// tests need in it. Tests of package store itself use it from package store_test.
package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/store"
	"countersign/tools/localstack"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// Resource is the URI of every test instance.
const Resource = "https://countersign.test"

// setupBound is how long making or dropping a database may take on a loaded machine.
const setupBound = 2 * time.Minute

// Bundle is one test's database, migrated and otherwise empty.
type Bundle struct {
	URL   string       // of the database, as a user who may do anything in it
	Store *store.Store // can sign; closed when the test ends
	Pool  *pgxpool.Pool
}

// New makes the test's database and drops it when the test ends. It fails the test when there is no
// PostgreSQL.
func New(t testing.TB) *Bundle {
	t.Helper()
	return NewOn(t, localstack.PostgresURL(t))
}

// NewOn is New on another PostgreSQL than the shared one; server is its maintenance database's URL.
func NewOn(t testing.TB, server string) *Bundle {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setupBound)
	defer cancel()
	template, err := sharedTemplate(server)
	require.NoError(t, err)
	name := "cs_test_" + strings.ToLower(rand.Text())
	require.NoError(t, onServer(ctx, server, func(conn *pgx.Conn) error { return copyDatabase(ctx, conn, template, name) }))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), setupBound)
		defer cancel()
		require.NoError(t, onServer(ctx, server, func(conn *pgx.Conn) error { return dropDatabase(ctx, conn, name) }))
	})
	b := &Bundle{URL: databaseURL(t, server, name)}
	b.Store = b.Open(t, store.Options{Signer: Signer, Lineage: Lineage})
	cfg, err := pgxpool.ParseConfig(b.URL)
	require.NoError(t, err)
	cfg.MaxConns = 4
	b.Pool, err = pgxpool.NewWithConfig(ctx, cfg)
	require.NoError(t, err)
	t.Cleanup(b.Pool.Close)
	return b
}

// Open makes a further store on the bundle's database, as another process would; it is closed when
// the test ends.
func (b *Bundle) Open(t testing.TB, o store.Options) *store.Store {
	t.Helper()
	o.URL = b.URL
	if o.MaxConns == 0 {
		o.MaxConns = 8
	}
	s, err := store.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// sharedTemplate makes the template once a process; processes on one server share it by the digest
// of its schema.
var sharedTemplate = func() func(server string) (string, error) {
	var (
		mu    sync.Mutex
		known = map[string]string{} // server URL → template
	)
	return func(server string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if name, ok := known[server]; ok {
			return name, nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), setupBound)
		defer cancel()
		name, err := makeTemplate(ctx, server)
		if err == nil {
			known[server] = name
		}
		return name, err
	}
}()

// templateLock is the advisory lock under which one process at a time makes templates.
const templateLock = 0x636f756e746572

func makeTemplate(ctx context.Context, server string) (string, error) {
	digest, err := store.SchemaDigest()
	if err != nil {
		return "", err
	}
	name := "cs_template_" + digest[:16]
	return name, onServer(ctx, server, func(conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", templateLock); err != nil {
			return err
		}
		var exists bool
		err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists)
		if err != nil || exists {
			return err
		}
		// A half-made template must never be found under the name that others look for.
		draft := name + "_draft"
		if err := dropDatabase(ctx, conn, draft); err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, "CREATE DATABASE "+quote(draft)); err != nil {
			return err
		}
		at, err := withDatabase(server, draft)
		if err != nil {
			return err
		}
		if err := store.Migrate(ctx, at, Resource); err != nil {
			return err
		}
		if err := firstKey(ctx, at); err != nil {
			return err
		}
		return whenUnused(ctx, func() error {
			_, err := conn.Exec(ctx, "ALTER DATABASE "+quote(draft)+" RENAME TO "+quote(name))
			return err
		})
	})
}

// firstKey gives the template its key, and a worker that can sign for ever: tests of other things may
// have no worker, or stop it for as long as they like.
func firstKey(ctx context.Context, url string) error {
	s, err := store.Open(ctx, store.Options{URL: url, MaxConns: 1, Signer: Signer})
	if err != nil {
		return err
	}
	defer s.Close()
	sha256, err := s.EnsureKey(ctx, Signer)
	if err != nil {
		return err
	}
	return onServer(ctx, url, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `INSERT INTO signers (key_sha256, worker, seen_at, lineage) VALUES ($1, $2, 'infinity', true)`, sha256, Tireless)
		return err
	})
}

// Tireless is the worker of every test instance that can always sign, as far as the database knows.
const Tireless = "tireless"

func copyDatabase(ctx context.Context, conn *pgx.Conn, template, name string) error {
	return whenUnused(ctx, func() error {
		_, err := conn.Exec(ctx, "CREATE DATABASE "+quote(name)+" TEMPLATE "+quote(template))
		return err
	})
}

func dropDatabase(ctx context.Context, conn *pgx.Conn, name string) error {
	_, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+quote(name)+" WITH (FORCE)")
	return err
}

// whenUnused repeats f while PostgreSQL still sees a session on the database it needs for itself: a
// closed connection's backend takes a moment to go.
func whenUnused(ctx context.Context, f func() error) error {
	for {
		err := f()
		if pg, ok := errors.AsType[*pgconn.PgError](err); !ok || pg.Code != "55006" || ctx.Err() != nil {
			return err
		}
	}
}

// onServer runs f on a connection of its own, so that no pool outlives the tests.
func onServer(ctx context.Context, server string, f func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return f(conn)
}

func databaseURL(t testing.TB, server, name string) string {
	t.Helper()
	at, err := withDatabase(server, name)
	require.NoError(t, err)
	return at
}

func withDatabase(server, name string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", fmt.Errorf("PostgreSQL's URL: %w", err)
	}
	u.Path = "/" + name
	return u.String(), nil
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
