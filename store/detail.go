// A revision as readers see it.

package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/jackc/pgx/v5"
)

// Detail is the revision of that id, with up to limit history entries after the given sequence, for a
// user who is in its project or a node that works for it. Reading changes nothing.
func (s *Store) Detail(ctx context.Context, who Identity, workflowID string, after, limit int) (workflow.Detail, error) {
	var d workflow.Detail
	err := s.read(ctx, func(tx pgx.Tx) error {
		var err error
		d, err = readDetail(ctx, tx, who, workflowID, after, limit)
		return err
	})
	return d, err
}

// TaskDetail is the Detail of a task's current revision.
func (s *Store) TaskDetail(ctx context.Context, who Identity, taskID string, after, limit int) (workflow.Detail, error) {
	var d workflow.Detail
	err := s.read(ctx, func(tx pgx.Tx) error {
		var id string
		err := tx.QueryRow(ctx, `SELECT workflow_id FROM revisions WHERE task_id = $1 ORDER BY number DESC LIMIT 1`, taskID).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return notYet(ctx, tx, who.User, taskID, "the task has no revision yet", "revision")
		}
		if err != nil {
			return err
		}
		d, err = readDetail(ctx, tx, who, id, after, limit)
		return err
	})
	return d, err
}

// read runs f in one read-only transaction with one snapshot.
func (s *Store) read(ctx context.Context, f func(pgx.Tx) error) error {
	err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, f)
	if err != nil {
		return translate(err)
	}
	return nil
}

func readDetail(ctx context.Context, tx pgx.Tx, who Identity, workflowID string, after, limit int) (workflow.Detail, error) {
	var (
		d          workflow.Detail
		r          frozenRow
		current    currentRow
		contract   []byte
		runID      *string
		executions []executionRow
		uploads    = map[string]*workflow.Upload{}
		attached   = map[string][]string{}
		now        time.Time
		visible    bool
		records    []workflow.DispatchRecord
		summary    summaryRow
	)
	b := &pgx.Batch{}
	b.Queue(`SELECT `+frozenColumns+` FROM revisions WHERE workflow_id = $1`, workflowID).Query(func(rows pgx.Rows) (err error) {
		r, err = one[frozenRow](rows, nil, notFound("revision"))
		return err
	})
	b.Queue(`SELECT EXISTS (SELECT FROM revisions r JOIN members m ON m.project_id = r.project_id AND m.user_name = $2 AND m.status = 'active' WHERE r.workflow_id = $1)
		OR EXISTS (SELECT FROM revisions r JOIN node_projects p ON p.project_id = r.project_id AND p.node_id = $3 WHERE r.workflow_id = $1)`,
		workflowID, who.User, who.NodeID).QueryRow(func(row pgx.Row) error { return row.Scan(&visible) })
	b.Queue(`SELECT `+currentColumns+` FROM revisions WHERE workflow_id = $1`, workflowID).Query(func(rows pgx.Rows) (err error) {
		current, err = one[currentRow](rows, nil, notFound("revision"))
		return err
	})
	b.Queue(`SELECT contract, run_id, refusal, clock_timestamp() FROM revisions WHERE workflow_id = $1`, workflowID).
		QueryRow(func(row pgx.Row) error { return row.Scan(&contract, &runID, (*[]byte)(&d.Refusal), &now) })
	b.Queue(`SELECT `+executionColumns+` FROM executions WHERE workflow_id = $1 ORDER BY ordinal`, workflowID).Query(func(rows pgx.Rows) (err error) {
		executions, err = pgx.CollectRows(rows, pgx.RowToStructByName[executionRow])
		return err
	})
	b.Queue(`SELECT sequence, at, kind, attempt_id, data FROM history WHERE workflow_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3`, workflowID, after, limit).
		Query(func(rows pgx.Rows) (err error) {
			d.History, err = pgx.CollectRows(rows, scanEntry)
			return err
		})
	b.Queue(latestRecords, workflowID).Query(func(rows pgx.Rows) (err error) {
		records, err = pgx.CollectRows(rows, scanRecord)
		return err
	})
	b.Queue(`SELECT `+dispatchColumns+` FROM revisions r`+joinDispatch+` WHERE r.workflow_id = $1`, workflowID).
		QueryRow(func(row pgx.Row) error { return row.Scan(summary.targets()...) })
	b.Queue(`SELECT u.execution_id, u.upload FROM uploads u JOIN executions e ON e.id = u.execution_id WHERE e.workflow_id = $1`, workflowID).Query(func(rows pgx.Rows) error {
		var (
			id   string
			data []byte
		)
		_, err := pgx.ForEachRow(rows, []any{&id, &data}, func() (err error) {
			uploads[id], err = scanUpload(data)
			return err
		})
		return err
	})
	b.Queue(`SELECT l.recorded_by, l.content_hash FROM lineage l JOIN executions e ON e.id = l.recorded_by WHERE e.workflow_id = $1 AND l.attachment
		ORDER BY l.position`, workflowID).Query(func(rows pgx.Rows) error {
		var id, hash string
		_, err := pgx.ForEachRow(rows, []any{&id, &hash}, func() error {
			attached[id] = append(attached[id], hash)
			return nil
		})
		return err
	})
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return d, err
	}
	if !visible {
		return d, notFound("revision")
	}
	d.WorkflowID, d.TaskID, d.Revision, d.ContractDigest = r.WorkflowID, r.TaskID, r.Number, r.ContractDigest
	d.Contract, d.Phase, d.CandidateCommit = jsontext.Value(contract), current.Phase, optional(current.CandidateCommit)
	d.CandidateHash = optional(current.CandidateHash)
	d.Reason, d.ReceiptID = optional(workflow.Reason(current.Reason)), optional(current.ReceiptID)
	d.Feedback = []workflow.CriterionFeedback{}
	if err := json.Unmarshal(current.Feedback, &d.Feedback); err != nil {
		return d, fmt.Errorf("read the feedback: %w", err)
	}
	d.WorkerDispatch = summary.summary()
	for _, e := range executions {
		view := e.view(now)
		if i := slices.IndexFunc(records, func(r workflow.DispatchRecord) bool { return r.ExecutionID == e.ID }); i >= 0 {
			view.WorkerDispatch = &records[i]
		}
		view.Artifact, view.Attachments = uploads[e.ID], attached[e.ID]
		d.Attempts = append(d.Attempts, view)
		if e.State != "ended" {
			d.ActiveAttempt = &d.Attempts[len(d.Attempts)-1]
		}
	}
	if d.NextAfter = after; len(d.History) > 0 {
		d.NextAfter = d.History[len(d.History)-1].Sequence
	}
	d.Temporal.RunID = runID
	return d, nil
}

