// The completion of a task that has no revision.

package store

import (
	"context"
	"errors"

	"countersign/contracts"
	"countersign/contracts/completion"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
)

// Completed is what a completion call came to: the task as it is now, or the violation that ended it.
type Completed struct {
	Task      workflow.Task
	Violation *contracts.Error
}

// CompleteTask ends an open task by a payload or summary: done, refused, or failed for a violation of
// worker-completion/v1, together with its follow-ups and ledger entry in one transaction. The same
// call again, by the digest of its body, gets the same answer. Anything else on a final task is
// already_terminal and changes nothing.
func (s *Store) CompleteTask(ctx context.Context, user, taskID string, req workflow.CompleteTask, requestSHA256 string) (Completed, error) {
	var out Completed
	payload := req.JudgePayload()
	err := s.tx(ctx, func(tx pgx.Tx) error {
		out = Completed{}
		now, err := lockTask(ctx, tx, user, taskID)
		if err != nil {
			return err
		}
		if err := checkWriteContext(ctx, tx, &req.WriteContext, &now.projectID); err != nil {
			return err
		}
		replayed, err := replayedCompletion(ctx, tx, taskID, requestSHA256, &out)
		if err != nil {
			return err
		}
		if !replayed {
			if err := now.completable(req.ExpectedVersion); err != nil {
				return err
			}
			out.Violation = payload.Violation
			if err := completeTask(ctx, tx, user, taskID, payload, requestSHA256); err != nil {
				return err
			}
		}
		out.Task, err = readTask(ctx, tx, user, taskID)
		return err
	})
	return out, err
}

// replayedCompletion finds the answer that the same call got before.
func replayedCompletion(ctx context.Context, tx pgx.Tx, taskID, request string, out *Completed) (bool, error) {
	var refusal []byte
	err := tx.QueryRow(ctx, `SELECT refusal FROM ledger WHERE task_id = $1 AND request_sha256 = $2`, taskID, request).Scan(&refusal)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil || refusal == nil {
		return err == nil, err
	}
	out.Violation = new(contracts.Error)
	return true, json.Unmarshal(refusal, out.Violation)
}

// completable says why a locked task cannot be completed by a call.
func (t lockedTask) completable(expectedVersion int) error {
	switch {
	case t.status != workflow.TaskOpen:
		return contracts.Refuse(contracts.CodeAlreadyTerminal, "the task is %s, which is final", t.status)
	case t.phase != nil:
		return contracts.Refuse(contracts.CodeManagedByWorkflow, "the task has a revision, whose verdict completes it")
	case t.artifactKind != "" && t.artifactKind != "code_diff":
		return contracts.Refuse(contracts.CodeArtifactMode, "%s requires artifact-mode evaluation", t.artifactKind)
	case t.version != expectedVersion:
		return contracts.Refuse(contracts.CodeVersionConflict, "the task has version %d", t.version)
	}
	return nil
}

func completeTask(ctx context.Context, tx pgx.Tx, user, taskID string, p workflow.Payload, request string) error {
	ledger := chain{taskID: taskID}
	e := workflow.LedgerEntry{Kind: workflow.LedgerPayload, By: user, Contract: completion.Version, Outcome: p.Outcome, Path: pathOf(p.Violation)}
	var conflict bool
	b := &pgx.Batch{}
	b.Queue(`SELECT ledger_entries, ledger_head, clock_timestamp() FROM tasks WHERE id = $1`, taskID).
		QueryRow(func(row pgx.Row) error { return row.Scan(&ledger.entries, &ledger.head, &e.At) })
	queueFollowUpConflict(b, taskID, p.FollowUps(taskID), &conflict)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	if conflict {
		return contracts.Refuse(contracts.CodeFollowUpConflict, "a task with a follow-up's id exists and came from other input")
	}
	status, reason := terminalStatus(p)
	var refusal, summary []byte
	if p.Refusal != nil {
		refusal = p.Normalised
	} else if p.Violation == nil {
		summary = []byte(p.Summary)
	}
	answer, err := storedRefusal(p.Violation)
	if err != nil {
		return err
	}
	b = &pgx.Batch{}
	b.Queue(`UPDATE tasks SET status = $2, terminal_reason = nullif($3, ''), refusal = $4, result_summary = $5, version = version + 1, updated_at = $6
		WHERE id = $1`, taskID, status, reason, refusal, summary, e.At)
	queueFollowUps(b, taskID, p.FollowUps(taskID))
	ledger.add(e)
	if err := ledger.queue(b, request, answer); err != nil {
		return err
	}
	return tx.SendBatch(ctx, b).Close()
}

// terminalStatus is how a task ends by a payload.
func terminalStatus(p workflow.Payload) (workflow.TaskStatus, string) {
	switch {
	case p.Violation != nil:
		return workflow.TaskFailed, string(workflow.ReasonContractViolation)
	case p.Refusal != nil:
		return workflow.TaskRefused, completion.BlockedReason(p.Refusal.Kind)
	}
	return workflow.TaskDone, ""
}
