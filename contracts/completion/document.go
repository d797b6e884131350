// From bytes to the members of one JSON object, strictly.

package completion

import (
	"bytes"
	"iter"
	"strings"

	"countersign/contracts"
	"countersign/contracts/canonjson"

	"github.com/go-json-experiment/json/jsontext"
)

// member is one key of an object, unquoted, and its value as written.
type member struct {
	name  string
	value jsontext.Value
}

// object is the members of a JSON object in document order.
type object []member

func (o object) get(name string) (jsontext.Value, bool) {
	for _, m := range o {
		if m.name == name {
			return m.value, true
		}
	}
	return nil, false
}

// readDocument reads a payload's outer object, or says why the document is none.
func readDocument(data []byte) (object, *contracts.Error) {
	if v := scan(data); v != nil {
		return nil, v
	}
	raw := jsontext.Value(data)
	if raw.Kind() != '{' {
		return nil, violation("$", "a payload must be an object, not %s", typeName(raw))
	}
	return members(raw), nil
}

// scan refuses what is no strict JSON. Two of Scan's faults are none here, for only a field that the
// contract refuses anyway can have them, and its rules know the better path: numbers that a double
// would change, and keys that differ in case only (one of them is an unknown field).
func scan(data []byte) *contracts.Error {
	fault := canonjson.Scan(data)
	if fault == nil {
		return nil
	}
	switch fault.Kind {
	case canonjson.FaultNumber, canonjson.FaultCaseTwin:
		// Scan stops at its first fault, so one that does count may stand behind it.
		if !jsontext.Value(data).IsValid() {
			return violation("$", "holds a key twice, a lone surrogate or invalid UTF-8")
		}
		return nil
	case canonjson.FaultDuplicate:
		path := fault.Path
		if strings.Contains(path, "[") {
			// Scan writes a key made of digits like an index, so this may not be the key's own path.
			path = "$"
		}
		return violation(path, "a key stands twice in one object, so that readers could take either value")
	case canonjson.FaultString:
		return violation("$", "holds a lone surrogate or invalid UTF-8, at %s", quote(fault.Path))
	}
	return violation("$", "%s", fault.Detail)
}

// members reads an object of a scanned document. Nothing in there can fail, so an error only ends it.
func members(raw jsontext.Value) object {
	var o object
	dec := openContainer(raw)
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			break
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			break
		}
		o = append(o, member{key, value.Clone()})
	}
	return o
}

// items yields the items of a list of a scanned document with their index. An item is valid until
// the next one is asked for.
func items(raw jsontext.Value) iter.Seq2[int, jsontext.Value] {
	return func(yield func(int, jsontext.Value) bool) {
		dec := openContainer(raw)
		for i := 0; dec.PeekKind() > 0 && dec.PeekKind() != ']'; i++ {
			item, err := dec.ReadValue()
			if err != nil || !yield(i, item) {
				return
			}
		}
	}
}

// openContainer is a decoder that stands behind the opening bracket.
func openContainer(raw jsontext.Value) *jsontext.Decoder {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	// A scanned container opens with its bracket; were it not so, the reads that follow would fail.
	_, _ = dec.ReadToken()
	return dec
}

// unquote is the text of a JSON string; false for every other value.
func unquote(raw jsontext.Value) (string, bool) {
	if raw.Kind() != '"' {
		return "", false
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	return string(text), err == nil
}

func typeName(raw jsontext.Value) string {
	switch raw.Kind() {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "a list"
	}
	return "a number"
}
