// Reading an explicit payload, of whichever shape its place allows.

package completion

import "countersign/contracts"

// Parse reads one payload: a JSON object with the key kind (also null) is a Refusal, any other a
// Completion. Everything else is refused with code contract_violation, the path of the first
// violation ("$.summary", "$.proposed_split[1]", "$" for the document) and what would be right. What
// makes the document no strict JSON comes before what it says; then the order is docs/completion.md's.
func Parse(data []byte) (Payload, *contracts.Error) {
	return parse(data, eitherShape)
}

// ParseCompletion is Parse where only a completion may stand (the event completed): a refusal there
// is a violation at $.kind.
func ParseCompletion(data []byte) (Completion, *contracts.Error) {
	p, v := parse(data, completionShape)
	c, _ := p.(Completion)
	return c, v
}

// ParseRefusal is Parse where only a refusal may stand (the event failed): a completion there is a
// violation at $.kind.
func ParseRefusal(data []byte) (Refusal, *contracts.Error) {
	p, v := parse(data, refusalShape)
	r, _ := p.(Refusal)
	return r, v
}

// shape is which of the two payloads a place allows.
type shape int

const (
	eitherShape shape = iota
	completionShape
	refusalShape
)

func parse(data []byte, allowed shape) (Payload, *contracts.Error) {
	o, v := readDocument(data)
	if v != nil {
		return nil, v
	}
	if v := checkTag(o); v != nil {
		return nil, v
	}
	switch kind, refuses := o.get("kind"); {
	case refuses && allowed == completionShape:
		return nil, violation("$.kind", "only a refusal has a kind, and a refusal belongs in the event failed, not in completed")
	case !refuses && allowed == refusalShape:
		return nil, violation("$.kind", "is required: a refusal names one of %s", knownKinds())
	case refuses:
		return readRefusal(o, kind)
	default:
		return readCompletion(o)
	}
}

// checkTag holds both shapes to the version, when they name one.
func checkTag(o object) *contracts.Error {
	raw, given := o.get("contract")
	if !given {
		return nil
	}
	if tag, ok := unquote(raw); !ok || tag != Version {
		return violation("$.contract", "must be %q when it is given", Version)
	}
	return nil
}
