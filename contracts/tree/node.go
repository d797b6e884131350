// A document that a person wrote, before it is checked, whatever it was written in.

// Package tree reads declarations, plans and frontmatter from JSON and YAML into one form, so that one
// check serves both. It is strict where the two languages are not: one document, keys that are strings
// and stand once, no anchors, aliases, merge keys or tags, and for a string only what every version of
// YAML reads as one. Paths of faults are those of the document ("stages[0].steps[2].title"), without a
// root; "" is the document as a whole.
package tree

import (
	"slices"
	"strings"

	"countersign/contracts"
)

// Shape is what a node is, in the words of a refusal.
type Shape string

// The shapes; Other is a number, a boolean, a date.
const (
	Null    Shape = "null"
	Text    Shape = "a string"
	Other   Shape = "neither a string nor null"
	List    Shape = "a list"
	Mapping Shape = "a mapping"
)

// Node is a value of a document. Only what its shape has is set.
type Node struct {
	Shape   Shape
	Text    string
	Items   []Node
	Members []Member
}

// Member is one key of a mapping with its value, in the order of the document.
type Member struct {
	Key   string
	Value Node
}

// String makes a node of a string.
func String(s string) Node { return Node{Shape: Text, Text: s} }

// Member returns the value of a key, and whether it is there.
func (n Node) Member(key string) (Node, bool) {
	for _, m := range n.Members {
		if m.Key == key {
			return m.Value, true
		}
	}
	return Node{}, false
}

// NotText refuses the node at path, which should have been a string.
func (n Node) NotText(path string) *contracts.Error {
	if n.Shape == Other {
		return contracts.Invalid(path, "must be a string and is %s: put it in quotation marks", n.Shape)
	}
	return contracts.Invalid(path, "must be a string and is %s", n.Shape)
}

// OnlyKeys wants the node at path to be a mapping of no other keys than known; it names the unknown key
// that is the first by name.
func (n Node) OnlyKeys(path string, known ...string) *contracts.Error {
	if n.Shape != Mapping {
		return contracts.Invalid(path, "must be a mapping and is %s", n.Shape)
	}
	var unknown []string
	for _, m := range n.Members {
		if !slices.Contains(known, m.Key) {
			unknown = append(unknown, m.Key)
		}
	}
	if len(unknown) > 0 {
		return contracts.Invalid(Join(path, slices.Min(unknown)), "unknown key; known are %s", strings.Join(known, ", "))
	}
	return nil
}

// Join is the path of a key of the mapping at path.
func Join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

const (
	repeatedKey     = "the key stands twice"
	nestedTooDeeply = "nested too deeply"
)
