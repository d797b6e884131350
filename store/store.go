// The connection pool and what every method of the store shares.

// Package store is PostgreSQL: migrations, queries, and one method per transaction. It decides
// identity, authority, uniqueness, replay and expiry, always by the database's clock.
//
// Lock order, everywhere: the blob, where bytes are handed in; idempotency key or history row, then node,
// project, member, account, token, agent, source (FOR SHARE), the signing key (FOR SHARE), then task,
// revision, executions by id, the project's lineage, ledger, outbox. Parents are locked FOR NO KEY UPDATE,
// for FOR UPDATE deadlocks with the inserts of their children.
package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"countersign/contracts"
	"countersign/contracts/lineage"
	"countersign/contracts/receipt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Store is safe for concurrent use.
type Store struct {
	pool    *pgxpool.Pool
	signer  Signer
	lineage LineageSigner
	writing chan struct{} // a place for each blob that may be written at once
}

// Signer hands out the key that receipts are signed with, read afresh at each call, so that a key that
// was replaced or lost is noticed at once. The error says why there is none.
type Signer func() (*receipt.Key, error)

// LineageSigner hands out the key that lineage entries are signed with and the operator's secret, read
// afresh at each call. The error says why there is none.
type LineageSigner func() (lineage.Signer, error)

// Options of a Store.
type Options struct {
	URL      string          // PostgreSQL connection URL
	MaxConns int32           // 0 for the pool's default
	Tracer   pgx.QueryTracer // nil for none
	// Signer is what workers sign acceptances with; nil for processes that commit none.
	Signer Signer
	// Lineage is what records of artifacts and attachments are signed with; nil for processes that make
	// none.
	Lineage LineageSigner
}

// Open connects lazily; it fails only for an unreadable URL.
func Open(ctx context.Context, o Options) (*Store, error) {
	cfg, err := pgxpool.ParseConfig(o.URL)
	if err != nil {
		return nil, fmt.Errorf("database url: %w", err)
	}
	if o.MaxConns > 0 {
		cfg.MaxConns = o.MaxConns
	}
	cfg.ConnConfig.Tracer = o.Tracer
	// A statement that waits longer than this waits for a lock that nobody will release in time for
	// the caller; the caller gets 503 and repeats.
	cfg.ConnConfig.RuntimeParams["lock_timeout"] = "7s"
	cfg.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = "30s"
	cfg.ConnConfig.RuntimeParams["application_name"] = "countersign"
	if cfg.ConnConfig.ConnectTimeout == 0 {
		cfg.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	cfg.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		// Times leave the database in UTC, whatever zone the process or the session is in.
		conn.TypeMap().RegisterType(&pgtype.Type{
			Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
		})
		return nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return &Store{pool: pool, signer: o.Signer, lineage: o.Lineage, writing: make(chan struct{}, max(1, pool.Config().MaxConns/2))}, nil
}

// Close waits for the connections in use and closes them all.
func (s *Store) Close() { s.pool.Close() }

// Ping reports whether PostgreSQL answers.
func (s *Store) Ping(ctx context.Context) error { return s.pool.Ping(ctx) }

// Stat is the pool's state, for metrics.
func (s *Store) Stat() *pgxpool.Stat { return s.pool.Stat() }

// maxTxTries bounds the repetition of a transaction that PostgreSQL chose as a deadlock's victim.
const maxTxTries = 5

// tx runs f in one READ COMMITTED transaction and commits when f returns nil. Deadlocks and
// serialization failures are tried again; unique violations become codes by the constraint's name;
// an unreachable database becomes CodeUnavailable.
func (s *Store) tx(ctx context.Context, f func(pgx.Tx) error) error {
	for try := 1; ; try++ {
		err := pgx.BeginFunc(ctx, s.pool, f)
		if err == nil {
			return nil
		}
		var pg *pgconn.PgError
		if errors.As(err, &pg) && (pg.Code == "40P01" || pg.Code == "40001") && try < maxTxTries {
			continue
		}
		return translate(err)
	}
}

// codeByConstraint names the refusal behind each constraint that a well-formed request can meet.
var codeByConstraint = map[string]contracts.Error{
	"executions_node_slot": {Code: contracts.CodeNodeBusy, Detail: "the node already has an offered or live execution"},
	"revisions_one_active": {Code: contracts.CodeWorkflowActive, Detail: "the task has an active revision"},
	"agent_versions_name":  {Code: contracts.CodeAlreadyExists, Detail: "the agent has a version of this name"},
	"sources_active":       {Code: contracts.CodeAlreadyExists, Detail: "the project has this document among its sources"},
	"executions_session":   {Code: contracts.CodeSessionReused, Detail: "this provider session was seen before on this instance"},
}

// translate keeps refusals, names constraints, and hides everything else behind unavailable or a
// wrapped error.
func translate(err error) error {
	if _, ok := errors.AsType[*contracts.Error](err); ok {
		return err
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		if e, known := codeByConstraint[pg.ConstraintName]; known && pg.Code == "23505" {
			return &e
		}
		if unavailableState(pg.Code) {
			return unavailable(err)
		}
		return fmt.Errorf("database: %w", err)
	}
	if unreachable(err) {
		return unavailable(err)
	}
	return fmt.Errorf("database: %w", err)
}

// unavailableState lists the SQLSTATEs of a server that is starting, stopping, full, or of a lock
// that did not come free in time.
func unavailableState(state string) bool {
	switch state {
	case "57P01", "57P02", "57P03", "53300", "55P03", "25P03", "57014":
		return true
	}
	return len(state) == 5 && state[:2] == "08"
}

func unreachable(err error) bool {
	var connect *pgconn.ConnectError
	var netErr net.Error
	return errors.As(err, &connect) || errors.As(err, &netErr) || pgconn.SafeToRetry(err) || pgconn.Timeout(err) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, net.ErrClosed) || errors.Is(err, pgconn.ErrConnClosed) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// unavailable hides the cause from the client and keeps it for the log.
func unavailable(cause error) error {
	return &unavailableError{contracts.Error{Code: contracts.CodeUnavailable, Detail: "the database is not available; repeat the same call"}, cause}
}

type unavailableError struct {
	shown contracts.Error
	cause error
}

func (e *unavailableError) Error() string   { return e.shown.Error() + ": " + e.cause.Error() }
func (e *unavailableError) Unwrap() []error { return []error{&e.shown, e.cause} }

func undefinedTable(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "42P01"
}

func foreignKey(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "23503"
}

func duplicate(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "23505"
}
