// The recorded steps, as the workflow reads them.

package store

import (
	"context"
	"errors"
	"fmt"

	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
)

// Adopted is what a run of the workflow starts from.
type Adopted struct {
	// State is the revision before its history; apply the steps to it.
	State workflow.State  `json:"state"`
	Steps []workflow.Step `json:"steps"`
}

// Adopt hands a revision to a Temporal run: it notes the run and returns the whole history.
func (s *Store) Adopt(ctx context.Context, workflowID, runID string) (Adopted, error) {
	var out Adopted
	err := s.tx(ctx, func(tx pgx.Tx) error {
		r, err := frozen(ctx, tx, workflowID)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE revisions SET run_id = $2, closed_at = NULL WHERE workflow_id = $1`, workflowID, runID); err != nil {
			return err
		}
		out.State = r.state()
		out.Steps, err = steps(ctx, tx, workflowID, 1)
		return err
	})
	return out, err
}

// Steps are the recorded steps whose first entry is n or later.
func (s *Store) Steps(ctx context.Context, workflowID string, n int) ([]workflow.Step, error) {
	out, err := steps(ctx, s.pool, workflowID, n)
	if err != nil {
		return nil, translate(err)
	}
	return out, nil
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func steps(ctx context.Context, q querier, workflowID string, n int) ([]workflow.Step, error) {
	rows, err := q.Query(ctx, `SELECT step FROM history WHERE workflow_id = $1 AND sequence >= $2 AND step IS NOT NULL ORDER BY sequence`, workflowID, n)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanStep)
}

func scanStep(row pgx.CollectableRow) (workflow.Step, error) {
	var (
		data []byte
		step workflow.Step
	)
	if err := row.Scan(&data); err != nil {
		return step, err
	}
	if err := json.Unmarshal(data, &step); err != nil {
		return step, fmt.Errorf("read a recorded step: %w", err)
	}
	return step, nil
}

// recordedStep is the step that a command made, if it made one.
func recordedStep(ctx context.Context, q querier, workflowID, inputHash string) (step workflow.Step, found bool, err error) {
	rows, err := q.Query(ctx, `SELECT step FROM history WHERE workflow_id = $1 AND input_hash = $2 AND step IS NOT NULL`, workflowID, inputHash)
	if err != nil {
		return step, false, err
	}
	step, err = pgx.CollectExactlyOneRow(rows, scanStep)
	if errors.Is(err, pgx.ErrNoRows) {
		return step, false, nil
	}
	return step, err == nil, err
}

// Recorded is the answer that a command got when it made a step; found is false when it never did.
func (s *Store) Recorded(ctx context.Context, workflowID string, c workflow.Command) (step workflow.Step, found bool, err error) {
	step, found, err = recordedStep(ctx, s.pool, workflowID, c.InputHash())
	if err != nil {
		return step, false, translate(err)
	}
	return step, found, nil
}
