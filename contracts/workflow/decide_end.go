// How a revision ends without a verdict: cancel, expiry, reconcile, revocation.

package workflow

import "countersign/contracts"

func decideCancel(s State, c Command, f Facts) Decision {
	switch {
	case s.Phase == PhaseCancelled:
		return Decision{}
	case s.Phase.Final():
		return Decision{Refusal: workflowTerminal(s)}
	case stale(c, f):
		return refuse(contracts.CodeVersionConflict, "the task has version %d", f.TaskVersion)
	}
	d := newStep(s, f)
	d.settle(f, s.Active, nil)
	id := s.Active.ExecutionID
	d.end(AttemptCancelled, OutcomeCancelled, ReasonCancelled)
	d.Step.Phase = PhaseCancelled
	d.entry(EntryCancelled, id, map[string]any{"by": c.Actor})
	return *d
}

func workflowTerminal(s State) *contracts.Error {
	e := contracts.Refuse(contracts.CodeWorkflowTerminal, "the revision is %s", s.Phase)
	if e.Reason = string(s.Reason); e.Reason == "" {
		e.Reason = string(s.Phase)
	}
	return e
}

func stale(c Command, f Facts) bool {
	return c.ExpectedVersion != 0 && c.ExpectedVersion != f.TaskVersion
}

func decideReconcile(s State, c Command, f Facts) Decision {
	switch {
	case s.Phase.Final():
		return Decision{}
	case stale(c, f):
		return refuse(contracts.CodeVersionConflict, "the task has version %d", f.TaskVersion)
	case !s.Active.Live():
		return refuse(contracts.CodeNothingToReconcile, "no attempt is claimed")
	case !s.Active.Expired(f.Now):
		return refuse(contracts.CodeLeaseActive, "the lease lives until %s", s.Active.LeaseExpiresAt.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	return expire(s, f, c.Actor)
}

// decideSettle answers a time-out of the attempt's activity. The row decides: expired, the attempt
// is interrupted; not expired (a renewal that Temporal did not count), it is armed again for what is
// left.
func decideSettle(s State, c Command, f Facts) Decision {
	a := s.Active
	switch {
	case !a.Live() || a.ActivityID != c.ActivityID:
		return Decision{}
	case a.Expired(f.Now):
		return expire(s, f, c.Actor)
	}
	again := *a
	again.Arming++
	again.ActivityID = activityID(again)
	d := newStep(s, f)
	d.Step.Active = &again
	d.entry(EntryRearmed, a.ExecutionID, map[string]any{
		"activity_id": again.ActivityID, "lease_expires_at": a.LeaseExpiresAt,
	})
	return *d
}

// expire ends the active attempt whose lease is over.
func expire(s State, f Facts, actor string) Decision {
	reason := s.Active.ExpiryReason()
	d := newStep(s, f)
	d.settle(f, s.Active, nil)
	id := s.Active.ExecutionID
	d.end(AttemptInterrupted, OutcomeInterrupted, reason)
	d.entry(EntryInterrupted, id, map[string]any{"reason": string(reason), "noticed_by": actor})
	d.block(id, reason)
	return *d
}

// block ends the active attempt for a reason that is not its own. An offer that nobody claimed is
// taken back; a claimed attempt is interrupted.
func block(s State, f Facts, reason Reason, actor string) Decision {
	d := newStep(s, f)
	d.settle(f, s.Active, nil)
	id := s.Active.ExecutionID
	if s.Active.Claimed() {
		d.end(AttemptInterrupted, OutcomeInterrupted, reason)
		d.entry(EntryInterrupted, id, map[string]any{"reason": string(reason), "noticed_by": actor})
	} else {
		d.end(AttemptCancelled, OutcomeCancelled, reason)
	}
	d.block(id, reason)
	return *d
}
