// Calls about revisions: dispatch, read, control.

package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"countersign/contracts/workflow"
)

// Dispatch freezes a spec into a new revision; repeated with the same idempotency key it gives the
// same revision. A zero write context is filled in; projectID "" asks for the task's project first.
func (c *Client) Dispatch(ctx context.Context, projectID string, r workflow.DispatchRequest) (workflow.Detail, error) {
	if err := c.bindTask(ctx, &r.WriteContext, projectID, r.Spec.TaskID); err != nil {
		return workflow.Detail{}, err
	}
	return call[workflow.Detail](ctx, c, http.MethodPost, "/v1/workflows", r)
}

// Workflow is a task's current revision with its history from the sequence after on; limit is 1 to
// 100, 0 takes the server's default.
func (c *Client) Workflow(ctx context.Context, taskID string, after, limit int) (workflow.Detail, error) {
	return call[workflow.Detail](ctx, c, http.MethodGet, taskPath(taskID)+"/workflow"+page(after, limit), nil)
}

// WorkflowByID is any revision, old ones included, paged like Workflow.
func (c *Client) WorkflowByID(ctx context.Context, workflowID string, after, limit int) (workflow.Detail, error) {
	return call[workflow.Detail](ctx, c, http.MethodGet, "/v1/workflows/"+url.PathEscape(workflowID)+page(after, limit), nil)
}

// Control cancels or reconciles a task's current revision. A zero write context is filled in;
// projectID "" asks for the task's project first.
func (c *Client) Control(ctx context.Context, projectID, taskID string, r workflow.ControlRequest) (workflow.Detail, error) {
	if err := c.bindTask(ctx, &r.WriteContext, projectID, taskID); err != nil {
		return workflow.Detail{}, err
	}
	return call[workflow.Detail](ctx, c, http.MethodPost, taskPath(taskID)+"/workflow/control", r)
}

// Live is the state as the Temporal workflow itself holds it; CodeNotRunning once Temporal forgot it.
func (c *Client) Live(ctx context.Context, workflowID string) (workflow.Live, error) {
	return call[workflow.Live](ctx, c, http.MethodGet, "/v1/workflows/"+url.PathEscape(workflowID)+"/live", nil)
}

func page(after, limit int) string {
	query := url.Values{}
	if after != 0 {
		query.Set("after", strconv.Itoa(after))
	}
	if limit != 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	if len(query) == 0 {
		return ""
	}
	return "?" + query.Encode()
}
