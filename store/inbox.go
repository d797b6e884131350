// What waits for a person, over all projects of a user.

package store

import (
	"context"

	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/jackc/pgx/v5"
)

// Inbox lists what waits in the projects that the user is an active member of, oldest first: open
// tasks whose current revision is blocked, live attempts whose lease is over, and tasks that a
// completion call refused or failed.
func (s *Store) Inbox(ctx context.Context, user string, limit int) (workflow.Inbox, error) {
	rows, err := s.pool.Query(ctx, `WITH mine AS (SELECT project_id FROM members WHERE user_name = $1 AND status = 'active'), waiting AS (
			SELECT t.project_id, t.id AS task_id, t.title, r.workflow_id, r.reason, r.refusal, r.ended_at AS since, false AS expired,
				CASE r.reason WHEN 'worker_dispatch' THEN (SELECT x.reason_codes FROM dispatch_decisions x WHERE x.workflow_id = r.workflow_id
					ORDER BY x.sequence DESC, x.ordinal DESC LIMIT 1) END AS codes
			FROM mine JOIN tasks t USING (project_id)
			JOIN LATERAL (SELECT workflow_id, phase, reason, refusal, ended_at FROM revisions WHERE task_id = t.id ORDER BY number DESC LIMIT 1) r ON r.phase = 'blocked'
			WHERE t.status = 'open'
			UNION ALL
			SELECT t.project_id, t.id, t.title, e.workflow_id, CASE WHEN e.lease_expires_at = e.deadline_at THEN 'deadline_exceeded' ELSE 'lease_expired' END,
				NULL, e.lease_expires_at, true, NULL
			FROM mine JOIN executions e USING (project_id) JOIN tasks t ON t.id = e.task_id
			WHERE e.state = 'live' AND e.lease_expires_at <= clock_timestamp()
			UNION ALL
			SELECT t.project_id, t.id, t.title, '', t.terminal_reason, t.refusal, t.updated_at, false, NULL
			FROM mine JOIN tasks t USING (project_id) WHERE t.status IN ('refused', 'failed'))
		SELECT project_id, task_id, title, workflow_id, reason, refusal, since, expired, codes, floor(extract(epoch FROM clock_timestamp() - since))::bigint
		FROM waiting ORDER BY since, task_id LIMIT $2`, user, limit+1)
	if err != nil {
		return workflow.Inbox{}, translate(err)
	}
	items, err := pgx.CollectRows(rows, scanInboxItem)
	if err != nil {
		return workflow.Inbox{}, translate(err)
	}
	inbox := workflow.Inbox{Items: items}
	if len(items) > limit {
		inbox.Items, inbox.More = items[:limit], true
	}
	return inbox, nil
}

func scanInboxItem(row pgx.CollectableRow) (workflow.InboxItem, error) {
	var (
		item    workflow.InboxItem
		refusal []byte
		expired bool
	)
	err := row.Scan(&item.ProjectID, &item.TaskID, &item.Title, &item.WorkflowID, &item.Reason, &refusal, &item.Since, &expired, &item.ReasonCodes, &item.AgeSeconds)
	item.Refusal = jsontext.Value(refusal)
	item.AgeSeconds = max(item.AgeSeconds, 0)
	reason := workflow.Reason(item.Reason)
	item.NextAction = workflow.NextAction(reason, item.ReasonCodes...)
	switch {
	case expired:
		item.Kind = workflow.InboxExpiredLease
		item.NextAction = "Reconcile the revision if the server does not settle it within seconds."
	case refusal != nil:
		item.Kind = workflow.InboxRefusal
	case reason == workflow.ReasonWorkBudgetExhausted:
		item.Kind = workflow.InboxExhausted
	case reason == workflow.ReasonContractViolation:
		item.Kind = workflow.InboxViolation
	default:
		item.Kind = workflow.InboxBlocked
	}
	return item, err
}
