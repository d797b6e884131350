// What completes a task that has no revision.

package workflow

import (
	"countersign/contracts"

	"github.com/go-json-experiment/json/jsontext"
)

// CompleteTask is the body of POST /v1/tasks/{id}/complete: exactly one of ResultSummary and Payload.
type CompleteTask struct {
	WriteContext    WriteContext   `json:"write_context"`
	ExpectedVersion int            `json:"expected_version" validate:"required,min=1"`
	ResultSummary   *string        `json:"result_summary,omitzero"`
	Payload         jsontext.Value `json:"payload,omitzero"`
}

// Check refuses both and neither.
func (r *CompleteTask) Check() error {
	if (r.ResultSummary == nil) == (r.Payload == nil) {
		return contracts.Invalid("$", "give exactly one of result_summary and payload")
	}
	return nil
}
