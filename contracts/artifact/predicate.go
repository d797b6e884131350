// The predicates of criteria_match, as they are written and what they say about a value.

package artifact

import (
	stdjson "encoding/json"
	"fmt"
	"strings"
)

// operator is the op of a predicate.
type operator string

const (
	opExists   operator = "exists"
	opEq       operator = "eq"
	opNe       operator = "ne"
	opContains operator = "contains"
	opGt       operator = "gt"
	opGe       operator = "ge"
	opLt       operator = "lt"
	opLe       operator = "le"
)

// holds applies an operator other than exists to a value that is there.
func (op operator) holds(actual, want any) bool {
	switch op {
	case opEq:
		return equal(actual, want)
	case opNe:
		return !equal(actual, want)
	case opContains:
		return contains(actual, want)
	}
	a, isNumber := actual.(stdjson.Number)
	w, wantNumber := want.(stdjson.Number)
	if !isNumber || !wantNumber {
		return false
	}
	switch order := compareNumbers(a, w); op {
	case opGt:
		return order > 0
	case opGe:
		return order >= 0
	case opLt:
		return order < 0
	case opLe:
		return order <= 0
	}
	return false
}

// contains: a text within a text, a member of a list, a key of an object.
func contains(actual, want any) bool {
	switch actual := actual.(type) {
	case []any:
		for _, item := range actual {
			if equal(item, want) {
				return true
			}
		}
		return false
	case string:
		text, ok := want.(string)
		return ok && strings.Contains(actual, text)
	case map[string]any:
		key, ok := want.(string)
		_, has := actual[key]
		return ok && has
	}
	return false
}

// predicate is one demand on the document.
type predicate struct {
	written string   // the path as it stands
	path    []string // its segments, none for the document itself
	op      operator
	value   any
	present bool // whether exists is to find something
}

// String names the predicate in a result.
func (p predicate) String() string {
	text := fmt.Sprintf("%q %s", clip(p.written, 80), p.op)
	if p.value != nil {
		text += " " + literal(p.value)
	}
	return text
}

// literal is a value as JSON, short.
func literal(value any) string {
	data, err := stdjson.Marshal(value)
	if err != nil {
		return "what JSON cannot hold"
	}
	return clip(string(data), 80)
}

// parsePredicates reads the value of a criteria_match: a non-empty list of exactly {path, op, value}.
func parsePredicates(value string) ([]predicate, error) {
	parsed, err := parseJSON([]byte(value))
	if err != nil {
		return nil, fmt.Errorf("the predicates cannot be read: %w", err)
	}
	list, ok := parsed.([]any)
	if !ok || len(list) == 0 {
		return nil, fmt.Errorf("the predicates must be a list that is not empty")
	}
	predicates := make([]predicate, len(list))
	for i, item := range list {
		p, wrong := parsePredicate(item)
		if wrong != "" {
			return nil, fmt.Errorf("predicate %d %s", i, wrong)
		}
		predicates[i] = p
	}
	return predicates, nil
}

func parsePredicate(item any) (p predicate, wrong string) {
	members, ok := item.(map[string]any)
	if !ok {
		return p, "must be an object"
	}
	for key := range members {
		if key != "path" && key != "op" && key != "value" {
			return p, "takes only path, op and value"
		}
	}
	if p.written, ok = members["path"].(string); !ok {
		return p, "needs a path, a string"
	}
	if p.written != "" {
		p.path = strings.Split(p.written, ".")
	}
	op, _ := members["op"].(string)
	value, given := members["value"]
	p.op, p.value = operator(op), value
	switch p.op {
	case opExists:
		p.present = true
		if given {
			if p.present, ok = value.(bool); !ok {
				return p, "has a value that is neither true nor false"
			}
		}
	case opEq, opNe, opContains, opGt, opGe, opLt, opLe:
		if !given {
			return p, "needs a value"
		}
	default:
		return p, "needs an op: exists, eq, ne, contains, gt, ge, lt or le"
	}
	return p, ""
}
