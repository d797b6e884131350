// The machine: one pure function from a state, a command and the facts to a decision.

package workflow

import (
	"maps"

	"countersign/contracts"
)

// Decide says what a command does to a revision. It is pure; whatever it needs of the world is in the
// facts. Replays are settled before it is asked, by the command's InputHash.
func Decide(s State, c Command, f Facts) Decision {
	switch c.Kind {
	case CommandClaim:
		return decideClaim(s, c, f)
	case CommandEvent:
		return decideEvent(s, c, f)
	case CommandCancel:
		return decideCancel(s, c, f)
	case CommandReconcile:
		return decideReconcile(s, c, f)
	case CommandSettle:
		return decideSettle(s, c, f)
	case CommandExpire:
		if s.Active.Expired(f.Now) && s.Active.ActivityID == c.ActivityID {
			return expire(s, f, c.Actor)
		}
		return Decision{}
	case CommandBlock:
		if s.Active == nil || (c.ExecutionID != "" && s.Active.ExecutionID != c.ExecutionID) {
			return Decision{}
		}
		return block(s, f, c.Reason, c.Actor)
	}
	return refuse(contracts.CodeInvalid, "unknown command %q", c.Kind)
}

func refuse(code contracts.Code, format string, args ...any) Decision {
	return Decision{Refusal: contracts.Refuse(code, format, args...)}
}

func decideClaim(s State, c Command, f Facts) Decision {
	switch {
	case f.Authority != nil:
		return Decision{Refusal: f.Authority}
	case f.Subject.Phase.Final():
		return Decision{Refusal: f.Subject.Terminal()}
	case f.Subject.Claimed():
		return refuse(contracts.CodeAlreadyClaimed, "the execution is claimed under another claim_id")
	}
	a := *f.Subject
	a.Phase = AttemptClaimed
	a.SessionID, a.ClaimID, a.LeaseID, a.FencingToken = f.Fresh.SessionID, c.ClaimID, f.Fresh.LeaseID, f.Fresh.FencingToken
	a.ActivityID, a.Arming = a.ExecutionID, 1
	a.ClaimedAt, a.DeadlineAt = f.Now, f.Now.Add(f.Deadline)
	a.LeaseExpiresAt = f.Now.Add(min(f.Lease, f.Deadline))
	d := newStep(s, f)
	d.Step.Active = &a
	if a.Purpose == PurposeWork {
		d.Step.Phase = PhaseClaimed
	}
	d.entry(EntryClaimed, a.ExecutionID, map[string]any{
		"node_id": s.NodeID, "session_id": a.SessionID, "fencing_token": a.FencingToken,
		"lease_expires_at": a.LeaseExpiresAt, "deadline_at": a.DeadlineAt,
	})
	return *d
}

// Terminal is the refusal of a call on an attempt that has ended, with the reason.
func (a *Attempt) Terminal() *contracts.Error {
	e := contracts.Refuse(contracts.CodeExecutionTerminal, "the attempt has ended: %s", a.Phase)
	e.Reason = string(a.Reason)
	if e.Reason == "" {
		e.Reason = string(a.Phase)
	}
	return e
}

// newStep is a step that changes nothing yet.
func newStep(s State, f Facts) *Decision {
	return &Decision{Step: &Step{
		First: s.Sequence + 1, At: f.Now, Phase: s.Phase, Reason: s.Reason, CandidateCommit: s.CandidateCommit, CandidateHash: s.CandidateHash,
		WorkerExecutionID: s.WorkerExecutionID, WorkAttempts: s.WorkAttempts, FailedCriteria: s.FailedCriteria,
		ReceiptID: s.ReceiptID, Active: s.Active,
	}}
}

func (d *Decision) entry(kind EntryKind, attempt string, data map[string]any) {
	if data == nil {
		data = map[string]any{}
	}
	maps.DeleteFunc(data, func(_ string, v any) bool { return v == "" || v == nil })
	d.Step.Kinds = append(d.Step.Kinds, kind)
	d.Entries = append(d.Entries, EntryBody{attempt, data})
}

// end ends the active attempt; the entries that say so follow.
func (d *Decision) end(phase AttemptPhase, outcome Outcome, reason Reason) {
	a := d.Step.Active
	d.Step.Ended = &Ended{a.ExecutionID, a.ActivityID, phase, outcome, reason}
	d.Step.Active = nil
}

// block ends the revision as blocked.
func (d *Decision) block(attempt string, reason Reason) {
	d.Step.Phase, d.Step.Reason = PhaseBlocked, reason
	d.entry(EntryBlocked, attempt, map[string]any{"reason": string(reason)})
}

// offer makes the next attempt and offers it to the revision's node.
func (d *Decision) offer(s State, f Facts, purpose Purpose, number int, base string) {
	a := &Attempt{ExecutionID: f.Fresh.ExecutionID, Purpose: purpose, Number: number, Phase: AttemptOffered, BaseCommit: base}
	if f.bound() != nil {
		a.Dispatch = DispatchUndecided
	}
	d.Step.Active = a
	d.Step.Phase = PhaseOffered
	if purpose == PurposeVerify {
		d.Step.Phase = PhaseAwaitingVerification
	} else {
		d.Step.WorkAttempts = number
	}
	d.entry(EntryOffered, a.ExecutionID, map[string]any{
		"node_id": s.NodeID, "purpose": string(purpose), "number": number, "base_commit": base,
	})
}
