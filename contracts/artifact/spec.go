// What a task declares about the artifact it will produce, and the order in which that is checked.

package artifact

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"countersign/contracts"
	"countersign/contracts/figures"
	"countersign/contracts/tree"
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

// specOf checks a declaration (seed, section "Declaring one"), in this order: it is a mapping; unknown
// keys, the first by name; kind; output_path; canonicalisation; criteria.
func specOf(n tree.Node) (Spec, *contracts.Error) {
	if err := n.OnlyKeys(specPath, "kind", "output_path", "canonicalisation", "criteria"); err != nil {
		return Spec{}, err
	}
	kind, err := kindOf(n)
	if err != nil {
		return Spec{}, err
	}
	outputPath, err := outputPathOf(n, kind)
	if err != nil {
		return Spec{}, err
	}
	canonicalisation, err := canonicalisationOf(n, kind)
	if err != nil {
		return Spec{}, err
	}
	criteria, err := criteriaOf(n, kind)
	if err != nil {
		return Spec{}, err
	}
	return Spec{kind, outputPath, canonicalisation, criteria}, nil
}

func kindOf(n tree.Node) (Kind, *contracts.Error) {
	const path = specPath + ".kind"
	value, given := n.Member("kind")
	if !given {
		return "", refuse(path, "is required")
	}
	if value.Shape != tree.Text {
		return "", value.NotText(path)
	}
	if kind := Kind(value.Text); kind.Known() {
		return kind, nil
	}
	return "", refuse(path, "%s is none of code_diff, report, dataset, action_log, ops_result", quote(value.Text))
}

func outputPathOf(n tree.Node, kind Kind) (string, *contracts.Error) {
	const path = specPath + ".output_path"
	value, given := n.Member("output_path")
	if given && value.Shape != tree.Text {
		return "", value.NotText(path)
	}
	blank := strings.TrimSpace(value.Text) == ""
	switch {
	case kind == CodeDiff && blank:
		return "", nil
	case kind == CodeDiff:
		return "", refuse(path, "a code_diff has none: its output is a commit")
	case blank:
		return "", refuse(path, "is required for a %s", kind)
	}
	clean, err := CleanOutputPath(value.Text)
	if err != nil {
		return "", refuse(path, "%v", err)
	}
	return clean, nil
}

func canonicalisationOf(n tree.Node, kind Kind) (string, *contracts.Error) {
	const path = specPath + ".canonicalisation"
	value, given := n.Member("canonicalisation")
	switch {
	case !given || value.Shape == tree.Null:
		return "", nil
	case value.Shape != tree.Text:
		return "", value.NotText(path)
	case value.Text != "" && value.Text != string(kind):
		return "", refuse(path, "%s is not the rule of %s, which is the only one it has", quote(value.Text), kind)
	}
	return value.Text, nil
}

func criteriaOf(n tree.Node, kind Kind) ([]Criterion, *contracts.Error) {
	const path = specPath + ".criteria"
	value, given := n.Member("criteria")
	switch {
	case !given || value.Shape == tree.Null:
		return []Criterion{}, nil
	case value.Shape != tree.List:
		return nil, refuse(path, "must be a list and is %s", value.Shape)
	case kind == CodeDiff && len(value.Items) > 0:
		return nil, refuse(path, "a code_diff has none: they judge an artifact")
	}
	criteria := make([]Criterion, len(value.Items))
	for i, item := range value.Items {
		c, err := criterionOf(item, path+"["+strconv.Itoa(i)+"]")
		if err != nil {
			return nil, err
		}
		criteria[i] = c
	}
	return criteria, nil
}

func criterionOf(n tree.Node, path string) (Criterion, *contracts.Error) {
	if err := n.OnlyKeys(path, "type", "value"); err != nil {
		return Criterion{}, err
	}
	var c Criterion
	kind, given := n.Member("type")
	switch {
	case !given:
		return c, refuse(path+".type", "is required")
	case kind.Shape != tree.Text:
		return c, kind.NotText(path + ".type")
	}
	if c.Type = CriterionType(kind.Text); !slices.Contains(criterionTypes, c.Type) {
		return c, refuse(path+".type", "%s is none of hash_stable, schema_valid, criteria_match, figures_grounded", quote(kind.Text))
	}
	value, given := n.Member("value")
	switch {
	case !given:
		return c, refuse(path+".value", "is required")
	case value.Shape != tree.Text:
		return c, value.NotText(path + ".value")
	}
	c.Value = value.Text
	if c.Type == FiguresGrounded {
		if _, err := figures.ParseCriterion(c.Value); err != nil {
			return c, refuse(path+".value", "%s", clip(withinValue(err), 200))
		}
	} else if strings.TrimSpace(c.Value) == "" {
		return c, refuse(path+".value", "must not be blank")
	}
	return c, nil
}

// withinValue says what is wrong with a criterion's value, and where in it unless it is the value as a whole.
func withinValue(err error) string {
	refusal, ok := errors.AsType[*contracts.Error](err)
	switch {
	case !ok:
		return err.Error()
	case refusal.Path == "$":
		return refusal.Detail
	}
	return refusal.Path + ": " + refusal.Detail
}

func quote(s string) string { return strconv.Quote(clip(s, 40)) }
