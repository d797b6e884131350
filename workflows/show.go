// What Temporal's UI and the live query show of a revision.

package workflows

import (
	"fmt"
	"strconv"
	"strings"

	contract "countersign/contracts/workflow"

	"go.temporal.io/sdk/workflow"
)

func itoa(n int) string { return strconv.Itoa(n) }

func (r *revision) live() contract.Live {
	s := r.state
	l := contract.Live{
		WorkflowID: r.id, TaskID: s.TaskID, Revision: s.Revision, Phase: s.Phase, Reason: s.Reason,
		Sequence: s.Sequence, CandidateCommit: s.CandidateCommit, CandidateHash: s.CandidateHash,
	}
	if a := s.Active; a != nil {
		l.ExecutionID, l.Purpose, l.AttemptPhase, l.ActivityID = a.ExecutionID, a.Purpose, a.Phase, a.ActivityID
	}
	return l
}

// show brings search attributes and details up to the state.
func (r *revision) show() {
	purpose, reason := keyPurpose.ValueUnset(), keyReason.ValueUnset()
	if r.state.Active != nil {
		purpose = keyPurpose.ValueSet(string(r.state.Active.Purpose))
	}
	if r.state.Reason != "" {
		reason = keyReason.ValueSet(string(r.state.Reason))
	}
	if err := workflow.UpsertTypedSearchAttributes(r.ctx, keyPhase.ValueSet(string(r.state.Phase)), purpose, reason); err != nil {
		workflow.GetLogger(r.ctx).Warn("search attributes not set", "error", err)
	}
	workflow.SetCurrentDetails(r.ctx, r.details())
}

// details is Markdown made of ids and digests only: Temporal keeps it.
func (r *revision) details() string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**", r.state.Phase)
	if r.state.Reason != "" {
		fmt.Fprintf(&b, ": %s", r.state.Reason)
	}
	fmt.Fprintf(&b, "\n\n- contract `%s`\n", r.state.ContractDigest)
	if a := r.state.Active; a != nil {
		fmt.Fprintf(&b, "- %s attempt %d `%s`: %s\n", a.Purpose, a.Number, a.ExecutionID, a.Phase)
		if a.Live() {
			fmt.Fprintf(&b, "- fencing token %d, deadline %s\n", a.FencingToken, a.DeadlineAt.UTC().Format("2006-01-02 15:04:05 UTC"))
		}
	}
	if r.state.CandidateHash != "" {
		fmt.Fprintf(&b, "- candidate `%s`\n", r.state.CandidateHash)
	}
	if r.state.CandidateCommit != "" {
		fmt.Fprintf(&b, "- candidate `%s`\n", r.state.CandidateCommit)
	}
	for _, id := range r.state.FailedCriteria {
		fmt.Fprintf(&b, "- failed criterion `%s`\n", id)
	}
	if r.state.ReceiptID != "" {
		fmt.Fprintf(&b, "- receipt `%s`\n", r.state.ReceiptID)
	}
	return b.String()
}
