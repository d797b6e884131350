// A declaration in YAML.

package artifact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"countersign/contracts"

	"go.yaml.in/yaml/v3"
)

// nodeFromYAML reads one YAML document.
func nodeFromYAML(data []byte) (node, *contracts.Error) {
	document, err := oneDocument(data)
	if err != nil {
		return node{}, refuse(specPath, "%v", err)
	}
	return yamlNode(document, specPath, 1)
}

func oneDocument(data []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var document, more yaml.Node
	switch err := dec.Decode(&document); {
	case err == io.EOF:
		return nil, errors.New("must be a mapping and is empty")
	case err != nil:
		return nil, fmt.Errorf("broken YAML: %w", err)
	}
	if err := dec.Decode(&more); err != io.EOF {
		return nil, errors.New("more than one YAML document")
	}
	return document.Content[0], nil
}

// SpecFromYAML reads the declaration that stands within a larger YAML document: a plan's step, a
// backlog file's frontmatter. The node may have come from any parser of go.yaml.in/yaml/v3; it must
// have no anchors, aliases, merge keys or tags. The error is that of ParseSpec.
func SpecFromYAML(n *yaml.Node) (Spec, error) {
	block, err := yamlNode(n, specPath, 1)
	if err != nil {
		return Spec{}, err
	}
	return block.parsed()
}

func yamlNode(n *yaml.Node, path string, depth int) (node, *contracts.Error) {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return node{}, refuse(path, "anchors and aliases are not allowed (line %d)", n.Line)
	case n.Style&yaml.TaggedStyle != 0:
		return node{}, refuse(path, "tags are not allowed (line %d)", n.Line)
	case depth > MaxDepth+1:
		return node{}, refuse(specPath, nestedTooDeeply)
	}
	switch n.Kind {
	case yaml.ScalarNode:
		return yamlScalar(n), nil
	case yaml.SequenceNode:
		items := make([]node, len(n.Content))
		for i, item := range n.Content {
			var err *contracts.Error
			if items[i], err = yamlNode(item, path+"["+strconv.Itoa(i)+"]", depth+1); err != nil {
				return node{}, err
			}
		}
		return node{shape: shapeList, items: items}, nil
	case yaml.MappingNode:
		return yamlMapping(n, path, depth)
	}
	return node{}, refuse(path, "must be a mapping and is empty")
}

func yamlMapping(n *yaml.Node, path string, depth int) (node, *contracts.Error) {
	members := make([]nodeMember, 0, len(n.Content)/2)
	for i, seen := 0, map[string]bool{}; i < len(n.Content); i += 2 {
		key, err := yamlNode(n.Content[i], path, depth+1)
		if err != nil {
			return node{}, err
		}
		at := path + "." + n.Content[i].Value
		switch {
		case n.Content[i].ShortTag() == "!!merge":
			return node{}, refuse(at, "merge keys are not allowed (line %d)", n.Content[i].Line)
		case key.shape != shapeText:
			return node{}, refuse(at, "a key must be a string (line %d)", n.Content[i].Line)
		case seen[key.text]:
			return node{}, refuse(at, "%s (line %d)", repeatedKey, n.Content[i].Line)
		}
		seen[key.text] = true
		value, err := yamlNode(n.Content[i+1], at, depth+1)
		if err != nil {
			return node{}, err
		}
		members = append(members, nodeMember{key.text, value})
	}
	return node{shape: shapeMapping, members: members}, nil
}

// yamlScalar takes for a string what no version of YAML reads as anything else.
func yamlScalar(n *yaml.Node) node {
	switch n.ShortTag() {
	case "!!null":
		return node{shape: shapeNull}
	case "!!str":
		if quoted := n.Style != 0; quoted || !olderYAML.MatchString(n.Value) {
			return textNode(n.Value)
		}
	}
	return node{shape: shapeOther}
}

// olderYAML is what the parser takes for plain strings and YAML 1.1 does not: booleans, numbers to the
// base of 60, the default key.
var olderYAML = regexp.MustCompile(`^(?:(?i:y|n|yes|no|on|off)|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?|=)$`)
