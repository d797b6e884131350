// A private PostgreSQL server on a directory.

//go:build unix

package localstack

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	superuser      = "postgres"
	maintenanceDB  = "postgres"
	maxConnections = 200
	// postgresQuit ends the server at once, without the checkpoint of a fast
	// shutdown: what is committed is in the write-ahead log.
	postgresQuit = syscall.SIGQUIT
	// fastStopBound is for a fast shutdown with its checkpoint.
	fastStopBound = 30 * time.Second
	// tryBound is for one attempt to reach a server on this machine.
	tryBound = 2 * time.Second
)

// PostgresOptions says where and how a server runs.
type PostgresOptions struct {
	// Dir is made when missing (0700) and holds the cluster, the password, the
	// remembered port and the log. One server per Dir at a time.
	Dir string
	// Port on 127.0.0.1; 0 takes last time's when it is free, else a free one.
	Port int
	// Log hears what is done; nil is slog.Default().
	Log *slog.Logger
	// Fast gives durability against a crash of the machine up for speed: for
	// tests only. A crash of the server alone still loses nothing.
	Fast bool
}

// Postgres is a running server. Its methods may be called from any goroutine.
type Postgres struct {
	server   *server
	password string
}

// StartPostgres makes the cluster when Dir has none, starts the server and
// returns when it answers. What an earlier run left on Dir, running or half
// made, is ended or removed first. ctx bounds the start only. The server ends
// with this process.
//
// Errors: ErrInUse when another live process runs Dir, ErrNoPostgres when no
// server program fits, else what failed, with the end of the server's log.
func StartPostgres(ctx context.Context, o PostgresOptions) (*Postgres, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	p, err := startPostgres(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL on %s: %w", o.Dir, err)
	}
	return p, nil
}

func startPostgres(ctx context.Context, o PostgresOptions) (*Postgres, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	lock, err := lockDir(ctx, dir, postgresQuit, o.Log)
	if err != nil {
		return nil, err
	}
	p, err := startPostgresLocked(ctx, o, dir, lock)
	if err != nil {
		lock.release()
		return nil, err
	}
	return p, nil
}

func startPostgresLocked(ctx context.Context, o PostgresOptions, dir string, lock *dirLock) (*Postgres, error) {
	cl, err := openCluster(ctx, dir, o.Fast, lock.alive, o.Log)
	if err != nil {
		return nil, err
	}
	defer cl.data.Close()
	p := &Postgres{password: cl.password}
	p.server, err = startServer(ctx, serverSpec{
		name: "PostgreSQL", dir: dir, port: o.Port, quit: postgresQuit, log: o.Log,
		start:    func(port int, alive *os.File) (*child, error) { return cl.start(port, o.Fast, alive) },
		ready:    func(ctx context.Context, _ *child, port int) error { return ping(ctx, p.url(port, maintenanceDB)) },
		lostPort: "could not bind",
		inUse:    `lock file "postmaster.pid" already exists`,
	}, lock)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// URL is the connection string, with the superuser's password, of the named
// database; it need not exist.
func (p *Postgres) URL(db string) string { return p.url(p.server.port, db) }

func (p *Postgres) url(port int, db string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(superuser, p.password),
		Host:     net.JoinHostPort(host, strconv.Itoa(port)),
		Path:     "/" + db,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Pid is the process id of the postmaster.
func (p *Postgres) Pid() int { return p.server.child.pid }

// Done is closed when the server has ended, wanted or not.
func (p *Postgres) Done() <-chan struct{} { return p.server.done }

// Err is nil while the server runs and after Stop or Kill; after any other end
// it says how it ended, with the last lines of its log.
func (p *Postgres) Err() error { return p.server.child.err() }

// Stop shuts the server down fast: open transactions are rolled back, what was
// committed is on disk. It returns when the server has ended; an error says
// that it had to be killed, after 30 s or at the end of ctx. A second Stop
// returns nil.
func (p *Postgres) Stop(ctx context.Context) error {
	return p.server.stop(ctx, syscall.SIGINT, fastStopBound)
}

// Kill ends the postmaster at once, as kill -9 would; Done tells when. Its
// children end by themselves, and the next start waits for them.
func (p *Postgres) Kill() { p.server.child.kill() }

// EnsureDatabase makes the database when it is missing; several processes may
// do so at once. maintenanceURL names any other database of the server.
func EnsureDatabase(ctx context.Context, maintenanceURL, name string) error {
	if err := ensureDatabase(ctx, maintenanceURL, name); err != nil {
		return fmt.Errorf("ensure database %s: %w", name, err)
	}
	return nil
}

func ensureDatabase(ctx context.Context, maintenanceURL, name string) error {
	conn, err := pgx.Connect(ctx, maintenanceURL)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var exists bool
	err = conn.QueryRow(ctx, "select exists (select from pg_database where datname = $1)", name).Scan(&exists)
	if err != nil || exists {
		return err
	}
	_, err = conn.Exec(ctx, "create database "+pgx.Identifier{name}.Sanitize())
	// Two makers at once end in either of these for one of them.
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && (e.Code == "42P04" || e.Code == "23505") {
		return nil
	}
	return err
}

// ping connects and thereby proves both sides' knowledge of the password: an
// answer of somebody else's server at the port is an error.
func ping(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, tryBound)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// loadPassword returns the password kept in file, made at the first call; once
// there is a cluster a new one would not open it.
func loadPassword(file string, mayMake bool) (string, error) {
	b, err := os.ReadFile(file)
	if mayMake && errors.Is(err, os.ErrNotExist) {
		b = []byte(rand.Text())
		err = writeFile(file, b)
	}
	if err != nil {
		return "", fmt.Errorf("password: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}
