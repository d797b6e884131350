// From a verifier's claims to a verdict: its words, the bridge's ids.

package bridge

import (
	"strings"
	"unicode/utf8"

	"countersign/contracts/workflow"
)

// maxFeedback is the server's limit in characters.
const maxFeedback = 8000

// verdict takes from the verifier only its results, holds them against the frozen criteria, and fills
// in everything that ties the verdict to this attempt.
func verdict(plan *workflow.Plan, claims []CriterionClaim) (*workflow.Verdict, error) {
	if len(claims) == 0 {
		return nil, failf("verdict_missing", "the verifier judged no criterion")
	}
	byID := map[string]CriterionClaim{}
	for _, c := range claims {
		if _, twice := byID[c.CriterionID]; twice {
			return nil, failf("verdict_invalid", "criterion %q is judged twice", clip(c.CriterionID, 64))
		}
		byID[c.CriterionID] = c
	}
	v := &workflow.Verdict{
		ContractDigest:      plan.Workflow.ContractDigest,
		WorkerExecutionID:   *plan.Workflow.WorkerExecutionID,
		VerifierExecutionID: plan.ExecutionID,
	}
	if plan.Workflow.CandidateHash != nil {
		v.CandidateHash = *plan.Workflow.CandidateHash
	} else {
		v.CandidateCommit = plan.BaseCommit
	}
	for _, criterion := range plan.Workflow.Criteria {
		c, ok := byID[criterion.ID]
		if !ok {
			return nil, failf("verdict_invalid", "criterion %q is not judged", criterion.ID)
		}
		delete(byID, criterion.ID)
		if c.Outcome != workflow.CriterionPass && c.Outcome != workflow.CriterionFail {
			return nil, failf("verdict_invalid", "criterion %q has outcome %q", criterion.ID, clip(c.Outcome, 64))
		}
		if fault := feedbackFault(c.Feedback); fault != "" {
			return nil, failf("verdict_invalid", "criterion %q: feedback %s", criterion.ID, fault)
		}
		v.Results = append(v.Results, workflow.VerdictResult{
			CriterionID:  criterion.ID,
			Outcome:      c.Outcome,
			EvidencePath: evidencePath(plan.ExecutionID),
			Feedback:     c.Feedback,
		})
	}
	for id := range byID {
		return nil, failf("verdict_invalid", "criterion %q is not one of the contract's", clip(id, 64))
	}
	return v, nil
}

// placeholders are what a model writes when it fills a form instead of judging.
var placeholders = map[string]bool{
	"...": true, "…": true, "-": true, "n/a": true, "na": true, "none": true, "null": true, "tbd": true, "todo": true,
	"string": true, "text": true, "feedback": true, "<feedback>": true, "placeholder": true, "your feedback here": true,
}

func feedbackFault(text string) string {
	switch {
	case workflow.Blank(text):
		return "is empty"
	case placeholders[strings.ToLower(strings.TrimSpace(text))]:
		return "is a placeholder"
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "is not text"
	case utf8.RuneCountInString(text) > maxFeedback:
		return "is too long"
	}
	return ""
}
