// What a node's report does.

package workflow

import (
	"strconv"

	"countersign/contracts"
	"countersign/contracts/capability"
	"countersign/contracts/completion"
)

// activityID is the execution id, with /2, /3 … when the attempt was armed again.
func activityID(a Attempt) string {
	if a.Arming <= 1 {
		return a.ExecutionID
	}
	return a.ExecutionID + "/" + strconv.Itoa(a.Arming)
}

func decideEvent(s State, c Command, f Facts) Decision {
	a, e := f.Subject, f.Event
	switch {
	case f.Authority != nil:
		return Decision{Refusal: f.Authority}
	case a.HeldOff(e.Fence) != nil:
		return Decision{Refusal: a.HeldOff(e.Fence)}
	case a.Expired(f.Now):
		// The call is refused, and what it ran into is recorded under the call's own hash.
		d := expire(s, f, c.Actor)
		d.Step.Answer.Refusal = a.ExpiryRefusal()
		return d
	}
	if refusal := a.Refuses(e); refusal != nil {
		return Decision{Refusal: refusal}
	}
	if refusal := e.checkDispatch(f.bound() != nil); refusal != nil {
		return Decision{Refusal: refusal}
	}
	if f.bound() != nil && !f.ContractIntact {
		return Decision{Refusal: tampered()}
	}
	if refusal := e.checkMode(s.ArtifactMode()); refusal != nil {
		return Decision{Refusal: refusal}
	}
	if e.State == EventRunning && f.SessionSeen {
		return refuse(contracts.CodeSessionReused, "this provider session was seen before on this instance")
	}
	var p Payload
	if a.Purpose == PurposeWork {
		p = e.payload()
	}
	switch {
	case p.Violation != nil:
		return violated(s, f, p)
	case f.FollowUpConflict:
		return refuse(contracts.CodeFollowUpConflict, "a task with a follow-up's id exists and came from other input")
	}
	return advance(s, f, p)
}

// violated ends the attempt for a payload outside its contract. The call is refused, and recorded.
func violated(s State, f Facts, p Payload) Decision {
	d := newStep(s, f)
	d.Payload, d.EventRecorded = p, true
	end := *f.Event
	if end.Live != nil {
		seen := *end.Live
		seen.OutputValidation = capability.OutputFailed // whatever the node found
		end.Live = &seen
	}
	d.settle(f, f.Subject, &end)
	id := d.Step.Active.ExecutionID
	d.end(AttemptFailed, OutcomeViolation, ReasonContractViolation)
	d.entry(EntryFailed, id, map[string]any{"reason": string(ReasonContractViolation), "path": p.Violation.Path, "said": p.Violation.Detail})
	d.block(id, ReasonContractViolation)
	d.Step.Answer.Refusal = &contracts.Error{Code: contracts.CodeContractViolation, Contract: p.Violation.Contract}
	return *d
}

// HeldOff refuses a call that does not come from the attempt's holder, or comes after its end. An
// older token, another lease, and any call on an offer that nobody claimed are fenced.
func (a *Attempt) HeldOff(held Fence) *contracts.Error {
	switch {
	case !a.Claimed() || a.LeaseID != held.LeaseID || a.FencingToken != held.FencingToken:
		return contracts.Refuse(contracts.CodeFenced, "another lease or fencing token holds this execution")
	case a.Phase.Final():
		return a.Terminal()
	}
	return nil
}

// Refuses says why the holder's event may not come now: its sequence, then what only the other
// purpose may hand in, then its state, then its session.
func (a *Attempt) Refuses(e *Event) *contracts.Error {
	if refusal := a.checkSequence(e.Sequence); refusal != nil {
		return refusal
	}
	if refusal := e.checkPurpose(a.Purpose); refusal != nil {
		return refusal
	}
	if refusal := a.checkState(e.State); refusal != nil {
		return refusal
	}
	if e.State != EventRunning && e.ProviderSessionID != nil && *e.ProviderSessionID != a.ProviderSessionID {
		return contracts.Refuse(contracts.CodeSessionMismatch, "the provider session is not the one that was reported running")
	}
	return nil
}

// ExpiryRefusal is the answer to a call on a lease that is over.
func (a *Attempt) ExpiryRefusal() *contracts.Error {
	if a.ExpiryReason() == ReasonDeadlineExceeded {
		return contracts.Refuse(contracts.CodeDeadlineExceeded, "the attempt's deadline is over")
	}
	return contracts.Refuse(contracts.CodeLeaseExpired, "the lease is over")
}

// checkSequence refuses a sequence that is not the next: one that is taken by another body, or a gap.
func (a *Attempt) checkSequence(sequence int) *contracts.Error {
	switch next := a.LastEvent + 1; {
	case sequence > MaxEvents:
		return contracts.Refuse(contracts.CodeRateLimited, "an execution reports at most %d events", MaxEvents)
	case sequence < next:
		return contracts.Refuse(contracts.CodeSequenceConflict, "sequence %d is recorded with another body", sequence)
	case sequence > next:
		return contracts.Refuse(contracts.CodeSequenceGap, "the next sequence is %d", next)
	}
	return nil
}

// checkState holds events to their order; a failure may come at any time after the claim.
func (a *Attempt) checkState(state EventState) *contracts.Error {
	if refusal := a.checkDispatchState(state); refusal != nil {
		return refusal
	}
	if a.reportsAgain(state) {
		return nil
	}
	var after AttemptPhase
	switch state {
	case EventPreparing:
		after = AttemptClaimed
	case EventRunning:
		after = AttemptPreparing
	case EventCompleted:
		after = AttemptRunning
	default:
		return nil
	}
	if a.Phase != after {
		return contracts.Refuse(contracts.CodeStateConflict, "%s cannot follow %s", state, a.Phase)
	}
	return nil
}

