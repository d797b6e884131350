// Routes about tasks.

package api

import (
	"math"
	"net/http"

	"countersign/contracts/canonjson"
	"countersign/contracts/receipt"
	"countersign/contracts/workflow"
)

func (a *API) taskRoutes() []Route {
	page := []Param{
		{Name: "project_id", Required: true},
		{Name: "status", OneOf: []string{
			string(workflow.TaskOpen), string(workflow.TaskDone), string(workflow.TaskFailed),
			string(workflow.TaskRefused), string(workflow.TaskCancelled),
		}},
		{Name: "limit", Integer: true, Min: 1, Max: 100, Default: 50},
		{Name: "after"},
	}
	// Public keys are for strangers too.
	keys := reading(http.MethodGet, "/v1/keys", "", nil, a.keys)
	keys.Public = true
	return []Route{
		keys,
		writing(http.MethodPost, "/v1/tasks", workflow.ScopeTasksWrite, http.StatusCreated, a.createTask),
		reading(http.MethodGet, "/v1/tasks", workflow.ScopeTasksRead, page, a.tasks),
		reading(http.MethodGet, "/v1/tasks/{id}", workflow.ScopeTasksRead, nil, a.task),
		writing(http.MethodPatch, "/v1/tasks/{id}", workflow.ScopeTasksWrite, http.StatusOK, a.patchTask),
		writingAs(workflow.DecodeCompletion, http.MethodPost, "/v1/tasks/{id}/complete", workflow.ScopeTasksWrite, http.StatusOK, a.completeTask),
		reading(http.MethodGet, "/v1/tasks/{id}/receipt", workflow.ScopeTasksRead, nil, a.receipt),
		downloading("/v1/tasks/{id}/artifact", workflow.ScopeTasksRead, a.artifact),
		uploading(http.MethodPost, "/v1/projects/{id}/attachments", workflow.ScopeTasksWrite, http.StatusCreated, a.attach),
		downloading("/v1/projects/{id}/attachments/{content_hash}", workflow.ScopeTasksRead, a.attachment),
		reading(http.MethodGet, "/v1/projects/{id}/lineage", workflow.ScopeTasksRead, []Param{
			{Name: "after", Integer: true, Max: math.MaxInt32}, {Name: "limit", Integer: true, Min: 1, Max: 1000, Default: 1000},
		}, a.lineage),
		reading(http.MethodGet, "/v1/tasks/{id}/ledger", workflow.ScopeTasksRead, historyPage, a.ledger),
		reading(http.MethodGet, "/v1/inbox", workflow.ScopeTasksRead, []Param{{Name: "limit", Integer: true, Min: 1, Max: 500, Default: 100}}, a.inbox),
	}
}

func (a *API) createTask(c *call, body workflow.CreateTask) (workflow.Task, error) {
	return a.store.CreateTask(c, c.who.User, body)
}

func (a *API) tasks(c *call) (workflow.TaskList, error) {
	return a.store.Tasks(c, c.who.User, workflow.TaskQuery{
		ProjectID: c.query.text["project_id"], Status: workflow.TaskStatus(c.query.text["status"]),
		Limit: c.query.ints["limit"], After: c.query.text["after"],
	})
}

func (a *API) task(c *call) (workflow.Task, error) {
	return a.store.Task(c, c.who.User, c.param("id"))
}

func (a *API) patchTask(c *call, body workflow.PatchTask) (workflow.Task, error) {
	return a.store.PatchTask(c, c.who.User, c.param("id"), body)
}

// completeTask ends a task that has no revision. A violation ends it too, and is the answer.
func (a *API) completeTask(c *call, body workflow.CompleteTask) (workflow.Task, error) {
	digest, _ := canonjson.BodyDigest(c.raw)
	out, err := a.store.CompleteTask(c, c.who.User, c.param("id"), body, digest)
	if err == nil && out.Violation != nil {
		err = out.Violation
	}
	return out.Task, err
}

func (a *API) ledger(c *call) (workflow.Ledger, error) {
	return a.store.Ledger(c, c.who.User, c.param("id"), c.query.ints["after"], c.query.ints["limit"])
}

func (a *API) inbox(c *call) (workflow.Inbox, error) {
	return a.store.Inbox(c, c.who.User, c.query.ints["limit"])
}

func (a *API) receipt(c *call) (workflow.Receipt, error) {
	return a.store.TaskReceipt(c, c.who, c.param("id"))
}

func (a *API) keys(c *call) (receipt.KeySet, error) { return a.store.Keys(c) }
