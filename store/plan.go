// The plan of an attempt, built from the frozen contract and the rows.

package store

import (
	"context"
	"fmt"
	"time"

	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
)

func readPlan(ctx context.Context, tx pgx.Tx, executionID string) (workflow.Plan, time.Duration, error) {
	var (
		e        executionRow
		r        frozenRow
		current  currentRow
		contract []byte
		c        workflow.Contract
	)
	b := &pgx.Batch{}
	b.Queue(`SELECT `+executionColumns+` FROM executions WHERE id = $1`, executionID).Query(func(rows pgx.Rows) (err error) {
		e, err = one[executionRow](rows, nil, notFound("execution"))
		return err
	})
	const own = ` FROM revisions WHERE workflow_id = (SELECT workflow_id FROM executions WHERE id = $1)`
	b.Queue(`SELECT `+frozenColumns+own, executionID).Query(func(rows pgx.Rows) (err error) {
		r, err = one[frozenRow](rows, nil, notFound("revision"))
		return err
	})
	b.Queue(`SELECT `+currentColumns+own, executionID).Query(func(rows pgx.Rows) (err error) {
		current, err = one[currentRow](rows, nil, notFound("revision"))
		return err
	})
	b.Queue(`SELECT contract`+own, executionID).QueryRow(func(row pgx.Row) error { return row.Scan(&contract) })
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return workflow.Plan{}, 0, err
	}
	if err := json.Unmarshal(contract, &c); err != nil {
		return workflow.Plan{}, 0, fmt.Errorf("read the contract: %w", err)
	}
	plan := workflow.Plan{
		ExecutionID: e.ID, SessionID: e.SessionID, TaskID: e.TaskID, Goal: c.Task.Goal, Repository: c.Task.Repository,
		Workspace: c.Workspace, Branch: c.Branch, BaseCommit: e.BaseCommit, Prompt: c.Prompt, Profile: c.ProfileFor(e.Purpose),
		ArtifactSpec: c.Task.ArtifactSpec,
		Workflow: workflow.PlanWorkflow{
			WorkflowID: r.WorkflowID, Revision: r.Number, Purpose: e.Purpose, Number: e.Number, ContractDigest: r.ContractDigest,
			Criteria: c.Criteria, DocumentRefs: c.DocumentRefs, FrozenBaseCommit: c.BaseCommit,
			Feedback: []workflow.CriterionFeedback{},
		},
	}
	plan.WorkerDispatch = c.WorkerDispatch.Plan(e.Purpose)
	if e.Purpose == workflow.PurposeVerify || e.Number > 1 {
		plan.Workflow.CandidateCommit = optional(current.CandidateCommit)
		plan.Workflow.CandidateHash = optional(current.CandidateHash)
		plan.Workflow.WorkerExecutionID = optional(current.WorkerExecutionID)
	}
	// A verifier judges afresh; only a correction is told what the last verdict found.
	if e.Purpose == workflow.PurposeWork {
		if err := json.Unmarshal(current.Feedback, &plan.Workflow.Feedback); err != nil {
			return workflow.Plan{}, 0, fmt.Errorf("read the feedback: %w", err)
		}
	}
	return plan, r.Lease, nil
}

// optional is nil for the empty text that stands for NULL.
func optional[T ~string](s T) *T {
	if s == "" {
		return nil
	}
	return &s
}
