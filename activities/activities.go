// What a revision's workflow may do to the world.

// Package activities holds the attempt, which is asynchronous, and the steps that PostgreSQL commits.
package activities

import (
	"context"
	"errors"
	"log/slog"

	"countersign/contracts"
	"countersign/contracts/workflow"
	"countersign/store"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// ErrTypeHistoryGap is the type of the error that no repetition can mend: the workflow knows history
// that the database does not have.
const ErrTypeHistoryGap = "history_gap"

// ErrTypeUnknownRevision is the type of the error for a workflow whose revision does not exist.
const ErrTypeUnknownRevision = "unknown_revision"

// NonRetryable are the error types at which the workflow gives up.
var NonRetryable = []string{ErrTypeHistoryGap, ErrTypeUnknownRevision}

// Activities are safe for concurrent use.
type Activities struct {
	Store    *store.Store
	Temporal Temporal
	Log      *slog.Logger
}

// CommitInput is one command to decide at one place of the history.
type CommitInput struct {
	WorkflowID string           `json:"workflow_id"`
	N          int              `json:"n"`
	Command    workflow.Command `json:"command"`
}

// Commit decides and writes one step; when the step ended an attempt it also completes the activity
// that stood for the attempt's lease. It may be repeated at will.
func (a *Activities) Commit(ctx context.Context, in CommitInput) (store.Outcome, error) {
	out, err := a.Store.Commit(ctx, in.WorkflowID, in.N, in.Command)
	if err != nil {
		return out, lasting(err)
	}
	if out.Step != nil {
		a.Temporal.CompleteAttempt(ctx, a.Log, in.WorkflowID, *out.Step)
	}
	return out, nil
}

// AdoptInput names a revision and the run that takes it over.
type AdoptInput struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
}

// Adopt reads a revision's whole history for a run that starts, and notes the run.
func (a *Activities) Adopt(ctx context.Context, in AdoptInput) (store.Adopted, error) {
	out, err := a.Store.Adopt(ctx, in.WorkflowID, in.RunID)
	return out, lasting(err)
}

// StepsInput asks for the steps from a history sequence on.
type StepsInput struct {
	WorkflowID string `json:"workflow_id"`
	From       int    `json:"from"`
}

// Steps reads what was recorded without this run's doing.
func (a *Activities) Steps(ctx context.Context, in StepsInput) ([]workflow.Step, error) {
	out, err := a.Store.Steps(ctx, in.WorkflowID, in.From)
	return out, lasting(err)
}

// AttemptInput is what Temporal's UI shows of an attempt.
type AttemptInput struct {
	ExecutionID  string `json:"execution_id"`
	NodeID       string `json:"node_id"`
	Number       int    `json:"number"`
	FencingToken int64  `json:"fencing_token"`
}

// Work stands for a held lease on a work attempt: renewals are its heartbeats, the deadline is its
// time-out, the terminal event completes it. The work itself happens on the node.
func (a *Activities) Work(context.Context, AttemptInput) (workflow.Ended, error) {
	return workflow.Ended{}, activity.ErrResultPending
}

// Verify is Work for a verification.
func (a *Activities) Verify(context.Context, AttemptInput) (workflow.Ended, error) {
	return workflow.Ended{}, activity.ErrResultPending
}

// lasting marks the errors that no repetition mends.
func lasting(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrHistoryGap):
		return temporal.NewNonRetryableApplicationError(err.Error(), ErrTypeHistoryGap, err)
	case contracts.CodeOf(err) == contracts.CodeNotFound:
		return temporal.NewNonRetryableApplicationError(err.Error(), ErrTypeUnknownRevision, err)
	}
	return err
}
