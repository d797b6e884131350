// The machine's memory of one revision: the same in the workflow and read from the locked rows.

package workflow

import "time"

// State is what Decide needs to know of a revision. It holds ids, digests and times only, for it
// lives in Temporal's histories too.
type State struct {
	WorkflowID      string
	TaskID          string
	ProjectID       string
	NodeID          string
	Revision        int
	ContractDigest  string
	MaxWorkAttempts int
	// ArtifactKind is the kind that the frozen task declares, "" for one that ends in a commit.
	ArtifactKind string

	// Sequence is the last history entry this state includes.
	Sequence int
	Phase    Phase
	Reason   Reason
	// CandidateCommit or, for a task that produces an artifact, CandidateHash.
	CandidateCommit string
	CandidateHash   string
	// WorkerExecutionID made the candidate.
	WorkerExecutionID string
	// WorkAttempts counts the work attempts offered so far.
	WorkAttempts   int
	FailedCriteria []string
	ReceiptID      string
	// Active is the offered or live attempt; nil once the revision is final.
	Active *Attempt
}

// Attempt is one execution as the machine sees it.
type Attempt struct {
	ExecutionID       string       `json:"execution_id"`
	Purpose           Purpose      `json:"purpose"`
	Number            int          `json:"number"`
	Phase             AttemptPhase `json:"phase"`
	BaseCommit        string       `json:"base_commit"`
	SessionID         string       `json:"session_id,omitzero"`
	ProviderSessionID string       `json:"provider_session_id,omitzero"`
	ClaimID           string       `json:"claim_id,omitzero"`
	LeaseID           string       `json:"lease_id,omitzero"`
	FencingToken      int64        `json:"fencing_token,omitzero"`
	// ActivityID is the Temporal activity that stands for the held lease now.
	ActivityID     string    `json:"activity_id,omitzero"`
	Arming         int       `json:"arming,omitzero"`
	ClaimedAt      time.Time `json:"claimed_at,omitzero"`
	LeaseExpiresAt time.Time `json:"lease_expires_at,omitzero"`
	DeadlineAt     time.Time `json:"deadline_at,omitzero"`
	// Dispatch is where the worker's dispatch stands.
	Dispatch DispatchState `json:"dispatch,omitzero"`
	// LastEvent is the last event sequence recorded.
	LastEvent int `json:"last_event,omitzero"`
	// Reason is why an ended attempt ended without a result.
	Reason Reason `json:"reason,omitzero"`
}

// Claimed reports whether a lease was ever granted for the attempt.
func (a *Attempt) Claimed() bool { return a.LeaseID != "" }

// Live reports whether the attempt holds its node under a lease, expired or not.
func (a *Attempt) Live() bool { return a != nil && a.Claimed() && !a.Phase.Final() }

// Expired reports whether the lease is over at now: a lease is dead from its expiry on.
func (a *Attempt) Expired(now time.Time) bool { return a.Live() && !now.Before(a.LeaseExpiresAt) }

// ExpiryReason is lease_expired, or deadline_exceeded when it was the deadline that ended the lease;
// it does not depend on when the expiry is noticed.
func (a *Attempt) ExpiryReason() Reason {
	if a.LeaseExpiresAt.Equal(a.DeadlineAt) {
		return ReasonDeadlineExceeded
	}
	return ReasonLeaseExpired
}
