// An execution as the bridge routes ask for it, before and around its steps.

package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
)

// MaxUpdates is how many updates one execution may cost Temporal, whose run has room for 2,000.
const MaxUpdates = 200

// Execution is one attempt with what a call of its node is checked against.
type Execution struct {
	Attempt    workflow.Attempt
	WorkflowID string
	TaskID     string
	ProjectID  string
	// Now is the database's clock at the read.
	Now time.Time
	// Authority says why the node may not act now, nil when it may. Whether it is paused does not
	// count here: only claims mind.
	Authority *contracts.Error
	// Paused says that the node takes no work.
	Paused bool
	// Updates is how many updates Temporal has answered for it.
	Updates int
	// ArtifactKind is the kind that the frozen task declares, "" for a commit.
	ArtifactKind string
}

// ownedRow is an execution and what its node's authority rests on.
type ownedRow struct {
	executionRow
	NodeStatus workflow.NodeStatus
	ForProject bool // the node may work for the project
	ForAccount bool // the node has the account of the attempt's profile, or none is needed
	Now        time.Time
	Produces   string
}

// NodeExecution is the node's own execution of that id; another node's is as unknown as none. It is one
// read without locks: what is decided on it is asked again in the deciding transaction.
func (s *Store) NodeExecution(ctx context.Context, nodeID, executionID string) (Execution, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+executionColumns+`,
			(SELECT n.status FROM nodes n WHERE n.id = executions.node_id) AS node_status,
			EXISTS (SELECT FROM node_projects p WHERE p.node_id = executions.node_id AND p.project_id = executions.project_id) AS for_project,
			EXISTS (SELECT FROM revisions r WHERE r.workflow_id = executions.workflow_id
				AND (CASE executions.purpose WHEN 'verify' THEN r.verifier_account ELSE r.worker_account END = ''
				OR EXISTS (SELECT FROM node_accounts a WHERE a.node_id = executions.node_id
					AND a.account_id = CASE executions.purpose WHEN 'verify' THEN r.verifier_account ELSE r.worker_account END
					AND a.runtime = CASE executions.purpose WHEN 'verify' THEN r.verifier_runtime ELSE r.worker_runtime END))) AS for_account,
			(SELECT r.artifact_kind FROM revisions r WHERE r.workflow_id = executions.workflow_id) AS produces,
			clock_timestamp() AS now
		FROM executions WHERE id = $1 AND node_id = $2 AND kind = 'workflow'`, executionID, nodeID)
	row, err := one[ownedRow](rows, err, notFound("execution"))
	if err != nil {
		return Execution{}, translate(err)
	}
	return Execution{
		Attempt: *row.attempt(), WorkflowID: row.WorkflowID, TaskID: row.TaskID, ProjectID: row.ProjectID, Now: row.Now,
		Paused: row.NodeStatus == workflow.NodePaused, Updates: row.Updates, ArtifactKind: row.Produces,
		Authority: lostAuthority(row.NodeStatus, row.ForProject, row.ForAccount),
	}, nil
}

// lockExecution locks one execution, and reads the clock after it.
func lockExecution(ctx context.Context, tx pgx.Tx, executionID string) (row executionRow, now time.Time, err error) {
	rows, err := tx.Query(ctx, `SELECT `+executionColumns+` FROM executions WHERE id = $1 FOR NO KEY UPDATE`, executionID)
	if row, err = one[executionRow](rows, err, notFound("execution")); err != nil {
		return row, now, err
	}
	now, err = clock(ctx, tx)
	return row, now, err
}

// StageEvent keeps an event's body under its digest for the step that will name it.
func (s *Store) StageEvent(ctx context.Context, digest string, body []byte) error {
	return s.tx(ctx, func(tx pgx.Tx) error {
		b := &pgx.Batch{}
		queuePayload(b, digest, body)
		return tx.SendBatch(ctx, b).Close()
	})
}

// EventRefusal is the recorded refusal of an event whose payload violated its contract, as the error
// it was answered with.
func (s *Store) EventRefusal(ctx context.Context, executionID string, sequence int) error {
	var data []byte
	err := s.pool.QueryRow(ctx, `SELECT refusal FROM events WHERE execution_id = $1 AND sequence = $2 AND refusal IS NOT NULL`, executionID, sequence).Scan(&data)
	if err != nil {
		return translate(err)
	}
	refusal := new(contracts.Error)
	if err := json.Unmarshal(data, refusal); err != nil {
		return fmt.Errorf("read the recorded refusal: %w", err)
	}
	return refusal
}

// CountUpdate counts an update that Temporal's run of the execution's revision has answered.
func (s *Store) CountUpdate(ctx context.Context, executionID string) error {
	return s.exec(ctx, `UPDATE executions SET updates = updates + 1 WHERE id = $1`, executionID)
}

// Renewal is a renewed lease, by the database's clock.
type Renewal struct {
	LeaseExpiresAt time.Time
	DeadlineAt     time.Time
	Now            time.Time
}

// Renew moves the lease of a live execution to now plus the frozen lease, never past the deadline, if
// it is not over yet. ok is false when nothing was renewed: the caller reads again and says why.
func (s *Store) Renew(ctx context.Context, executionID string, held workflow.Fence) (r Renewal, ok bool, err error) {
	err = s.pool.QueryRow(ctx, `WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now)
		UPDATE executions e SET lease_expires_at = least(c.now + make_interval(secs => r.lease / 1e9), e.deadline_at)
		FROM revisions r, clock c
		WHERE e.id = $1 AND r.workflow_id = e.workflow_id AND e.state = 'live' AND e.lease_id = $2 AND e.fencing_token = $3
			AND e.lease_expires_at > clock_timestamp()
		RETURNING e.lease_expires_at, e.deadline_at, c.now`, executionID, held.LeaseID, held.FencingToken).
		Scan(&r.LeaseExpiresAt, &r.DeadlineAt, &r.Now)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return r, false, nil
	case err != nil:
		return r, false, translate(err)
	}
	return r, true, nil
}

// MarkStopped notes the node's word that the attempt's process tree is gone; the first word counts.
func (s *Store) MarkStopped(ctx context.Context, executionID string) (time.Time, error) {
	var at time.Time
	err := s.pool.QueryRow(ctx, `UPDATE executions SET node_stopped_at = coalesce(node_stopped_at, clock_timestamp())
		WHERE id = $1 AND state = 'ended' RETURNING node_stopped_at`, executionID).Scan(&at)
	if errors.Is(err, pgx.ErrNoRows) {
		return at, contracts.Refuse(contracts.CodeStateConflict, "the attempt has not ended")
	}
	if err != nil {
		return at, translate(err)
	}
	return at, nil
}

// Plan is the plan of a claimed execution and the frozen lease.
func (s *Store) Plan(ctx context.Context, executionID string) (plan workflow.Plan, lease time.Duration, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		plan, lease, err = readPlan(ctx, tx, executionID)
		return err
	})
	return plan, lease, err
}
