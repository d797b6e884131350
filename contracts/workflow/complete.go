// What completes a task that has no revision.

package workflow

import (
	"countersign/contracts"
	"countersign/contracts/canonjson"

	"github.com/go-json-experiment/json/jsontext"
)

// CompleteTask is the body of POST /v1/tasks/{id}/complete: exactly one of ResultSummary and Payload.
type CompleteTask struct {
	WriteContext    WriteContext   `json:"write_context"`
	ExpectedVersion int            `json:"expected_version" validate:"required,min=1"`
	ResultSummary   *string        `json:"result_summary,omitzero"`
	Payload         jsontext.Value `json:"payload,omitzero"`
}

// DecodeCompletion reads the body of a completion; its payload is left to worker-completion/v1.
func DecodeCompletion(data []byte) (CompleteTask, error) {
	var r CompleteTask
	parts, err := canonjson.DecodeAround(data, &r, "payload")
	if err != nil {
		return r, err
	}
	r.Payload = parts["payload"]
	return r, Validate(&r)
}

// Check refuses both and neither. An explicit null is no payload.
func (r *CompleteTask) Check() error {
	absentOrObject(&r.Payload)
	if (r.ResultSummary == nil) == (r.Payload == nil) {
		return contracts.Invalid("$", "give exactly one of result_summary and payload")
	}
	return nil
}
