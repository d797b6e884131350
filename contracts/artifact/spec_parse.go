// The ways a declaration comes in: all of them end in the one check.

package artifact

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ParseSpec reads a declaration, the block itself, as JSON when it opens with a brace and a quotation
// mark (or is an empty object), and as YAML otherwise: REST bodies and files. The error is a
// *contracts.Error of code invalid whose path names the field ("artifact_spec.criteria[0].type"), or
// "artifact_spec" for the block as a whole.
func ParseSpec(data []byte) (Spec, error) {
	switch {
	case !utf8.Valid(data):
		return Spec{}, refuse(specPath, "invalid UTF-8")
	case bytes.HasPrefix(data, []byte(byteOrderMark)):
		return Spec{}, refuse(specPath, "%s", reasonBOM)
	}
	read := nodeFromYAML
	if looksLikeJSON(data) {
		read = nodeFromJSON
	}
	n, err := read(data)
	if err != nil {
		return Spec{}, err
	}
	return n.parsed()
}

// Flags are a declaration from a command line; "" and nil are what was not given.
type Flags struct {
	Kind       string
	OutputPath string
	// Criteria are "TYPE:VALUE"; the value is all behind the first colon.
	Criteria []string
}

// ParseFlags reads a declaration from flags. The error is that of ParseSpec.
func ParseFlags(f Flags) (Spec, error) {
	n := node{shape: shapeMapping}
	for _, m := range []nodeMember{{"kind", textNode(f.Kind)}, {"output_path", textNode(f.OutputPath)}} {
		if m.value.text != "" {
			n.members = append(n.members, m)
		}
	}
	criteria := node{shape: shapeList}
	for i, flag := range f.Criteria {
		kind, value, ok := strings.Cut(flag, ":")
		if !ok {
			return Spec{}, refuse(specPath+".criteria["+strconv.Itoa(i)+"]", "must be TYPE:VALUE")
		}
		criteria.items = append(criteria.items, node{shape: shapeMapping, members: []nodeMember{
			{"type", textNode(kind)}, {"value", textNode(value)},
		}})
	}
	n.members = append(n.members, nodeMember{"criteria", criteria})
	return n.parsed()
}

// parsed is spec for callers that see an error, which must not hold a nil pointer.
func (n node) parsed() (Spec, error) {
	spec, err := n.spec()
	if err != nil {
		return Spec{}, err
	}
	return spec, nil
}

// looksLikeJSON separates JSON from YAML by how it opens, so that broken JSON is refused as such and
// not read as the YAML it may happen to be.
func looksLikeJSON(data []byte) bool {
	rest, ok := bytes.CutPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte{'{'})
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return ok && len(rest) > 0 && (rest[0] == '"' || rest[0] == '}')
}