// advance records an event that nothing speaks against.
func advance(s State, f Facts, p Payload) Decision {
	e := f.Event
	a := *f.Subject
	a.LastEvent = e.Sequence
	d := newStep(s, f)
	d.Step.Active = &a
	d.Payload, d.EventRecorded = p, true
	after := AttemptCompleted
	var judged *DispatchRecord
	switch e.State {
	case EventPreparing:
		a.Phase, after = AttemptPreparing, AttemptPreparing
		if a.Purpose == PurposeWork {
			d.Step.Phase = PhasePreparing
		}
		judged = d.judgeReport(f, &a)
		d.entry(EntryPreparing, a.ExecutionID, withCodes(map[string]any{}, judged))
		if judged != nil && a.Dispatch != DispatchAttempt && a.Dispatch != DispatchWait {
			d.failDispatch(judged)
			after = d.Step.Ended.Phase
		}
	case EventRunning:
		a.Phase, after = AttemptRunning, AttemptRunning
		a.ProviderSessionID = *e.ProviderSessionID
		if d.Step.Phase = PhaseRunning; a.Purpose == PurposeVerify {
			d.Step.Phase = PhaseVerifying
		}
		d.entry(EntryRunning, a.ExecutionID, map[string]any{"provider_session_id": a.ProviderSessionID})
	case EventCompleted:
		judged = d.settle(f, f.Subject, e)
		if a.Purpose == PurposeWork && s.ArtifactMode() {
			if refusal := d.artifactCompleted(s, f, judged); refusal != nil {
				return Decision{Refusal: refusal}
			}
		} else if a.Purpose == PurposeWork {
			d.workCompleted(s, f, judged)
		} else if refusal := d.verifyCompleted(s, f, judged); refusal != nil {
			return Decision{Refusal: refusal}
		}
		after = d.Step.Ended.Phase
	case EventFailed, EventInterrupted:
		judged = d.settle(f, f.Subject, e)
		d.nodeGaveUp(f)
		after = d.Step.Ended.Phase
	}
	d.Step.Answer.Event = &EventAnswer{
		Sequence: e.Sequence, Phase: after, WorkflowPhase: d.Step.Phase, Reason: d.Step.Reason, Decision: decided(judged),
	}
	return *d
}

// fail ends the active attempt as failed and blocks the revision.
func (d *Decision) fail(reason Reason) { d.failFor(reason, map[string]any{}) }

// failFor is fail with more to say in the history.
func (d *Decision) failFor(reason Reason, said map[string]any) {
	id := d.Step.Active.ExecutionID
	d.end(AttemptFailed, OutcomeFailed, reason)
	d.entry(EntryFailed, id, withReason(said, reason))
	d.block(id, reason)
}

func (d *Decision) nodeGaveUp(f Facts) {
	e, id := f.Event, d.Step.Active.ExecutionID
	said := map[string]any{}
	if e.Reason != nil {
		said["said"] = *e.Reason
	}
	if e.State == EventInterrupted {
		d.end(AttemptInterrupted, OutcomeInterrupted, ReasonAttemptInterrupted)
		d.entry(EntryInterrupted, id, withReason(said, ReasonAttemptInterrupted))
		d.block(id, ReasonAttemptInterrupted)
		return
	}
	outcome, reason := OutcomeFailed, ReasonAttemptFailed
	if r := d.Payload.Refusal; r != nil {
		outcome, reason = OutcomeRefused, Reason(completion.BlockedReason(r.Kind))
	}
	d.end(AttemptFailed, outcome, reason)
	d.entry(EntryFailed, id, withReason(said, reason))
	d.block(id, reason)
}

func withReason(data map[string]any, reason Reason) map[string]any {
	data["reason"] = string(reason)
	return data
}

// attested reports whether a completed event says everything that makes its result usable.
func attested(s State, e *Event) bool {
	if s.ArtifactMode() {
		return e.ArtifactHash != nil && e.EvidencePath != nil
	}
	return e.ResultCommit != nil && e.EvidencePath != nil && e.CleanWorkspace != nil && *e.CleanWorkspace
}

// result ends the active attempt with what it handed in.
func (d *Decision) result(e *Event, outcome Outcome) {
	id := d.Step.Active.ExecutionID
	d.Result = &AttemptResult{EvidencePath: *e.EvidencePath}
	said := map[string]any{"evidence_path": *e.EvidencePath}
	if e.ArtifactHash != nil {
		d.Result.ArtifactHash = *e.ArtifactHash
		said["artifact_hash"] = *e.ArtifactHash
	} else {
		d.Result.ResultCommit = *e.ResultCommit
		said["result_commit"] = *e.ResultCommit
	}
	d.end(AttemptCompleted, outcome, "")
	d.entry(EntryCompleted, id, said)
}

// workCompleted makes the result the candidate and offers its verification, in one step. A result that
// the settled dispatch does not let count is none.
func (d *Decision) workCompleted(s State, f Facts, settled *DispatchRecord) {
	switch {
	case !attested(s, f.Event):
		d.fail(ReasonEvidenceMissing)
		return
	case settled != nil && !settled.Stands():
		d.failDispatch(settled)
		return
	}
	worker := d.Step.Active
	d.result(f.Event, OutcomeResult)
	d.Step.CandidateCommit, d.Step.WorkerExecutionID = *f.Event.ResultCommit, worker.ExecutionID
	d.offer(s, f, PurposeVerify, worker.Number, *f.Event.ResultCommit)
}
