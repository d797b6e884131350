// The rules of a refusal, in the order in which they are broken.

package completion

import (
	"countersign/contracts"

	"github.com/go-json-experiment/json/jsontext"
)

func readRefusal(o object, kind jsontext.Value) (Payload, *contracts.Error) {
	name, ok := unquote(kind)
	if !ok {
		return nil, violation("$.kind", "must be a string, not %s: one of %s", typeName(kind), knownKinds())
	}
	rule, ok := ruleOf(Kind(name))
	if !ok {
		return nil, violation("$.kind", "%s is no kind of refusal: it must be one of %s, and there is no catch-all", quote(name), knownKinds())
	}
	if v := checkKnown("$", o, "contract", "kind", "detail", rule.field); v != nil {
		return nil, v
	}
	r := Refusal{Kind: rule.kind}
	var v *contracts.Error
	if r.Detail, v = readRequired("$", o, "detail", MaxSummary); v != nil {
		return nil, v
	}
	switch rule.field {
	case "question":
		r.Question, v = readRequired("$", o, "question", MaxQuestion)
	case "blocking_dep":
		r.BlockingDep, v = readRequired("$", o, "blocking_dep", MaxQuestion)
	case "proposed_split":
		r.ProposedSplit, v = readSplit(o)
	}
	if v != nil {
		return nil, v
	}
	return r, nil
}

// readSplit holds the list to its size before it looks at any item.
func readSplit(o object) ([]string, *contracts.Error) {
	const at = "$.proposed_split"
	raw, given := o.get("proposed_split")
	if !given {
		return nil, violation(at, "is required")
	}
	if raw.Kind() == '[' {
		count := 0
		for range items(raw) {
			count++
		}
		if count < 1 || count > MaxSplitItems {
			return nil, violation(at, "must have 1 to %d items, not %d", MaxSplitItems, count)
		}
	}
	return readList(at, raw, MaxSplitItem)
}
