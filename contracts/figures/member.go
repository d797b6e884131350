// A JSON member that may be absent and never null.

package figures

import (
	"countersign/contracts"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// member is a member that may be absent but not null, which a pointer would take for absent.
type member[T any] struct {
	value T
	given bool
}

// UnmarshalJSONFrom refuses null and leaves the rest to the type.
func (m *member[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == 'n' {
		return contracts.Invalid("$", "null is not allowed")
	}
	m.given = true
	return json.UnmarshalDecode(d, &m.value)
}
