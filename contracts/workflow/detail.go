// What readers see of a revision: the detail, its attempts and history, and the compact projection.

package workflow

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Detail is one revision as operators and nodes read it.
type Detail struct {
	WorkflowID      string         `json:"workflow_id"`
	TaskID          string         `json:"task_id"`
	Revision        int            `json:"revision"`
	Contract        jsontext.Value `json:"contract"`
	ContractDigest  string         `json:"contract_digest"`
	Phase           Phase          `json:"phase"`
	CandidateCommit *string        `json:"candidate_commit"`
	CandidateHash   *string        `json:"candidate_hash,omitzero"`
	ActiveAttempt   *AttemptView   `json:"active_attempt"`
	Attempts        []AttemptView  `json:"attempts"`
	Reason          *Reason        `json:"reason"`
	// WorkerDispatch is the last decision on a worker's dispatch, where the capability contract binds it.
	WorkerDispatch *DispatchSummary `json:"worker_dispatch,omitzero"`
	// Refusal is the worker's typed refusal, when that is why the revision is blocked: its question,
	// dependency or proposed split.
	Refusal   jsontext.Value      `json:"refusal,omitzero"`
	Feedback  []CriterionFeedback `json:"feedback"`
	ReceiptID *string             `json:"receipt_id"`
	History   []HistoryEntry      `json:"history"`
	// NextAfter is the last sequence of this page, or what was asked for when the page is empty.
	NextAfter int         `json:"next_after"`
	Temporal  TemporalRef `json:"temporal"`
}

// AttemptView is one attempt as readers see it.
type AttemptView struct {
	ExecutionID       string       `json:"execution_id"`
	Purpose           Purpose      `json:"purpose"`
	Number            int          `json:"number"`
	Phase             AttemptPhase `json:"phase"`
	NodeID            string       `json:"node_id"`
	SessionID         *string      `json:"session_id"`
	ProviderSessionID *string      `json:"provider_session_id"`
	BaseCommit        string       `json:"base_commit"`
	ResultCommit      *string      `json:"result_commit"`
	EvidencePath      *string      `json:"evidence_path"`
	// Artifact is what the attempt of a task that produces one uploaded last.
	Artifact *Upload `json:"artifact,omitzero"`
	// Attachments are the content hashes of what the attempt attached, its evidence among them.
	Attachments    []string   `json:"attachments,omitzero"`
	ClaimedAt      *time.Time `json:"claimed_at"`
	LeaseExpiresAt *time.Time `json:"lease_expires_at"`
	DeadlineAt     *time.Time `json:"deadline_at"`
	// LeaseExpired is true for an attempt that still counts as live although its lease is over by
	// the database clock: its last phase is stale.
	LeaseExpired  bool       `json:"lease_expired"`
	EndedAt       *time.Time `json:"ended_at"`
	Outcome       *Outcome   `json:"outcome"`
	Reason        *Reason    `json:"reason"`
	NodeStoppedAt *time.Time `json:"node_stopped_at"`
	// WorkerDispatch is the last decision on the attempt's dispatch, where the capability contract binds it.
	WorkerDispatch *DispatchRecord `json:"worker_dispatch,omitzero"`
}

// CriterionFeedback is what the last verdict said of one criterion.
type CriterionFeedback struct {
	CriterionID  string `json:"criterion_id"`
	Outcome      string `json:"outcome"`
	EvidencePath string `json:"evidence_path"`
	Feedback     string `json:"feedback"`
}

// HistoryEntry is one recorded change. Sequences of a revision run from 1 without gaps.
type HistoryEntry struct {
	Sequence  int            `json:"sequence"`
	At        time.Time      `json:"at"`
	Kind      EntryKind      `json:"kind"`
	AttemptID *string        `json:"attempt_id,omitzero"`
	Data      jsontext.Value `json:"data"`
}

// TemporalRef says where the revision's workflow is in Temporal.
type TemporalRef struct {
	WorkflowID string  `json:"workflow_id"`
	RunID      *string `json:"run_id"`
	UIURL      string  `json:"ui_url,omitzero"`
}

// Projection is the compact view of a task's current revision in task answers.
type Projection struct {
	WorkflowID      string  `json:"workflow_id"`
	Revision        int     `json:"revision"`
	Phase           Phase   `json:"phase"`
	Attempt         int     `json:"attempt"`
	CandidateCommit *string `json:"candidate_commit"`
	CandidateHash   *string `json:"candidate_hash,omitzero"`
	Reason          *Reason `json:"reason"`
	// WorkerDispatch is what Detail.WorkerDispatch is.
	WorkerDispatch *DispatchSummary `json:"worker_dispatch,omitzero"`
	// Refusal is what Detail.Refusal is.
	Refusal        jsontext.Value `json:"refusal,omitzero"`
	Profile        ProfileRef     `json:"profile"`
	Verifier       ProfileRef     `json:"verifier"`
	ActivePurpose  *Purpose       `json:"active_purpose"`
	LeaseExpiresAt *time.Time     `json:"lease_expires_at"`
	DeadlineAt     *time.Time     `json:"deadline_at"`
	LeaseExpired   bool           `json:"lease_expired"`
	UpdatedAt      time.Time      `json:"updated_at"`
}

// ProfileRef names a frozen profile.
type ProfileRef struct {
	ID      string  `json:"id"`
	Version Version `json:"version"`
}

// Live is the state of a revision as its Temporal workflow holds it, answered by query.
type Live struct {
	WorkflowID string `json:"workflow_id"`
	TaskID     string `json:"task_id"`
	Revision   int    `json:"revision"`
	Phase      Phase  `json:"phase"`
	Reason     Reason `json:"reason,omitzero"`
	// Sequence is the last history entry the workflow has applied.
	Sequence        int          `json:"sequence"`
	CandidateCommit string       `json:"candidate_commit,omitzero"`
	CandidateHash   string       `json:"candidate_hash,omitzero"`
	ExecutionID     string       `json:"execution_id,omitzero"`
	Purpose         Purpose      `json:"purpose,omitzero"`
	AttemptPhase    AttemptPhase `json:"attempt_phase,omitzero"`
	ActivityID      string       `json:"activity_id,omitzero"`
}

// Receipt answers GET /v1/tasks/{id}/receipt.
type Receipt struct {
	ReceiptID       string  `json:"receipt_id"`
	TaskID          string  `json:"task_id"`
	WorkflowID      string  `json:"workflow_id"`
	ContractDigest  string  `json:"contract_digest"`
	CandidateCommit *string `json:"candidate_commit,omitzero"`
	CandidateHash   *string `json:"candidate_hash,omitzero"`
	// EntryHash is the signed lineage entry that the acceptance of an artifact made.
	EntryHash  *string   `json:"entry_hash,omitzero"`
	AcceptedAt time.Time `json:"accepted_at"`
	// Envelope is the signed DSSE envelope, byte for byte; see package receipt.
	Envelope jsontext.Value `json:"envelope"`
}

// ControlAction is what an operator may do to a running revision.
type ControlAction string

// The control actions.
const (
	ControlCancel    ControlAction = "cancel"
	ControlReconcile ControlAction = "reconcile"
)

// ControlRequest is the body of POST /v1/tasks/{id}/workflow/control.
type ControlRequest struct {
	ExpectedVersion int           `json:"expected_version" validate:"required,min=1"`
	Action          ControlAction `json:"action" validate:"required,oneof=cancel reconcile"`
	// WorkflowID, when given, must be the task's current revision.
	WorkflowID   *string      `json:"workflow_id,omitzero" validate:"omitempty,max=64,text"`
	WriteContext WriteContext `json:"write_context"`
}
