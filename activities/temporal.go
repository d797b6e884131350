// The Temporal that revisions run in.

package activities

import (
	"context"
	"log/slog"
	"time"

	"countersign/contracts/workflow"

	"go.temporal.io/sdk/client"
)

// Temporal is a client and the namespace it works in, which calls by activity id need by name.
type Temporal struct {
	client.Client
	Namespace string
}

// CompleteAttempt closes the activity of the attempt that a step ended, so that Temporal stops
// watching its lease. That it is gone already is no matter, nor is a failure: then the activity runs
// into its heartbeat time-out, which a settlement finds nothing to do for.
func (t Temporal) CompleteAttempt(ctx context.Context, log *slog.Logger, workflowID string, step workflow.Step) {
	if step.Ended == nil || step.Ended.ActivityID == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	err := t.CompleteActivityByID(ctx, t.Namespace, TemporalID(workflowID), "", step.Ended.ActivityID, step.Ended, nil)
	if err != nil && !isNotFound(err) {
		log.Warn("the attempt's activity was not completed", "workflow", workflowID, "execution", step.Ended.ExecutionID, "error", err)
	}
}
