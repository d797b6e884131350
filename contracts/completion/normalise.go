// The one spelling of a payload.

package completion

import (
	"countersign/contracts"
	"countersign/contracts/canonjson"

	"github.com/go-json-experiment/json"
)

// Normalise returns the RFC 8785 bytes of a payload's normalised form: the contract's tag always; a
// completion's files_changed ([] when absent) and its other fields when given; a refusal's kind,
// detail and own field; strings as sent. Parse accepts what Normalise returns, and it normalises to
// itself. A payload that Parse did not make and would not accept is refused as Parse refuses it.
func Normalise(p Payload) ([]byte, *contracts.Error) {
	data, err := json.Marshal(p.normalised())
	if err != nil {
		return nil, violation("$", "holds text that is not valid UTF-8")
	}
	if _, v := Parse(data); v != nil {
		return nil, v
	}
	canonical, err := canonjson.Canonical(data)
	if err != nil {
		// What Parse accepts has a canonical form; this keeps the promise if that ever changes.
		return nil, violation("$", "has no canonical form")
	}
	return canonical, nil
}
