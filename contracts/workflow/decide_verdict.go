// What a verifier's verdict does: acceptance, a correction, or a block. Never a guess.

package workflow

import "countersign/contracts"

// verifyCompleted judges the verifier's terminal event. Only a valid verdict can accept a candidate
// or ask for changes; anything less blocks for what it is. It refuses only when the frozen contract
// no longer has its digest, for then nothing may be signed for. A verdict of a session that is not
// provably independent, where the capability contract asks for that, judges nothing either way.
func (d *Decision) verifyCompleted(s State, f Facts, settled *DispatchRecord) *contracts.Error {
	e := f.Event
	verifier := d.Step.Active.ExecutionID
	switch {
	case !f.ContractIntact:
		return tampered()
	case !attested(s, e):
		d.fail(ReasonEvidenceMissing)
		return nil
	case settled != nil && !settled.Stands():
		d.failDispatch(settled)
		return nil
	case e.Verdict == nil:
		d.fail(ReasonVerdictMissing)
		return nil
	case !s.hands(e) || !validVerdict(s, verifier, e.Verdict, f.Contract.Criteria):
		d.fail(ReasonVerdictInvalid)
		return nil
	}
	failed := []string{}
	for _, r := range e.Verdict.Results {
		d.Feedback = append(d.Feedback, CriterionFeedback{r.CriterionID, r.Outcome, r.EvidencePath, r.Feedback})
		if r.Outcome == CriterionFail {
			failed = append(failed, r.CriterionID)
		}
	}
	d.Step.FailedCriteria = failed
	if len(failed) == 0 {
		d.accept(f, verifier)
		return nil
	}
	d.result(e, OutcomeVerdictFail)
	d.entry(EntryVerdict, verifier, map[string]any{"outcome": CriterionFail, "failed_criteria": failed})
	if s.WorkAttempts >= s.MaxWorkAttempts {
		d.block(verifier, ReasonWorkBudgetExhausted)
		return nil
	}
	if refused := d.offerable(f); refused != nil {
		d.blockDispatch(verifier, refused)
		return nil
	}
	d.entry(EntryChangesRequested, verifier, map[string]any{"failed_criteria": failed})
	base := s.CandidateCommit
	if s.ArtifactMode() {
		base = f.Contract.BaseCommit
	}
	d.offer(s, f, PurposeWork, s.WorkAttempts+1, base)
	return nil
}

// tampered refuses to decide by a contract that is not what was frozen.
func tampered() *contracts.Error {
	return contracts.Refuse(contracts.CodeInternal, "the stored contract does not have its digest")
}

func (d *Decision) accept(f Facts, verifier string) {
	d.result(f.Event, OutcomeVerdictPass)
	d.Accepted = f.Event.Verdict
	d.Step.Phase, d.Step.ReceiptID = PhaseAccepted, f.Fresh.ReceiptID
	d.entry(EntryVerdict, verifier, map[string]any{"outcome": CriterionPass})
	d.entry(EntryAccepted, verifier, map[string]any{
		"receipt_id": f.Fresh.ReceiptID, "candidate_commit": d.Step.CandidateCommit, "candidate_hash": d.Step.CandidateHash,
		"warning": strictLater(f.Contract),
	})
}

// hands reports whether a verifier's event names the candidate as what it judged.
func (s State) hands(e *Event) bool {
	if s.ArtifactMode() {
		return *e.ArtifactHash == s.CandidateHash
	}
	return *e.ResultCommit == s.CandidateCommit
}

// validVerdict holds a verdict to this attempt and to the frozen criteria: every id matches, every
// criterion stands exactly once with pass or fail, an evidence path and feedback that says something.
// Copies of a criterion's text do not count.
func validVerdict(s State, verifier string, v *Verdict, criteria []Criterion) bool {
	if v.ContractDigest != s.ContractDigest || v.CandidateCommit != s.CandidateCommit || v.CandidateHash != s.CandidateHash ||
		v.WorkerExecutionID != s.WorkerExecutionID || v.VerifierExecutionID != verifier ||
		len(v.Results) != len(criteria) {
		return false
	}
	open := make(map[string]bool, len(criteria))
	for _, c := range criteria {
		open[c.ID] = true
	}
	for _, r := range v.Results {
		if !open[r.CriterionID] || (r.Outcome != CriterionPass && r.Outcome != CriterionFail) || Blank(r.Feedback) {
			return false
		}
		delete(open, r.CriterionID)
	}
	return true
}
