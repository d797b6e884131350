// The one way to a revision's workflow, for the API and the worker's loops.

package workflows

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"countersign/activities"
	"countersign/contracts"
	contract "countersign/contracts/workflow"
	"countersign/store"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// CallLimit is how long a call may wait for a revision's workflow; then it is unavailable, and may
// have taken effect.
const CallLimit = 8 * time.Second

// Gateway starts revisions and sends them commands. It is safe for concurrent use.
type Gateway struct {
	Temporal  activities.Temporal
	Store     *store.Store
	TaskQueue string
	Log       *slog.Logger
}

var (
	// ErrClosed says that the revision's workflow has ended, in whatever way.
	ErrClosed = errors.New("the revision's workflow is closed")
	// ErrExhausted says that the run takes no more updates, not even a cancel.
	ErrExhausted = errors.New("the revision's workflow takes no more updates")
)

// Start starts a revision's workflow; it is no error when it was started before, running or closed.
func (g *Gateway) Start(ctx context.Context, s store.Start) error {
	_, err := g.Temporal.ExecuteWorkflow(ctx, g.startOptions(s), TypeRevision, Input{WorkflowID: s.WorkflowID})
	if _, started := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); started {
		return nil
	}
	if err != nil {
		return unavailable(err)
	}
	return nil
}

func (g *Gateway) startOptions(s store.Start) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID:                       activities.TemporalID(s.WorkflowID),
		TaskQueue:                g.TaskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		// A task that was lost with its worker comes back after this, not after the default 10 s.
		WorkflowTaskTimeout: 3 * time.Second,
		StaticSummary:       cut(s.Title, 200),
		TypedSearchAttributes: temporal.NewSearchAttributes(
			keyPhase.ValueSet(string(contract.PhaseOffered)), keyTaskID.ValueSet(s.TaskID),
			keyProjectID.ValueSet(s.ProjectID), keyNodeID.ValueSet(s.NodeID),
		),
	}
}

// cut shortens s to at most n bytes without breaking a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

// Do sends a command and waits for what became of it, starting the workflow first if that was lost.
// Errors: ErrClosed, ErrExhausted, a refusal of code unavailable after CallLimit.
func (g *Gateway) Do(ctx context.Context, workflowID string, c contract.Command) (store.Outcome, error) {
	return g.update(ctx, workflowID, updateOf(c.Kind), c)
}

// CatchUp makes the workflow read what was recorded without it; see UpdateCatchUp.
func (g *Gateway) CatchUp(ctx context.Context, workflowID string) error {
	_, err := g.update(ctx, workflowID, UpdateCatchUp)
	return err
}

// commitAfter is how long what must not fail for Temporal's sake waits for it; a call has time left
// then to commit without it.
const commitAfter = 4 * time.Second

// DoOrCommit is Do for what must not fail for Temporal's sake: when the run takes no more updates or
// is closed, or Temporal stays away, the command is committed without it and the workflow is told
// later.
func (g *Gateway) DoOrCommit(ctx context.Context, workflowID string, c contract.Command) (store.Outcome, error) {
	limited, cancel := context.WithTimeout(ctx, commitAfter)
	defer cancel()
	out, err := g.Do(limited, workflowID, c)
	if err == nil || ctx.Err() != nil || contracts.CodeOf(err) == contracts.CodeNotFound {
		return out, err
	}
	g.Log.Warn("committing without the workflow", "workflow", workflowID, "command", c.Kind, "error", err)
	out, err = g.Store.CommitNext(ctx, workflowID, c)
	if err == nil && out.Step != nil {
		g.Temporal.CompleteAttempt(ctx, g.Log, workflowID, *out.Step)
	}
	return out, err
}

func (g *Gateway) update(ctx context.Context, workflowID, name string, args ...any) (store.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, CallLimit)
	defer cancel()
	start, err := g.Store.StartOf(ctx, workflowID)
	if err != nil {
		return store.Outcome{}, err
	}
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		out, err := g.updateOnce(ctx, start, name, args)
		if err == nil || !passing(err) {
			return out, classify(err)
		}
		select {
		case <-ctx.Done():
			return out, unavailable(err)
		case <-time.After(wait):
		}
	}
}

