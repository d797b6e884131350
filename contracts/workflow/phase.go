// The closed vocabularies of a revision: phases, purposes, outcomes, reasons, kinds of history.

// Package workflow holds the wire types of the verified task workflow, their validation, the frozen
// contract and the pure machine (Decide, Apply) that PostgreSQL and Temporal both run on.
package workflow

// Phase is where a revision stands. Accepted, Blocked and Cancelled are final.
type Phase string

// The phases of a revision; see docs/workflow.md for the picture.
const (
	PhaseOffered              Phase = "offered"
	PhaseClaimed              Phase = "claimed"
	PhasePreparing            Phase = "preparing"
	PhaseRunning              Phase = "running"
	PhaseAwaitingVerification Phase = "awaiting_verification"
	PhaseVerifying            Phase = "verifying"
	PhaseChangesRequested     Phase = "changes_requested"
	PhaseAccepted             Phase = "accepted"
	PhaseBlocked              Phase = "blocked"
	PhaseCancelled            Phase = "cancelled"
)

// Final reports whether nothing can follow.
func (p Phase) Final() bool {
	return p == PhaseAccepted || p == PhaseBlocked || p == PhaseCancelled
}

// AttemptPhase is where one attempt (execution) stands, as its node last said or the server settled.
type AttemptPhase string

// The phases of an attempt. All from completed on are final.
const (
	AttemptOffered     AttemptPhase = "offered"
	AttemptClaimed     AttemptPhase = "claimed"
	AttemptPreparing   AttemptPhase = "preparing"
	AttemptRunning     AttemptPhase = "running"
	AttemptCompleted   AttemptPhase = "completed"
	AttemptFailed      AttemptPhase = "failed"
	AttemptInterrupted AttemptPhase = "interrupted"
	AttemptCancelled   AttemptPhase = "cancelled"
)

// Final reports whether the attempt has ended.
func (p AttemptPhase) Final() bool {
	switch p {
	case AttemptCompleted, AttemptFailed, AttemptInterrupted, AttemptCancelled:
		return true
	}
	return false
}

// Purpose says whether an attempt makes a candidate or judges one.
type Purpose string

// The purposes of an attempt.
const (
	PurposeWork   Purpose = "work"
	PurposeVerify Purpose = "verify"
)

// Outcome is what an ended attempt came to.
type Outcome string

// The outcomes of an attempt.
const (
	OutcomeResult      Outcome = "result"
	OutcomeVerdictPass Outcome = "verdict_pass"
	OutcomeVerdictFail Outcome = "verdict_fail"
	OutcomeRefused     Outcome = "refused"
	OutcomeViolation   Outcome = "violation"
	OutcomeFailed      Outcome = "failed"
	OutcomeInterrupted Outcome = "interrupted"
	OutcomeCancelled   Outcome = "cancelled"
)

// Reason is the stable word for why a revision is blocked, or an attempt ended without a result.
type Reason string

// The reasons of blocked.
const (
	ReasonLeaseExpired        Reason = "lease_expired"
	ReasonDeadlineExceeded    Reason = "deadline_exceeded"
	ReasonAttemptFailed       Reason = "attempt_failed"
	ReasonAttemptInterrupted  Reason = "attempt_interrupted"
	ReasonEvidenceMissing     Reason = "evidence_missing"
	ReasonVerdictMissing      Reason = "verdict_missing"
	ReasonVerdictInvalid      Reason = "verdict_invalid"
	ReasonWorkBudgetExhausted Reason = "work_budget_exhausted"
	ReasonContractViolation   Reason = "contract_violation"
	ReasonArtifactMissing     Reason = "artifact_missing"
	ReasonArtifactRejected    Reason = "artifact_rejected"
	ReasonAuthorityRevoked    Reason = "authority_revoked"
	ReasonNodeRevoked         Reason = "node_revoked"
	ReasonOrchestrationLost   Reason = "orchestration_lost"
	// ReasonWorkerDispatch has the reason codes of worker-dispatch/v1 beside it.
	ReasonWorkerDispatch Reason = "worker_dispatch"
	// The refusals of a worker, by kind.
	ReasonRefusedAwaitingOperator    Reason = "refused_awaiting_operator"
	ReasonRefusedUnderspecified      Reason = "refused_underspecified"
	ReasonRefusedScopeExceeded       Reason = "refused_scope_exceeded"
	ReasonRefusedBlockedOnDependency Reason = "refused_blocked_on_dependency"
	// ReasonCancelled is an attempt's reason only: its revision was cancelled.
	ReasonCancelled Reason = "cancelled"
)

// EntryKind is the kind of one history entry.
type EntryKind string

// The kinds of history entries.
const (
	EntryDispatched       EntryKind = "dispatched"
	EntryOffered          EntryKind = "offered"
	EntryClaimed          EntryKind = "claimed"
	EntryPreparing        EntryKind = "preparing"
	EntryRunning          EntryKind = "running"
	EntryCompleted        EntryKind = "completed"
	EntryVerdict          EntryKind = "verdict"
	EntryChangesRequested EntryKind = "changes_requested"
	EntryAccepted         EntryKind = "accepted"
	EntryFailed           EntryKind = "failed"
	EntryInterrupted      EntryKind = "interrupted"
	EntryRearmed          EntryKind = "rearmed"
	EntryBlocked          EntryKind = "blocked"
	EntryCancelled        EntryKind = "cancelled"
)
