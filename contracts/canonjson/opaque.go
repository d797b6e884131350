// Bodies that carry a document of another contract: the body is read strictly, the document is left
// to its own contract.

package canonjson

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// DecodeAround reads a body like Decode, but leaves the values of the named keys of its outer object
// to their own contract: v sees null there, and parts has them as written. A value nested deeper than
// any contract allows is handed over cut short, still too deep. The body as a whole must be JSON.
func DecodeAround(data []byte, v any, names ...string) (parts map[string][]byte, err error) {
	pruned := prune(data, MaxDepth+2)
	if f := syntax(pruned); f != nil {
		return nil, f.Refusal()
	}
	if jsontext.Value(pruned).Kind() != '{' {
		return nil, Decode(pruned, v)
	}
	outer, parts, err := split(pruned, names)
	if err != nil {
		return nil, err
	}
	return parts, Decode(outer, v)
}

// split takes the named members' values out of an object that syntax has passed.
func split(data []byte, names []string) (outer []byte, parts map[string][]byte, err error) {
	dec := jsontext.NewDecoder(bytes.NewReader(data), lenient)
	if _, err := dec.ReadToken(); err != nil {
		return nil, nil, err
	}
	parts = map[string][]byte{}
	outer = append(outer, '{')
	for dec.PeekKind() == '"' {
		name, err := dec.ReadValue()
		if err != nil {
			return nil, nil, err
		}
		if len(outer) > 1 {
			outer = append(outer, ',')
		}
		outer = append(append(outer, name...), ':')
		key, err := jsontext.AppendUnquote(nil, name)
		own := err == nil && slices.Contains(names, string(key))
		value, err := dec.ReadValue()
		if err != nil {
			return nil, nil, err
		}
		if !own {
			outer = append(outer, value...)
			continue
		}
		parts[string(key)] = bytes.Clone(value)
		outer = append(outer, "null"...)
	}
	return append(outer, '}'), parts, nil
}

// syntax reports broken syntax and nothing else.
func syntax(data []byte) *Fault {
	dec := jsontext.NewDecoder(bytes.NewReader(data), lenient)
	if err := dec.SkipValue(); err != nil {
		return syntaxFault(err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return &Fault{FaultSyntax, "$", "data after the JSON value"}
	}
	return nil
}

// prune replaces every container nested deeper than limit by 0, so that what is too deep anyway costs
// neither stack nor the rest of the document its reading. It looks at brackets and strings only.
func prune(data []byte, limit int) []byte {
	depth, inString, from := 0, false, 0
	var out []byte
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth == limit+1 {
				out = append(append(out, data[from:i]...), '0')
			}
		case c == '}' || c == ']':
			if depth--; depth == limit {
				from = i + 1
			}
		}
	}
	if out == nil {
		return data
	}
	if depth > limit {
		return out // it ends inside what was cut
	}
	return append(out, data[from:]...)
}

// BodyDigest names a body: the Digest of its RFC 8785 bytes, or of its bytes as sent when it has no
// canonical form because a document inside violates its own contract.
func BodyDigest(data []byte) (digest string, stored []byte) {
	if canonical, err := Canonical(data); err == nil {
		return Digest(canonical), canonical
	}
	return Digest(data), data
}
