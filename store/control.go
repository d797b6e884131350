// What an operator's control of a revision is checked against before it becomes a command.

package store

import (
	"context"
	"errors"

	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/jackc/pgx/v5"
)

// Controlled is the revision that a control speaks of.
type Controlled struct {
	WorkflowID string
	Phase      workflow.Phase
	// Attempt is the offered or live attempt, nil when there is none.
	Attempt *workflow.Attempt
}

// Control checks who asks, where they think they are and which revision they mean, in this order.
// Whether the action fits the revision is the machine's to say.
func (s *Store) Control(ctx context.Context, user, taskID string, r workflow.ControlRequest) (Controlled, error) {
	var out Controlled
	err := s.read(ctx, func(tx pgx.Tx) error {
		var (
			projectID string
			version   int
		)
		err := tx.QueryRow(ctx, `SELECT project_id, version FROM tasks WHERE id = $1`, taskID).Scan(&projectID, &version)
		if errors.Is(err, pgx.ErrNoRows) {
			return notFound("task")
		}
		if err != nil {
			return err
		}
		if err := projectRole(ctx, tx, user, projectID, "task", workflow.RoleOwner, workflow.RoleAdmin); err != nil {
			return err
		}
		if err := checkWriteContext(ctx, tx, &r.WriteContext, &projectID); err != nil {
			return err
		}
		err = tx.QueryRow(ctx, `SELECT workflow_id, phase FROM revisions WHERE task_id = $1 ORDER BY number DESC LIMIT 1`, taskID).Scan(&out.WorkflowID, &out.Phase)
		if errors.Is(err, pgx.ErrNoRows) {
			return notFound("revision")
		}
		if err != nil {
			return err
		}
		if r.WorkflowID != nil && *r.WorkflowID != out.WorkflowID {
			return contracts.Refuse(contracts.CodeWorkflowSuperseded, "the task's current revision is another")
		}
		// A cancel or reconcile that already had its effect is answered unchanged whatever the version.
		if version != r.ExpectedVersion && !out.Phase.Final() {
			return contracts.Refuse(contracts.CodeVersionConflict, "the task has version %d", version)
		}
		rows, err := tx.Query(ctx, `SELECT `+executionColumns+` FROM executions WHERE workflow_id = $1 AND state <> 'ended'`, out.WorkflowID)
		if err != nil {
			return err
		}
		active, err := pgx.CollectRows(rows, pgx.RowToStructByName[executionRow])
		if err == nil && len(active) == 1 {
			out.Attempt = active[0].attempt()
		}
		return err
	})
	return out, err
}