// updateOnce is one try; its update id is its own, for replay is PostgreSQL's to decide.
func (g *Gateway) updateOnce(ctx context.Context, s store.Start, name string, args []any) (store.Outcome, error) {
	var out store.Outcome
	operation := g.Temporal.NewWithStartWorkflowOperation(g.startOptions(s), TypeRevision, Input{WorkflowID: s.WorkflowID})
	handle, err := g.Temporal.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: operation,
		UpdateOptions: client.UpdateWorkflowOptions{
			UpdateID: uuid.NewString(), UpdateName: name, Args: args, WaitForStage: client.WorkflowUpdateStageCompleted,
		},
	})
	if err != nil {
		return out, err
	}
	return out, handle.Get(ctx, &out)
}

// passing reports whether the same call may go through in a moment.
func passing(err error) bool {
	if _, ok := errors.AsType[*serviceerror.ResourceExhausted](err); ok {
		return true
	}
	_, ok := errors.AsType[*serviceerror.WorkflowNotReady](err)
	return ok
}

func classify(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); ok {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	if _, ok := errors.AsType[*serviceerror.FailedPrecondition](err); ok {
		return fmt.Errorf("%w: %w", ErrExhausted, err)
	}
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok && app.Type() == "AcceptedUpdateCompletedWorkflow" {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return unavailable(err)
}

// unavailable keeps the cause for the log and says only that the call may be repeated.
func unavailable(err error) error {
	if contracts.CodeOf(err) != "" {
		return err
	}
	return fmt.Errorf("%w: %w", contracts.Refuse(contracts.CodeUnavailable, "the orchestration is not available; repeat the same call"), err)
}

// Heartbeat tells Temporal that an attempt's lease was renewed. ErrClosed means that no such activity
// runs: not started yet, timed out, completed, or its workflow closed; Temporal does not tell which.
func (g *Gateway) Heartbeat(ctx context.Context, workflowID, activityID string) error {
	ctx, cancel := context.WithTimeout(ctx, CallLimit)
	defer cancel()
	err := g.Temporal.RecordActivityHeartbeatByID(ctx, g.Temporal.Namespace, activities.TemporalID(workflowID), "", activityID)
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	if _, ok := errors.AsType[*temporal.CanceledError](err); ok {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return unavailable(err)
}

// liveLimit is how long a query may wait for a worker.
const liveLimit = 5 * time.Second

// Live asks the workflow itself. Errors: not_running when Temporal no longer keeps it, unavailable
// when no worker answered in time.
func (g *Gateway) Live(ctx context.Context, workflowID string) (contract.Live, error) {
	ctx, cancel := context.WithTimeout(ctx, liveLimit)
	defer cancel()
	var out contract.Live
	value, err := g.Temporal.QueryWorkflow(ctx, activities.TemporalID(workflowID), "", QueryLive)
	if err == nil {
		err = value.Get(&out)
	}
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return out, contracts.Refuse(contracts.CodeNotRunning, "Temporal does not run or keep this revision's workflow")
	}
	if err != nil {
		return out, unavailable(err)
	}
	return out, nil
}

// Closed reports whether Temporal says that the revision's workflow has ended or does not exist.
// An error means that it could not be asked.
func (g *Gateway) Closed(ctx context.Context, workflowID string) (bool, error) {
	d, err := g.Temporal.DescribeWorkflow(ctx, activities.TemporalID(workflowID), "")
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return true, nil
	}
	if err != nil {
		return false, unavailable(err)
	}
	return d.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}

// Healthy reports whether Temporal answers.
func (g *Gateway) Healthy(ctx context.Context) error {
	if _, err := g.Temporal.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return unavailable(err)
	}
	return nil
}

// WorkerPolls reports whether some worker polled for revisions in the last minute.
func (g *Gateway) WorkerPolls(ctx context.Context) error {
	d, err := g.Temporal.DescribeTaskQueue(ctx, g.TaskQueue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return unavailable(err)
	}
	for _, p := range d.GetPollers() {
		if time.Since(p.GetLastAccessTime().AsTime()) < time.Minute {
			return nil
		}
	}
	return errors.New("no worker polls the task queue " + g.TaskQueue)
}
