// What a task declares about the artifact it will produce, and the order in which that is checked.

package artifact

import (
	"slices"
	"strconv"
	"strings"

	"countersign/contracts"
	"countersign/contracts/figures"
)

// Spec is a declaration as it was read: nothing is filled in but "" and [] for what was left out. Its
// JSON always has the four keys, and reads as the same Spec again.
type Spec struct {
	Kind Kind `json:"kind"`
	// OutputPath is where the task writes, relative to its workdir and with slashes; "" for code_diff.
	OutputPath string `json:"output_path"`
	// Canonicalisation is "" or the kind: each kind has one rule.
	Canonicalisation string `json:"canonicalisation"`
	// Criteria are never nil in a parsed spec.
	Criteria []Criterion `json:"criteria"`
}

// specPath is what a field's path begins with, on every surface that takes a declaration.
const specPath = "artifact_spec"

func refuse(path, format string, args ...any) *contracts.Error {
	return contracts.Invalid(path, format, args...)
}

// spec checks a declaration (seed, section "Declaring one"), in this order: it is a mapping; unknown
// keys, the first by name; kind; output_path; canonicalisation; criteria.
func (n node) spec() (Spec, *contracts.Error) {
	if err := n.onlyKeys(specPath, "kind", "output_path", "canonicalisation", "criteria"); err != nil {
		return Spec{}, err
	}
	kind, err := n.kind()
	if err != nil {
		return Spec{}, err
	}
	outputPath, err := n.outputPath(kind)
	if err != nil {
		return Spec{}, err
	}
	canonicalisation, err := n.canonicalisation(kind)
	if err != nil {
		return Spec{}, err
	}
	criteria, err := n.criteria(kind)
	if err != nil {
		return Spec{}, err
	}
	return Spec{kind, outputPath, canonicalisation, criteria}, nil
}

func (n node) onlyKeys(path string, known ...string) *contracts.Error {
	if n.shape != shapeMapping {
		return refuse(path, "must be a mapping and is %s", n.shape)
	}
	var unknown []string
	for _, m := range n.members {
		if !slices.Contains(known, m.key) {
			unknown = append(unknown, m.key)
		}
	}
	if len(unknown) > 0 {
		return refuse(path+"."+slices.Min(unknown), "unknown key; known are %s", strings.Join(known, ", "))
	}
	return nil
}

func (n node) kind() (Kind, *contracts.Error) {
	const path = specPath + ".kind"
	value, given := n.member("kind")
	if !given {
		return "", refuse(path, "is required")
	}
	if value.shape != shapeText {
		return "", refuse(path, "must be a string and is %s", value.shape)
	}
	if kind := Kind(value.text); kind.Known() {
		return kind, nil
	}
	return "", refuse(path, "%s is none of code_diff, report, dataset, action_log, ops_result", quote(value.text))
}

func (n node) outputPath(kind Kind) (string, *contracts.Error) {
	const path = specPath + ".output_path"
	value, given := n.member("output_path")
	if given && value.shape != shapeText {
		return "", refuse(path, "must be a string and is %s", value.shape)
	}
	blank := strings.TrimSpace(value.text) == ""
	switch {
	case kind == CodeDiff && blank:
		return "", nil
	case kind == CodeDiff:
		return "", refuse(path, "a code_diff has none: its output is a commit")
	case blank:
		return "", refuse(path, "is required for a %s", kind)
	}
	clean, err := CleanOutputPath(value.text)
	if err != nil {
		return "", refuse(path, "%v", err)
	}
	return clean, nil
}

func (n node) canonicalisation(kind Kind) (string, *contracts.Error) {
	const path = specPath + ".canonicalisation"
	value, given := n.member("canonicalisation")
	switch {
	case !given || value.shape == shapeNull:
		return "", nil
	case value.shape != shapeText:
		return "", refuse(path, "must be a string and is %s", value.shape)
	case value.text != "" && value.text != string(kind):
		return "", refuse(path, "%s is not the rule of %s, which is the only one it has", quote(value.text), kind)
	}
	return value.text, nil
}

func (n node) criteria(kind Kind) ([]Criterion, *contracts.Error) {
	const path = specPath + ".criteria"
	value, given := n.member("criteria")
	switch {
	case !given || value.shape == shapeNull:
		return []Criterion{}, nil
	case value.shape != shapeList:
		return nil, refuse(path, "must be a list and is %s", value.shape)
	case kind == CodeDiff && len(value.items) > 0:
		return nil, refuse(path, "a code_diff has none: they judge an artifact")
	}
	criteria := make([]Criterion, len(value.items))
	for i, item := range value.items {
		c, err := item.criterion(path + "[" + strconv.Itoa(i) + "]")
		if err != nil {
			return nil, err
		}
		criteria[i] = c
	}
	return criteria, nil
}

func (n node) criterion(path string) (Criterion, *contracts.Error) {
	if err := n.onlyKeys(path, "type", "value"); err != nil {
		return Criterion{}, err
	}
	var c Criterion
	kind, given := n.member("type")
	switch {
	case !given:
		return c, refuse(path+".type", "is required")
	case kind.shape != shapeText:
		return c, refuse(path+".type", "must be a string and is %s", kind.shape)
	}
	if c.Type = CriterionType(kind.text); !slices.Contains(criterionTypes, c.Type) {
		return c, refuse(path+".type", "%s is none of hash_stable, schema_valid, criteria_match, figures_grounded", quote(kind.text))
	}
	value, given := n.member("value")
	switch {
	case !given:
		return c, refuse(path+".value", "is required")
	case value.shape != shapeText:
		return c, refuse(path+".value", "must be a string and is %s", value.shape)
	}
	c.Value = value.text
	if c.Type == FiguresGrounded {
		if _, err := figures.ParseCriterion(c.Value); err != nil {
			return c, refuse(path+".value", "%s", clip(err.Error(), 200))
		}
	} else if strings.TrimSpace(c.Value) == "" {
		return c, refuse(path+".value", "must not be blank")
	}
	return c, nil
}

func quote(s string) string { return strconv.Quote(clip(s, 40)) }
