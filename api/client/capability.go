// The call of the worker dispatch evaluator.

package client

import (
	"context"
	"net/http"

	"countersign/contracts/capability"
)

// EvaluateDispatch judges a worker dispatch by the capability contract, as capability.Evaluate does
// without a server.
func (c *Client) EvaluateDispatch(ctx context.Context, in capability.Input) (capability.Result, error) {
	return call[capability.Result](ctx, c, http.MethodPost, "/v1/worker-dispatch/evaluate", in)
}
