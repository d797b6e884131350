// JSON as values that criteria look into.

package artifact

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// maxOperandDepth is how deeply the value of a criterion may be nested. The schema validator takes minutes
// to compile a few thousand levels, and a schema needs two for each of its document's.
const maxOperandDepth = 4 * MaxDepth

// parseJSON reads one JSON value into nil, bool, string, json.Number, []any and map[string]any, the
// values that the schema validator knows. Numbers keep their text; operand says which are refused.
// Keys that stand twice are refused, and so are invalid UTF-8 and more than maxOperandDepth containers.
func parseJSON(data []byte) (any, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	value, err := parseValue(dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return nil, errors.New("data after the JSON value")
	}
	return value, nil
}

func parseValue(dec *jsontext.Decoder) (any, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return nil, brokenJSON(err)
	}
	if dec.StackDepth() > maxOperandDepth {
		return nil, fmt.Errorf("more than %d nested objects and arrays", maxOperandDepth)
	}
	switch token.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return token.Bool(), nil
	case '"':
		return token.String(), nil
	case '[':
		list := []any{}
		for dec.PeekKind() != ']' {
			item, err := parseValue(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		if _, err := dec.ReadToken(); err != nil {
			return nil, brokenJSON(err)
		}
		return list, nil
	case '{':
		object := map[string]any{}
		for dec.PeekKind() != '}' {
			name, err := dec.ReadToken()
			if err != nil {
				return nil, brokenJSON(err)
			}
			key := name.String()
			if object[key], err = parseValue(dec); err != nil {
				return nil, err
			}
		}
		if _, err := dec.ReadToken(); err != nil {
			return nil, brokenJSON(err)
		}
		return object, nil
	}
	return operand(token.String())
}

func brokenJSON(err error) error {
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("broken JSON at byte %d: %w", syntax.ByteOffset, syntax.Err)
	}
	return errors.New("broken JSON: it ends too early")
}

// equal compares two parsed values strictly: types must be the same, true is not 1; numbers are
// compared by value, 1.0 is 1; the order counts in lists and not in objects.
func equal(a, b any) bool {
	switch a := a.(type) {
	case stdjson.Number:
		b, ok := b.(stdjson.Number)
		return ok && (a == b || compareNumbers(a, b) == 0)
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, value := range a {
			if other, ok := b[key]; !ok || !equal(value, other) {
				return false
			}
		}
		return true
	case nil:
		return b == nil
	case string:
		b, ok := b.(string)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	}
	return false
}
