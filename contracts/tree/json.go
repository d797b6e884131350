// A document in JSON.

package tree

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"countersign/contracts"
	"countersign/contracts/canonjson"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// readJSON reads one JSON value. What is wrong with its keys and strings is refused at their path,
// but only when all of it is JSON.
func readJSON(data []byte, path string) (Node, *contracts.Error) {
	r := jsonNodes{dec: jsontext.NewDecoder(bytes.NewReader(data), anyJSON), root: path}
	n, err := r.value(path, 1)
	if err == nil {
		if _, err = r.dec.ReadToken(); err == io.EOF {
			return n, r.refusal
		}
		err = errors.New("data after the JSON value")
	}
	return Node{}, contracts.Invalid(path, "broken JSON: %.200s", err.Error())
}

// jsonNodes reads nodes and keeps the first refusal on the way.
type jsonNodes struct {
	dec     *jsontext.Decoder
	root    string
	refusal *contracts.Error
}

func (r *jsonNodes) refuse(path, reason string) {
	if r.refusal == nil {
		r.refusal = contracts.Invalid(path, "%s", reason)
	}
}

func (r *jsonNodes) value(path string, depth int) (Node, error) {
	switch kind := r.dec.PeekKind(); kind {
	case '"':
		s, err := r.text(path)
		return String(s), err
	case '{', '[':
		if depth > canonjson.MaxDepth {
			r.refuse(r.root, nestedTooDeeply)
			return Node{}, r.dec.SkipValue()
		}
		if kind == '{' {
			return r.mapping(path, depth)
		}
		return r.list(path, depth)
	case 'n':
		_, err := r.dec.ReadToken()
		return Node{Shape: Null}, err
	default:
		_, err := r.dec.ReadToken()
		return Node{Shape: Other}, err
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

func (r *jsonNodes) list(path string, depth int) (Node, error) {
	n := Node{Shape: List}
	if _, err := r.dec.ReadToken(); err != nil {
		return n, err
	}
	for r.dec.PeekKind() != ']' {
		item, err := r.value(path+"["+strconv.Itoa(len(n.Items))+"]", depth+1)
		if err != nil {
			return n, err
		}
		n.Items = append(n.Items, item)
	}
	_, err := r.dec.ReadToken()
	return n, err
}

func (r *jsonNodes) mapping(path string, depth int) (Node, error) {
	n := Node{Shape: Mapping}
	if _, err := r.dec.ReadToken(); err != nil {
		return n, err
	}
	for seen := map[string]bool{}; r.dec.PeekKind() != '}'; {
		key, err := r.text(path)
		if err != nil {
			return n, err
		}
		at := Join(path, key)
		if seen[key] {
			r.refuse(at, repeatedKey)
		}
		seen[key] = true
		value, err := r.value(at, depth+1)
		if err != nil {
			return n, err
		}
		n.Members = append(n.Members, Member{key, value})
	}
	_, err := r.dec.ReadToken()
	return n, err
}

// anyJSON reads what is valid by the grammar alone.
var anyJSON = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
