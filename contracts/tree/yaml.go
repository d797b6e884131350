// A document in YAML.

package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"countersign/contracts"
	"countersign/contracts/canonjson"

	"go.yaml.in/yaml/v3"
)

// ReadYAML reads one YAML document whose root has the given path. The error is of code invalid.
func ReadYAML(data []byte, path string) (Node, *contracts.Error) {
	if err := CheckText(data, path); err != nil {
		return Node{}, err
	}
	document, err := oneDocument(data)
	if err != nil {
		return Node{}, contracts.Invalid(path, "%v", err)
	}
	return yamlNodes{path}.value(document, path, 1)
}

func oneDocument(data []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var document, more yaml.Node
	switch err := dec.Decode(&document); {
	case err == io.EOF:
		return nil, errors.New("must be a mapping and is empty")
	case err != nil:
		return nil, fmt.Errorf("broken YAML: %.200s", err.Error())
	}
	if err := dec.Decode(&more); err != io.EOF {
		return nil, errors.New("more than one YAML document")
	}
	return document.Content[0], nil
}

// yamlNodes reads nodes of the document whose root has a path.
type yamlNodes struct{ root string }

func (r yamlNodes) value(n *yaml.Node, path string, depth int) (Node, *contracts.Error) {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return Node{}, contracts.Invalid(path, "anchors and aliases are not allowed (line %d)", n.Line)
	case n.Style&yaml.TaggedStyle != 0:
		return Node{}, contracts.Invalid(path, "tags are not allowed (line %d)", n.Line)
	case depth > canonjson.MaxDepth+1:
		return Node{}, contracts.Invalid(r.root, nestedTooDeeply)
	}
	switch n.Kind {
	case yaml.ScalarNode:
		return yamlScalar(n), nil
	case yaml.SequenceNode:
		items := make([]Node, len(n.Content))
		for i, item := range n.Content {
			var err *contracts.Error
			if items[i], err = r.value(item, path+"["+strconv.Itoa(i)+"]", depth+1); err != nil {
				return Node{}, err
			}
		}
		return Node{Shape: List, Items: items}, nil
	case yaml.MappingNode:
		return r.mapping(n, path, depth)
	}
	return Node{}, contracts.Invalid(path, "must be a mapping and is empty")
}

func (r yamlNodes) mapping(n *yaml.Node, path string, depth int) (Node, *contracts.Error) {
	members := make([]Member, 0, len(n.Content)/2)
	for i, seen := 0, map[string]bool{}; i < len(n.Content); i += 2 {
		key, err := r.value(n.Content[i], path, depth+1)
		if err != nil {
			return Node{}, err
		}
		at := Join(path, n.Content[i].Value)
		switch {
		case n.Content[i].ShortTag() == "!!merge":
			return Node{}, contracts.Invalid(at, "merge keys are not allowed (line %d)", n.Content[i].Line)
		case key.Shape != Text:
			return Node{}, contracts.Invalid(at, "a key must be a string (line %d)", n.Content[i].Line)
		case seen[key.Text]:
			return Node{}, contracts.Invalid(at, "%s (line %d)", repeatedKey, n.Content[i].Line)
		}
		seen[key.Text] = true
		value, err := r.value(n.Content[i+1], at, depth+1)
		if err != nil {
			return Node{}, err
		}
		members = append(members, Member{key.Text, value})
	}
	return Node{Shape: Mapping, Members: members}, nil
}

// yamlScalar takes for a string what no version of YAML reads as anything else.
func yamlScalar(n *yaml.Node) Node {
	switch n.ShortTag() {
	case "!!null":
		return Node{Shape: Null}
	case "!!str":
		if quoted := n.Style != 0; quoted || !olderYAML.MatchString(n.Value) {
			return String(n.Value)
		}
	}
	return Node{Shape: Other}
}

// olderYAML is what the parser takes for plain strings and YAML 1.1 does not: booleans, numbers to the
// base of 60, the default key.
var olderYAML = regexp.MustCompile(`^(?:(?i:y|n|yes|no|on|off)|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?|=)$`)
