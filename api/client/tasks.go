// Calls about tasks.

package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"countersign/contracts/receipt"
	"countersign/contracts/workflow"
)

// CreateTask adds a task to a project. A zero write context is filled in.
func (c *Client) CreateTask(ctx context.Context, projectID string, t workflow.CreateTask) (workflow.Task, error) {
	if t.WriteContext == (workflow.WriteContext{}) {
		wc, err := c.WriteContext(ctx, projectID)
		if err != nil {
			return workflow.Task{}, err
		}
		t.WriteContext = wc
	}
	return call[workflow.Task](ctx, c, http.MethodPost, "/v1/tasks", t)
}

// Tasks is one page of a project's tasks, newest first; a zero Limit takes the server's default.
func (c *Client) Tasks(ctx context.Context, q workflow.TaskQuery) (workflow.TaskList, error) {
	query := url.Values{"project_id": {q.ProjectID}}
	if q.Status != "" {
		query.Set("status", string(q.Status))
	}
	if q.Limit != 0 {
		query.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.After != "" {
		query.Set("after", q.After)
	}
	return call[workflow.TaskList](ctx, c, http.MethodGet, "/v1/tasks?"+query.Encode(), nil)
}

// Task is one task with the compact view of its current revision.
func (c *Client) Task(ctx context.Context, taskID string) (workflow.Task, error) {
	return call[workflow.Task](ctx, c, http.MethodGet, taskPath(taskID), nil)
}

// PatchTask edits a task. A zero write context is filled in; projectID "" asks the server for the
// task's project first.
func (c *Client) PatchTask(ctx context.Context, projectID, taskID string, p workflow.PatchTask) (workflow.Task, error) {
	if err := c.bindTask(ctx, &p.WriteContext, projectID, taskID); err != nil {
		return workflow.Task{}, err
	}
	return call[workflow.Task](ctx, c, http.MethodPatch, taskPath(taskID), p)
}

// Receipt is a task's acceptance receipt; CodeNotFound until there is one.
func (c *Client) Receipt(ctx context.Context, taskID string) (workflow.Receipt, error) {
	return call[workflow.Receipt](ctx, c, http.MethodGet, taskPath(taskID)+"/receipt", nil)
}

// Keys are the public keys that receipts are signed with; it needs no token.
func (c *Client) Keys(ctx context.Context) (receipt.KeySet, error) {
	return call[receipt.KeySet](ctx, c, http.MethodGet, "/v1/keys", nil)
}

func taskPath(taskID string) string { return "/v1/tasks/" + url.PathEscape(taskID) }
