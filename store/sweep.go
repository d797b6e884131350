// What the sweeper looks for.

package store

import (
	"context"
	"fmt"
	"time"

	"countersign/contracts/workflow"

	"github.com/jackc/pgx/v5"
)

// Lead runs f while this process holds the sweeper's lock, on a connection of its own; it returns at
// once with false when another holds it. ctx of f ends when the connection is lost.
func (s *Store) Lead(ctx context.Context, f func(context.Context)) (led bool, err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return false, translate(err)
	}
	raw := conn.Hijack()
	defer raw.Close(context.WithoutCancel(ctx))
	if err := raw.QueryRow(ctx, `SELECT pg_try_advisory_lock(hashtext('countersign sweeper'))`).Scan(&led); err != nil {
		return false, translate(err)
	}
	if !led {
		return false, nil
	}
	inner, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer cancel()
		f(inner)
	}()
	// Nothing is ever notified here; waiting tells when the connection breaks, and the lock with it.
	_, err = raw.WaitForNotification(inner)
	cancel()
	<-done
	if ctx.Err() != nil {
		return true, nil
	}
	return true, fmt.Errorf("the sweeper's connection: %w", err)
}

// ExpiredExecution is a live execution whose lease is over and that nobody has settled.
type ExpiredExecution struct {
	WorkflowID  string
	ExecutionID string
	ActivityID  string
}

// ExpiredExecutions are the live executions at least grace past their expiry, oldest first.
func (s *Store) ExpiredExecutions(ctx context.Context, grace time.Duration, limit int) ([]ExpiredExecution, error) {
	rows, err := s.pool.Query(ctx, `SELECT workflow_id, id AS execution_id, activity_id FROM executions
		WHERE state = 'live' AND kind = 'workflow' AND lease_expires_at <= clock_timestamp() - make_interval(secs => $1)
		ORDER BY lease_expires_at LIMIT $2`, grace.Seconds(), limit)
	if err != nil {
		return nil, translate(err)
	}
	expired, err := pgx.CollectRows(rows, pgx.RowToStructByName[ExpiredExecution])
	if err != nil {
		return nil, translate(err)
	}
	return expired, nil
}

// OpenRevision is a revision whose Temporal workflow has to be looked at.
type OpenRevision struct {
	WorkflowID string
	Phase      workflow.Phase
}

// FinalButOpen are revisions that have been final for a while and whose workflow was not seen closed.
func (s *Store) FinalButOpen(ctx context.Context, after time.Duration, limit int) ([]OpenRevision, error) {
	return s.toCheck(ctx, `ended_at IS NOT NULL AND ended_at < clock_timestamp() - make_interval(secs => $1) AND checked_at < clock_timestamp() - make_interval(secs => $1)`,
		after, limit)
}

// ActiveToCheck are active revisions, started longer than after ago, that Temporal was not asked
// about for as long.
func (s *Store) ActiveToCheck(ctx context.Context, after time.Duration, limit int) ([]OpenRevision, error) {
	return s.toCheck(ctx, `ended_at IS NULL AND checked_at < clock_timestamp() - make_interval(secs => $1)
		AND EXISTS (SELECT FROM outbox o WHERE o.workflow_id = r.workflow_id AND o.kind = 'start' AND o.sent_at < clock_timestamp() - make_interval(secs => $1))`,
		after, limit)
}

func (s *Store) toCheck(ctx context.Context, where string, after time.Duration, limit int) ([]OpenRevision, error) {
	rows, err := s.pool.Query(ctx, `UPDATE revisions SET checked_at = clock_timestamp()
		WHERE workflow_id IN (SELECT r.workflow_id FROM revisions r WHERE r.closed_at IS NULL AND `+where+` ORDER BY r.checked_at LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED)
		RETURNING workflow_id, phase`, after.Seconds(), limit)
	if err != nil {
		return nil, translate(err)
	}
	open, err := pgx.CollectRows(rows, pgx.RowToStructByName[OpenRevision])
	if err != nil {
		return nil, translate(err)
	}
	return open, nil
}

// WorkflowClosed notes that a final revision's workflow was seen closed.
func (s *Store) WorkflowClosed(ctx context.Context, workflowID string) error {
	return s.exec(ctx, `UPDATE revisions SET closed_at = clock_timestamp() WHERE workflow_id = $1 AND ended_at IS NOT NULL`, workflowID)
}

// SweepPayloads deletes bodies that were staged for calls which then left no trace.
func (s *Store) SweepPayloads(ctx context.Context, olderThan time.Duration, limit int) error {
	return s.exec(ctx, `DELETE FROM payloads WHERE sha256 IN (SELECT p.sha256 FROM payloads p
		WHERE p.created_at < clock_timestamp() - make_interval(secs => $1)
			AND NOT EXISTS (SELECT FROM events e WHERE e.body_sha256 = p.sha256)
			AND NOT EXISTS (SELECT FROM receipts c WHERE c.verdict_sha256 = p.sha256)
			AND NOT EXISTS (SELECT FROM dispatch_decisions d WHERE d.input_sha256 = p.sha256)
			AND NOT EXISTS (SELECT FROM dispatch_decisions d WHERE d.record_sha256 = p.sha256)
		LIMIT $2 FOR UPDATE SKIP LOCKED)`, olderThan.Seconds(), limit)
}
