// Routes about revisions, for operators.

package api

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"countersign/activities"
	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/workflow"
	"countersign/store"
)

// historyPage are the parameters of every detail.
var historyPage = []Param{
	{Name: "after", Integer: true, Min: 0, Max: 1 << 30, Default: 0},
	{Name: "limit", Integer: true, Min: 1, Max: 100, Default: 50},
}

func (a *API) workflowRoutes() []Route {
	dispatch := writing(http.MethodPost, "/v1/workflows", workflow.ScopeTasksWrite, http.StatusCreated, a.dispatch)
	dispatch.Replays = true
	return []Route{
		dispatch,
		reading(http.MethodGet, "/v1/tasks/{id}/workflow", workflow.ScopeTasksRead, historyPage, a.taskWorkflow),
		reading(http.MethodGet, "/v1/workflows/{id}", workflow.ScopeTasksRead, historyPage, a.workflow),
		writing(http.MethodPost, "/v1/tasks/{id}/workflow/control", workflow.ScopeTasksWrite, http.StatusOK, a.control),
		reading(http.MethodGet, "/v1/workflows/{id}/live", workflow.ScopeTasksRead, nil, a.live),
	}
}

func (a *API) dispatch(c *call, body workflow.DispatchRequest) (workflow.Detail, error) {
	request, err := canonjson.Canonical(c.raw)
	if err != nil {
		return workflow.Detail{}, err
	}
	d, err := a.store.Dispatch(c, store.Dispatch{
		User: c.who.User, Request: body, RequestSHA256: canonjson.Digest(request), Lease: a.lease, Deadline: a.deadline, NeedsSigner: true,
	})
	if err != nil {
		return workflow.Detail{}, err
	}
	return a.dispatched(c, d)
}

// dispatched starts what was dispatched now, and answers with the revision.
func (a *API) dispatched(c *call, d store.Dispatched) (workflow.Detail, error) {
	if d.Replayed {
		c.status = http.StatusOK
	} else {
		a.start(c, d.Start)
	}
	return a.detail(func() (workflow.Detail, error) {
		return a.store.Detail(c, c.who, d.WorkflowID, 0, historyPage[1].Default)
	})
}

// startLimit is how long a dispatch waits for its workflow to start; the relay does what is left.
const startLimit = 2 * time.Second

// start starts the workflow of a committed dispatch at once. The dispatch stands whatever comes of it.
func (a *API) start(ctx context.Context, s store.Start) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startLimit)
	defer cancel()
	err := a.gateway.Start(ctx, s)
	if err == nil {
		err = a.store.StartSent(ctx, s.WorkflowID)
	}
	if err != nil {
		a.log.Warn("the revision's start is left to the relay", "workflow", s.WorkflowID, "error", err)
	}
}

func (a *API) taskWorkflow(c *call) (workflow.Detail, error) {
	return a.detail(func() (workflow.Detail, error) {
		return a.store.TaskDetail(c, c.who, c.param("id"), c.query.ints["after"], c.query.ints["limit"])
	})
}

func (a *API) workflow(c *call) (workflow.Detail, error) {
	return a.detail(func() (workflow.Detail, error) {
		return a.store.Detail(c, c.who, c.param("id"), c.query.ints["after"], c.query.ints["limit"])
	})
}

// detail adds to a stored detail where its workflow is in Temporal.
func (a *API) detail(read func() (workflow.Detail, error)) (workflow.Detail, error) {
	d, err := read()
	if err != nil {
		return d, err
	}
	d.Temporal.WorkflowID = activities.TemporalID(d.WorkflowID)
	if a.temporalUI != "" {
		d.Temporal.UIURL = a.temporalUI + "/namespaces/" + url.PathEscape(a.gateway.Temporal.Namespace) +
			"/workflows/" + url.PathEscape(d.Temporal.WorkflowID)
	}
	return d, nil
}

func (a *API) control(c *call, body workflow.ControlRequest) (workflow.Detail, error) {
	target, err := a.store.Control(c, c.who.User, c.param("id"), body)
	if err != nil {
		return workflow.Detail{}, err
	}
	command := workflow.Command{Kind: workflow.CommandCancel, Actor: c.who.User, ExpectedVersion: body.ExpectedVersion}
	if body.Action == workflow.ControlReconcile {
		command.Kind = workflow.CommandReconcile
		if target.Attempt != nil {
			command.ExecutionID = target.Attempt.ExecutionID
		}
	}
	if err := a.command(c, target, command); err != nil {
		return workflow.Detail{}, err
	}
	return a.detail(func() (workflow.Detail, error) {
		return a.store.Detail(c, c.who, target.WorkflowID, 0, historyPage[1].Default)
	})
}

// command has an effect once at most; on a final revision the machine's answer needs no update.
func (a *API) command(c *call, target store.Controlled, command workflow.Command) error {
	if target.Phase.Final() {
		out, err := a.store.CommitNext(c, target.WorkflowID, command)
		return outcome(out, err)
	}
	out, err := a.gateway.DoOrCommit(c, target.WorkflowID, command)
	a.unknown(c, target.WorkflowID, err)
	return outcome(out, err)
}

// outcome turns a refusal that came back as a value into an error.
func outcome(out store.Outcome, err error) error {
	switch {
	case err != nil:
		return err
	case out.Refusal != nil:
		return out.Refusal
	case out.Step != nil && out.Step.Answer.Refusal != nil:
		return out.Step.Answer.Refusal
	}
	return nil
}

// unknown has the relay look after an update whose outcome is not known.
func (a *API) unknown(ctx context.Context, workflowID string, err error) {
	if contracts.CodeOf(err) != contracts.CodeUnavailable {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startLimit)
	defer cancel()
	if err := a.store.QueueCatchUp(ctx, workflowID); err != nil {
		a.log.Warn("a call's outcome is unknown and was not noted", "workflow", workflowID, "error", err)
	}
}

func (a *API) live(c *call) (workflow.Live, error) {
	d, err := a.store.Detail(c, c.who, c.param("id"), 0, 1)
	if err != nil {
		return workflow.Live{}, err
	}
	return a.gateway.Live(c, d.WorkflowID)
}
