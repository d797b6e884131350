// A declaration in JSON.

package artifact

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"countersign/contracts"

	"github.com/go-json-experiment/json/jsontext"
)

// nodeFromJSON reads one JSON value. What is wrong with its keys and strings is refused at their path,
// but only when all of it is JSON.
func nodeFromJSON(data []byte) (node, *contracts.Error) {
	r := jsonNodes{dec: jsontext.NewDecoder(bytes.NewReader(data), anyJSON)}
	n, err := r.value(specPath, 1)
	if err == nil {
		if _, err = r.dec.ReadToken(); err == io.EOF {
			return n, r.refusal
		}
		err = errors.New("data after the JSON value")
	}
	return node{}, refuse(specPath, "broken JSON: %v", err)
}

// jsonNodes reads nodes and keeps the first refusal on the way.
type jsonNodes struct {
	dec     *jsontext.Decoder
	refusal *contracts.Error
}

func (r *jsonNodes) refuse(path, reason string) {
	if r.refusal == nil {
		r.refusal = refuse(path, "%s", reason)
	}
}

func (r *jsonNodes) value(path string, depth int) (node, error) {
	switch kind := r.dec.PeekKind(); kind {
	case '"':
		s, err := r.text(path)
		return textNode(s), err
	case '{', '[':
		if depth > MaxDepth {
			r.refuse(specPath, nestedTooDeeply)
			return node{}, r.dec.SkipValue()
		}
		if kind == '{' {
			return r.mapping(path, depth)
		}
		return r.list(path, depth)
	case 'n':
		_, err := r.dec.ReadToken()
		return node{shape: shapeNull}, err
	default:
		_, err := r.dec.ReadToken()
		return node{shape: shapeOther}, err
	}
}

func (r *jsonNodes) text(path string) (string, error) {
	raw, err := r.dec.ReadValue()
	if err != nil {
		return "", err
	}
	s, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		r.refuse(path, "a lone surrogate")
	}
	return string(s), nil
}

func (r *jsonNodes) list(path string, depth int) (node, error) {
	n := node{shape: shapeList}
	if _, err := r.dec.ReadToken(); err != nil {
		return n, err
	}
	for r.dec.PeekKind() != ']' {
		item, err := r.value(path+"["+strconv.Itoa(len(n.items))+"]", depth+1)
		if err != nil {
			return n, err
		}
		n.items = append(n.items, item)
	}
	_, err := r.dec.ReadToken()
	return n, err
}

func (r *jsonNodes) mapping(path string, depth int) (node, error) {
	n := node{shape: shapeMapping}
	if _, err := r.dec.ReadToken(); err != nil {
		return n, err
	}
	for seen := map[string]bool{}; r.dec.PeekKind() != '}'; {
		key, err := r.text(path)
		if err != nil {
			return n, err
		}
		at := path + "." + key
		if seen[key] {
			r.refuse(at, repeatedKey)
		}
		seen[key] = true
		value, err := r.value(at, depth+1)
		if err != nil {
			return n, err
		}
		n.members = append(n.members, nodeMember{key, value})
	}
	_, err := r.dec.ReadToken()
	return n, err
}
