// The outbox: what Temporal or the executions concerned have yet to learn.

package store

import (
	"context"
	"time"

	"countersign/contracts/workflow"

	"github.com/jackc/pgx/v5"
)

// OutboxKind is the kind of an outbox row.
type OutboxKind string

// The kinds of outbox rows.
const (
	OutboxStart      OutboxKind = "start"      // start the revision's workflow
	OutboxCatchUp    OutboxKind = "catch_up"   // make the workflow read what it may have missed
	OutboxRevocation OutboxKind = "revocation" // look at a node's executions: authority was lost
)

// OutboxRow is one row that the caller holds until its lock ends.
type OutboxRow struct {
	ID         int64
	Kind       OutboxKind
	WorkflowID string
	NodeID     string
	Attempts   int
}

// outboxLock is how long a taken row stays with its taker; a row whose taker died is taken again.
const outboxLock = 30 * time.Second

// TakeOutbox takes up to limit due rows. No transaction stays open: the lock is a time in the row.
func (s *Store) TakeOutbox(ctx context.Context, limit int) ([]OutboxRow, error) {
	rows, err := s.pool.Query(ctx, `UPDATE outbox SET locked_until = clock_timestamp() + make_interval(secs => $1), attempts = attempts + 1
		WHERE id IN (SELECT id FROM outbox WHERE sent_at IS NULL AND locked_until <= clock_timestamp() ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED)
		RETURNING id, kind, coalesce(workflow_id, '') AS workflow_id, coalesce(node_id, '') AS node_id, attempts`, outboxLock.Seconds(), limit)
	if err != nil {
		return nil, translate(err)
	}
	taken, err := pgx.CollectRows(rows, pgx.RowToStructByName[OutboxRow])
	if err != nil {
		return nil, translate(err)
	}
	return taken, nil
}

// OutboxSent marks a row as done.
func (s *Store) OutboxSent(ctx context.Context, id int64) error {
	return s.exec(ctx, `UPDATE outbox SET sent_at = clock_timestamp(), last_error = NULL WHERE id = $1 AND sent_at IS NULL`, id)
}

// OutboxFailed notes why a row could not be sent and when to try again.
func (s *Store) OutboxFailed(ctx context.Context, id int64, reason string, retryIn time.Duration) error {
	return s.exec(ctx, `UPDATE outbox SET last_error = $2, locked_until = clock_timestamp() + make_interval(secs => $3) WHERE id = $1`,
		id, reason, retryIn.Seconds())
}

// StartSent marks the start of a revision as done, for the dispatch that started it itself.
func (s *Store) StartSent(ctx context.Context, workflowID string) error {
	return s.exec(ctx, `UPDATE outbox SET sent_at = clock_timestamp() WHERE workflow_id = $1 AND kind = 'start' AND sent_at IS NULL`, workflowID)
}

// QueueCatchUp asks the relay to make a workflow catch up, after an update whose outcome is unknown.
func (s *Store) QueueCatchUp(ctx context.Context, workflowID string) error {
	return s.exec(ctx, `INSERT INTO outbox (kind, workflow_id) SELECT 'catch_up', $1
		WHERE NOT EXISTS (SELECT FROM outbox WHERE kind = 'catch_up' AND workflow_id = $1 AND sent_at IS NULL)`, workflowID)
}

// LostAuthority is an execution whose node may not go on with it.
type LostAuthority struct {
	WorkflowID  string
	ExecutionID string
	Reason      workflow.Reason
}

// LostAuthorities asks, afresh, which offered and live executions of a node have lost the authority
// they rest on: the node itself, its token, the project or the account.
func (s *Store) LostAuthorities(ctx context.Context, nodeID string) ([]LostAuthority, error) {
	rows, err := s.pool.Query(ctx, `SELECT e.workflow_id, e.id AS execution_id,
			CASE WHEN n.status = 'revoked' THEN 'node_revoked' ELSE 'authority_revoked' END AS reason
		FROM executions e JOIN nodes n ON n.id = e.node_id JOIN revisions r ON r.workflow_id = e.workflow_id
		CROSS JOIN LATERAL (SELECT CASE e.purpose WHEN 'verify' THEN r.verifier_account ELSE r.worker_account END AS account,
			CASE e.purpose WHEN 'verify' THEN r.verifier_runtime ELSE r.worker_runtime END AS runtime) a
		WHERE e.node_id = $1 AND e.state IN ('offered', 'live') AND (n.status = 'revoked'
			OR NOT EXISTS (SELECT FROM node_projects p WHERE p.node_id = e.node_id AND p.project_id = e.project_id)
			OR NOT EXISTS (SELECT FROM tokens t WHERE t.node_id = e.node_id AND t.revoked_at IS NULL)
			OR (a.account <> '' AND NOT EXISTS (SELECT FROM node_accounts c WHERE c.node_id = e.node_id AND c.account_id = a.account AND c.runtime = a.runtime)))`, nodeID)
	if err != nil {
		return nil, translate(err)
	}
	lost, err := pgx.CollectRows(rows, pgx.RowToStructByName[LostAuthority])
	if err != nil {
		return nil, translate(err)
	}
	return lost, nil
}

// exec runs one statement.
func (s *Store) exec(ctx context.Context, sql string, args ...any) error {
	if _, err := s.pool.Exec(ctx, sql, args...); err != nil {
		return translate(err)
	}
	return nil
}
