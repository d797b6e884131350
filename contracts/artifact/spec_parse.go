// The ways a declaration comes in: all of them end in the one check.

package artifact

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"countersign/contracts/tree"
)

// ParseSpec reads a declaration, the block itself, as JSON when it opens with a brace and a quotation
// mark (or is an empty object), and as YAML otherwise: REST bodies and files. The error is a
// *contracts.Error of code invalid whose path names the field ("artifact_spec.criteria[0].type"), or
// "artifact_spec" for the block as a whole.
func ParseSpec(data []byte) (Spec, error) {
	n, err := tree.Read(data, specPath)
	if err != nil {
		return Spec{}, err
	}
	return SpecFrom(n)
}

// SpecFrom reads the declaration that stands within a larger document: a plan's step, a backlog file's
// frontmatter. The error is that of ParseSpec.
func SpecFrom(n tree.Node) (Spec, error) {
	spec, err := specOf(n)
	if err != nil { // an error that callers see must not hold a nil pointer
		return Spec{}, err
	}
	return spec, nil
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
	n := tree.Node{Shape: tree.Mapping}
	for _, m := range []tree.Member{{Key: "kind", Value: tree.String(f.Kind)}, {Key: "output_path", Value: tree.String(f.OutputPath)}} {
		if m.Value.Text == "" {
			continue
		}
		if !utf8.ValidString(m.Value.Text) {
			return Spec{}, refuse(specPath+"."+m.Key, "invalid UTF-8")
		}
		n.Members = append(n.Members, m)
	}
	criteria := tree.Node{Shape: tree.List}
	for i, flag := range f.Criteria {
		at := specPath + ".criteria[" + strconv.Itoa(i) + "]"
		kind, value, ok := strings.Cut(flag, ":")
		switch {
		case !ok:
			return Spec{}, refuse(at, "must be TYPE:VALUE")
		case !utf8.ValidString(flag):
			return Spec{}, refuse(at, "invalid UTF-8")
		}
		criteria.Items = append(criteria.Items, tree.Node{Shape: tree.Mapping, Members: []tree.Member{
			{Key: "type", Value: tree.String(kind)}, {Key: "value", Value: tree.String(value)},
		}})
	}
	n.Members = append(n.Members, tree.Member{Key: "criteria", Value: criteria})
	return SpecFrom(n)
}
