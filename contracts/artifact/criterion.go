// What a task may demand of its artifact.

package artifact

import "slices"

// CriterionType is how a criterion is judged (seed, section "Verification criteria").
type CriterionType string

// The types. Each has a closed evaluator; none runs anything of the artifact.
const (
	HashStable      CriterionType = "hash_stable"
	SchemaValid     CriterionType = "schema_valid"
	CriteriaMatch   CriterionType = "criteria_match"
	FiguresGrounded CriterionType = "figures_grounded"
)

var criterionTypes = []CriterionType{HashStable, SchemaValid, CriteriaMatch, FiguresGrounded}

// CriterionTypes lists all types.
func CriterionTypes() []CriterionType { return slices.Clone(criterionTypes) }

// Criterion is one demand, as declared.
type Criterion struct {
	Type CriterionType `json:"type"`
	// Value is what Type compares with: a content hash; a JSON Schema; a list of predicates; for
	// figures_grounded see figures.ParseCriterion.
	Value string `json:"value"`
}

// Result is the verdict on one criterion.
type Result struct {
	Type   CriterionType `json:"type"`
	Passed bool          `json:"passed"`
	// Detail says in one sentence why, with what the artifact holds where that is short.
	Detail string `json:"detail"`
}
