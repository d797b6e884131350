// What a step writes.

package store

import (
	"context"
	"fmt"

	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/completion"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

type commandTag = pgconn.CommandTag

// write stores the decision in one round trip. The old execution ends before the next is inserted,
// for both want the node's slot.
func (k *commit) write(ctx context.Context, before workflow.State, d workflow.Decision) error {
	entryHash, err := k.recordArtifact(ctx, d)
	if err != nil {
		return err
	}
	b := &pgx.Batch{}
	if err := k.queueHistory(b, d); err != nil {
		return err
	}
	if d.EventRecorded {
		refusal, err := storedRefusal(d.Payload.Violation)
		if err != nil {
			return err
		}
		b.Queue(`INSERT INTO events (execution_id, sequence, body_sha256, at, refusal) VALUES ($1, $2, $3, $4, $5)`,
			k.command.ExecutionID, k.command.Sequence, k.command.BodySHA256, d.Step.At, refusal)
		b.Queue(`UPDATE executions SET last_event = $2 WHERE id = $1`, k.command.ExecutionID, k.command.Sequence)
	}
	k.queueEnded(b, d)
	k.queueActive(b, before, d)
	if err := k.queueRevision(b, d); err != nil {
		return err
	}
	if err := k.queueJudged(b, d); err != nil {
		return err
	}
	if d.Accepted != nil {
		if err := k.queueAcceptance(b, d, entryHash); err != nil {
			return err
		}
	}
	queueFollowUps(b, k.frozen.TaskID, d.Payload.FollowUps(k.frozen.TaskID))
	if err := k.queueLedger(b, d); err != nil {
		return err
	}
	return k.tx.SendBatch(ctx, b).Close()
}

func (k *commit) queueHistory(b *pgx.Batch, d workflow.Decision) error {
	step, err := json.Marshal(d.Step)
	if err != nil {
		return fmt.Errorf("store the step: %w", err)
	}
	for i, kind := range d.Step.Kinds {
		data, err := canonjson.Marshal(d.Entries[i].Data)
		if err != nil {
			return fmt.Errorf("store the %s entry: %w", kind, err)
		}
		if i == 0 {
			b.Queue(`UPDATE history SET at = $3, kind = $4, attempt_id = nullif($5, ''), data = $6, step = $7
				WHERE workflow_id = $1 AND sequence = $2`, k.workflowID, k.n, d.Step.At, kind, d.Entries[i].AttemptID, data, step)
			continue
		}
		b.Queue(`INSERT INTO history (workflow_id, sequence, at, kind, attempt_id, data) VALUES ($1, $2, $3, $4, nullif($5, ''), $6)`,
			k.workflowID, k.n+i, d.Step.At, kind, d.Entries[i].AttemptID, data)
	}
	return nil
}

func (k *commit) queueEnded(b *pgx.Batch, d workflow.Decision) {
	ended := d.Step.Ended
	if ended == nil {
		return
	}
	var result workflow.AttemptResult
	if d.Result != nil {
		result = *d.Result
	}
	var summary, completed []byte
	if d.Payload.Summary != "" {
		summary = []byte(d.Payload.Summary)
	}
	if d.Payload.Refusal == nil {
		completed = d.Payload.Normalised
	}
	b.Queue(`UPDATE executions SET state = 'ended', phase = $2, outcome = $3, reason = nullif($4, ''), ended_at = $5,
			result_commit = nullif($6, ''), evidence_path = nullif($7, ''), result_summary = $8, completion = $9,
			artifact_hash = nullif($10, '') WHERE id = $1`,
		ended.ExecutionID, ended.Phase, ended.Outcome, ended.Reason, d.Step.At, result.ResultCommit, result.EvidencePath, summary, completed, result.ArtifactHash)
}

// queueActive inserts a new offer or writes what the step changed of the attempt. Expiry is written
// by a claim only; otherwise a renewal that came between would be lost.
func (k *commit) queueActive(b *pgx.Batch, before workflow.State, d workflow.Decision) {
	a := d.Step.Active
	switch {
	case a == nil:
	case before.Active == nil || before.Active.ExecutionID != a.ExecutionID:
		queueOffer(b, k.frozen, a, len(k.executions)+1)
	case d.Step.Has(workflow.EntryClaimed):
		b.Queue(`UPDATE executions SET state = 'live', phase = $2, session_id = $3, claim_id = $4, lease_id = $5, fencing_token = $6,
				activity_id = $7, arming = $8, claimed_at = $9, lease_expires_at = $10, deadline_at = $11 WHERE id = $1`,
			a.ExecutionID, a.Phase, a.SessionID, a.ClaimID, a.LeaseID, a.FencingToken,
			a.ActivityID, a.Arming, a.ClaimedAt, a.LeaseExpiresAt, a.DeadlineAt)
	default:
		b.Queue(`UPDATE executions SET phase = $2, provider_session_id = nullif($3, ''), activity_id = nullif($4, ''), arming = $5,
				dispatch = nullif($6, '') WHERE id = $1`,
			a.ExecutionID, a.Phase, a.ProviderSessionID, a.ActivityID, a.Arming, a.Dispatch)
	}
}

// queueOffer inserts an execution and wakes the polls of its node.
func queueOffer(b *pgx.Batch, r frozenRow, a *workflow.Attempt, ordinal int) {
	b.Queue(`INSERT INTO executions (id, kind, ordinal, workflow_id, task_id, project_id, node_id, purpose, number, state, phase, base_commit, dispatch)
		VALUES ($1, 'workflow', $2, $3, $4, $5, $6, $7, $8, 'offered', 'offered', $9, nullif($10, ''))`,
		a.ExecutionID, ordinal, r.WorkflowID, r.TaskID, r.ProjectID, r.NodeID, a.Purpose, a.Number, a.BaseCommit, a.Dispatch)
	b.Queue(`SELECT pg_notify($1, $2)`, offersChannel, r.NodeID)
}

func (k *commit) queueRevision(b *pgx.Batch, d workflow.Decision) error {
	step := d.Step
	var feedback []byte
	if d.Feedback != nil {
		var err error
		if feedback, err = canonjson.Marshal(d.Feedback); err != nil {
			return fmt.Errorf("store the feedback: %w", err)
		}
	}
	var refusal []byte
	if d.Payload.Refusal != nil {
		refusal = d.Payload.Normalised
	}
	var ended any
	if step.Phase.Final() {
		ended = step.At
	}
	b.Queue(`UPDATE revisions SET phase = $2, reason = nullif($3, ''), candidate_commit = nullif($4, ''), worker_execution_id = nullif($5, ''),
			work_attempts = $6, feedback = coalesce($7, feedback), receipt_id = nullif($8, ''), updated_at = $9, ended_at = $10,
			refusal = coalesce($11, refusal), candidate_hash = nullif($12, '') WHERE workflow_id = $1`,
		k.workflowID, step.Phase, step.Reason, step.CandidateCommit, step.WorkerExecutionID, step.WorkAttempts, feedback,
		step.ReceiptID, step.At, ended, refusal, step.CandidateHash)
	return nil
}

// queueLedger writes what of the step belongs in the task's ledger: a validated payload, and the end
// of the revision.
func (k *commit) queueLedger(b *pgx.Batch, d workflow.Decision) error {
	if p := d.Payload; p.Outcome != "" {
		k.ledger.add(workflow.LedgerEntry{
			At: d.Step.At, Kind: workflow.LedgerPayload, By: k.command.Actor, WorkflowID: k.workflowID,
			Contract: completion.Version, Outcome: p.Outcome, Path: pathOf(p.Violation),
		})
	}
	if d.Step.Phase.Final() {
		k.ledger.add(workflow.LedgerEntry{
			At: d.Step.At, Kind: workflow.LedgerKind(d.Step.Phase), By: k.command.Actor, WorkflowID: k.workflowID, Reason: d.Step.Reason,
		})
	}
	return k.ledger.queue(b, "", nil)
}

// storedRefusal is a recorded refusal as its row keeps it, nil for none.
func storedRefusal(e *contracts.Error) ([]byte, error) {
	if e == nil {
		return nil, nil
	}
	data, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("store the refusal: %w", err)
	}
	return data, nil
}

func pathOf(e *contracts.Error) string {
	if e == nil {
		return ""
	}
	return e.Path
}

func queuePayload(b *pgx.Batch, digest string, body []byte) {
	// The no-op update holds the row against the sweep of unnamed payloads.
	b.Queue(`INSERT INTO payloads (sha256, body) VALUES ($1, $2)
		ON CONFLICT (sha256) DO UPDATE SET created_at = clock_timestamp()`, digest, body)
}