func scanEntry(row pgx.CollectableRow) (h workflow.HistoryEntry, err error) {
	err = row.Scan(&h.Sequence, &h.At, &h.Kind, &h.AttemptID, (*[]byte)(&h.Data))
	return h, err
}

// view is the row as readers see it at now.
func (r executionRow) view(now time.Time) workflow.AttemptView {
	return workflow.AttemptView{
		ExecutionID: r.ID, Purpose: r.Purpose, Number: r.Number, Phase: r.Phase, NodeID: r.NodeID,
		SessionID: optional(r.SessionID), ProviderSessionID: optional(r.ProviderSessionID), BaseCommit: r.BaseCommit,
		ResultCommit: optional(r.ResultCommit), EvidencePath: optional(r.EvidencePath),
		ClaimedAt: r.ClaimedAt, LeaseExpiresAt: r.LeaseExpiresAt, DeadlineAt: r.DeadlineAt,
		LeaseExpired: r.attempt().Expired(now), EndedAt: r.EndedAt,
		Outcome: optional(workflow.Outcome(r.Outcome)), Reason: optional(workflow.Reason(r.Reason)), NodeStoppedAt: r.NodeStoppedAt,
	}
}

// TaskReceipt is the acceptance receipt of a task, for a user who is in its project.
func (s *Store) TaskReceipt(ctx context.Context, who Identity, taskID string) (workflow.Receipt, error) {
	var r workflow.Receipt
	err := s.pool.QueryRow(ctx, `SELECT c.receipt_id, c.task_id, c.workflow_id, c.contract_digest, c.candidate_commit, c.candidate_hash, c.entry_hash, c.accepted_at, c.envelope
		FROM receipts c JOIN tasks t ON t.id = c.task_id JOIN members m ON m.project_id = t.project_id
		WHERE c.task_id = $1 AND m.user_name = $2 AND m.status = 'active'`, taskID, who.User).
		Scan(&r.ReceiptID, &r.TaskID, &r.WorkflowID, &r.ContractDigest, &r.CandidateCommit, &r.CandidateHash, &r.EntryHash, &r.AcceptedAt, (*[]byte)(&r.Envelope))
	if errors.Is(err, pgx.ErrNoRows) {
		err = notYet(ctx, s.pool, who.User, taskID, "the task is not accepted, so it has no receipt", "receipt")
	}
	if err != nil {
		return r, translate(err)
	}
	return r, nil
}

// notYet is the not_found of what a task does not have yet. Whoever may not see the task hears the one
// answer for unknown and foreign ids.
func notYet(ctx context.Context, q querier, user, taskID, why, thing string) error {
	if _, err := readTask(ctx, q, user, taskID); err != nil {
		return hiddenAs(err, thing)
	}
	return contracts.Refuse(contracts.CodeNotFound, "%s", why)
}
