// Which claims of a verifier make a verdict.

package bridge

import (
	"strings"
	"testing"

	"countersign/contracts/workflow"

	"github.com/stretchr/testify/require"
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	worker := "w1"
	plan := &workflow.Plan{ExecutionID: "v1", BaseCommit: strings.Repeat("a", 40), Workflow: workflow.PlanWorkflow{
		ContractDigest: strings.Repeat("b", 64), WorkerExecutionID: &worker,
		Criteria: []workflow.Criterion{{ID: "tests"}, {ID: "docs"}},
	}}
	claim := func(id, outcome, feedback string) CriterionClaim { return CriterionClaim{id, outcome, feedback} }
	good := claim("docs", "fail", "Nothing is described.")

	v, err := verdict(plan, []CriterionClaim{good, claim("tests", "pass", "They pass.")})
	require.NoError(t, err)
	require.Equal(t, &workflow.Verdict{
		ContractDigest: plan.Workflow.ContractDigest, CandidateCommit: plan.BaseCommit, WorkerExecutionID: "w1", VerifierExecutionID: "v1",
		Results: []workflow.VerdictResult{
			{CriterionID: "tests", Outcome: "pass", EvidencePath: ".countersign/evidence/v1.json", Feedback: "They pass."},
			{CriterionID: "docs", Outcome: "fail", EvidencePath: ".countersign/evidence/v1.json", Feedback: "Nothing is described."},
		},
	}, v)

	for name, c := range map[string]struct {
		reason string
		claims []CriterionClaim
	}{
		"none":         {"verdict_missing", nil},
		"missing":      {"verdict_invalid: criterion \"tests\" is not judged", []CriterionClaim{good}},
		"extra":        {"verdict_invalid: criterion \"more\"", []CriterionClaim{good, claim("tests", "pass", "Yes."), claim("more", "pass", "Yes.")}},
		"twice":        {"verdict_invalid: criterion \"docs\" is judged twice", []CriterionClaim{good, good, claim("tests", "pass", "Yes.")}},
		"case":         {"verdict_invalid: criterion \"tests\" is not judged", []CriterionClaim{good, claim("Tests", "pass", "Yes.")}},
		"outcome":      {"verdict_invalid: criterion \"tests\" has outcome \"PASS\"", []CriterionClaim{good, claim("tests", "PASS", "Yes.")}},
		"empty":        {"verdict_invalid: criterion \"tests\": feedback is empty", []CriterionClaim{good, claim("tests", "pass", " \n\t")}},
		"placeholder":  {"verdict_invalid: criterion \"tests\": feedback is a placeholder", []CriterionClaim{good, claim("tests", "pass", " TODO ")}},
		"nul":          {"verdict_invalid: criterion \"tests\": feedback is not text", []CriterionClaim{good, claim("tests", "pass", "a\x00b")}},
		"too long":     {"verdict_invalid: criterion \"tests\": feedback is too long", []CriterionClaim{good, claim("tests", "pass", strings.Repeat("ä", 8001))}},
		"out of range": {"verdict_invalid: criterion \"tests\" has outcome \"\"", []CriterionClaim{good, claim("tests", "", "Yes.")}},
	} {
		_, err := verdict(plan, c.claims)
		require.ErrorContains(t, err, c.reason, name)
	}
	_, err = verdict(plan, []CriterionClaim{good, claim("tests", "pass", strings.Repeat("ä", 8000))})
	require.NoError(t, err)
}
