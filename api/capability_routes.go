// The route of the worker dispatch evaluator: a pure answer that reads and writes nothing.

package api

import (
	"net/http"

	"countersign/contracts/capability"
	"countersign/contracts/workflow"
)

func (a *API) capabilityRoutes() []Route {
	return []Route{
		writingAs(capability.Decode, http.MethodPost, "/v1/worker-dispatch/evaluate", workflow.ScopeTasksRead, http.StatusOK,
			func(_ *call, in capability.Input) (capability.Result, error) { return capability.Evaluate(in), nil }),
	}
}
