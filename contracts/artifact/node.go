// A declaration before it is checked, whatever it was written in.

package artifact

// shape is what a node is, in the words of a refusal.
type shape string

const (
	shapeNull    shape = "null"
	shapeText    shape = "a string"
	shapeOther   shape = "neither a string nor null" // a number, a boolean, a date
	shapeList    shape = "a list"
	shapeMapping shape = "a mapping"
)

// node is a value of a declaration. Only what its shape has is set.
type node struct {
	shape   shape
	text    string
	items   []node
	members []nodeMember
}

type nodeMember struct {
	key   string
	value node
}

func textNode(s string) node { return node{shape: shapeText, text: s} }

// member returns the value of a key, and whether it is there.
func (n node) member(key string) (node, bool) {
	for _, m := range n.members {
		if m.key == key {
			return m.value, true
		}
	}
	return node{}, false
}

const (
	repeatedKey     = "the key stands twice"
	nestedTooDeeply = "nested too deeply"
)
