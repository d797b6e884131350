// The refusal: what a worker hands in when it cannot go on, in a closed taxonomy.

package completion

import "strings"

// Kind says why a worker cannot go on. There is deliberately no catch-all, so that every refusal
// has one way to be handled.
type Kind string

// The kinds of a refusal, each with the one field it must carry.
const (
	KindAwaitingOperator    Kind = "awaiting_operator"     // question: a human must decide first
	KindUnderspecified      Kind = "underspecified"        // question: the task is too vague to act on
	KindScopeExceeded       Kind = "scope_exceeded"        // proposed_split: too large, split like this
	KindBlockedOnDependency Kind = "blocked_on_dependency" // blocking_dep: another task or resource comes first
)

// Limits of a refusal's own field.
const (
	// MaxQuestion is how long question and blocking_dep may be, in Unicode code points.
	MaxQuestion = 10_000
	// MaxSplitItems is how many items proposed_split may hold; one at least.
	MaxSplitItems = 100
	// MaxSplitItem is how long one item of proposed_split may be, in Unicode code points.
	MaxSplitItem = 2_000
)

// Refusal is the payload of a worker that cannot go on. All strings are kept as sent; of the last
// three fields exactly the one that Kind names is set.
type Refusal struct {
	Kind Kind `json:"kind"`
	// Detail says why, for a person: not blank, at most MaxSummary code points.
	Detail string `json:"detail"`
	// Question is what a human must answer.
	Question string `json:"question,omitzero"`
	// ProposedSplit are the parts the worker proposes, in its order; none is blank.
	ProposedSplit []string `json:"proposed_split,omitzero"`
	// BlockingDep names the task or resource that comes first.
	BlockingDep string `json:"blocking_dep,omitzero"`
}

// Outcome is OutcomeRefusal.
func (Refusal) Outcome() Outcome { return OutcomeRefusal }

func (r Refusal) normalised() any {
	return struct {
		Contract string `json:"contract"`
		Refusal  `json:",inline"`
	}{Version, r}
}

// kindRule is what one kind of refusal carries and leads to.
type kindRule struct {
	kind    Kind
	field   string
	blocked string
}

var taxonomy = []kindRule{
	{KindAwaitingOperator, "question", "refused_awaiting_operator"},
	{KindUnderspecified, "question", "refused_underspecified"},
	{KindScopeExceeded, "proposed_split", "refused_scope_exceeded"},
	{KindBlockedOnDependency, "blocking_dep", "refused_blocked_on_dependency"},
}

func ruleOf(kind Kind) (kindRule, bool) {
	for _, rule := range taxonomy {
		if rule.kind == kind {
			return rule, true
		}
	}
	return kindRule{}, false
}

// BlockedReason is the reason with which a refusal of this kind blocks its revision, as
// docs/workflow.md lists them; empty for a kind outside the taxonomy, which Parse never returns.
func BlockedReason(kind Kind) string {
	rule, _ := ruleOf(kind)
	return rule.blocked
}

// knownKinds lists the taxonomy for a message.
func knownKinds() string {
	names := make([]string, len(taxonomy))
	for i, rule := range taxonomy {
		names[i] = string(rule.kind)
	}
	return strings.Join(names, ", ")
}
