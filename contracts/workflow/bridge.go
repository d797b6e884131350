// What a node and the server exchange besides events: offers, claims, plans, renewals.

package workflow

import (
	"time"

	"countersign/contracts/capability"

	"github.com/go-json-experiment/json/jsontext"
)

// Offer is one execution waiting for its node.
type Offer struct {
	ExecutionID string    `json:"execution_id"`
	TaskID      string    `json:"task_id"`
	WorkflowID  string    `json:"workflow_id"`
	Purpose     Purpose   `json:"purpose"`
	OfferedAt   time.Time `json:"offered_at"`
}

// OfferList answers GET /bridge/v1/executions.
type OfferList struct {
	Executions []Offer `json:"executions"`
}

// ClaimRequest is the body of POST /bridge/v1/executions/{id}/claim.
type ClaimRequest struct {
	// ClaimID is made by the node; the same id again gives the same lease.
	ClaimID string `json:"claim_id" validate:"required,key128"`
}

// ClaimAnswer is a held lease and the plan to work by.
type ClaimAnswer struct {
	ExecutionID    string    `json:"execution_id"`
	LeaseID        string    `json:"lease_id"`
	FencingToken   int64     `json:"fencing_token"`
	LeaseSeconds   float64   `json:"lease_seconds"`
	LeaseExpiresAt time.Time `json:"lease_expires_at"`
	DeadlineAt     time.Time `json:"deadline_at"`
	ServerTime     time.Time `json:"server_time"`
	Plan           Plan      `json:"plan"`
}

// RenewAnswer is the answer to POST …/renew, whose body is a Fence.
type RenewAnswer struct {
	LeaseExpiresAt time.Time `json:"lease_expires_at"`
	DeadlineAt     time.Time `json:"deadline_at"`
	ServerTime     time.Time `json:"server_time"`
}

// StoppedAnswer is the answer to POST …/stopped.
type StoppedAnswer struct {
	ExecutionID   string    `json:"execution_id"`
	NodeStoppedAt time.Time `json:"node_stopped_at"`
}

// Plan is everything a node needs for one attempt.
type Plan struct {
	ExecutionID string `json:"execution_id"`
	// SessionID is fresh for every attempt.
	SessionID  string `json:"session_id"`
	TaskID     string `json:"task_id"`
	Goal       string `json:"goal"`
	Repository string `json:"repository"`
	Workspace  string `json:"workspace"`
	Branch     string `json:"branch"`
	// BaseCommit is where this attempt starts: the frozen base, the candidate to verify, or the
	// candidate to correct.
	BaseCommit   string         `json:"base_commit"`
	Prompt       string         `json:"prompt"`
	Profile      Profile        `json:"profile"`
	ArtifactSpec jsontext.Value `json:"artifact_spec,omitzero"`
	Workflow     PlanWorkflow   `json:"workflow"`
	// WorkerDispatch is what the attempt's worker may be called for, where the capability contract binds it.
	WorkerDispatch *PlanDispatch `json:"worker_dispatch,omitzero"`
}

// PlanDispatch is the frozen worker_dispatch as it holds for one attempt: a verifier's request is derived.
type PlanDispatch struct {
	Contract string             `json:"contract"`
	Request  capability.Request `json:"request"`
	Packet   capability.Packet  `json:"packet"`
	Policy   DispatchPolicy     `json:"policy"`
}

// PlanWorkflow is the attempt's place in its revision.
type PlanWorkflow struct {
	WorkflowID string  `json:"workflow_id"`
	Revision   int     `json:"revision"`
	Purpose    Purpose `json:"purpose"`
	// Number counts the attempts of its purpose from 1.
	Number           int         `json:"number"`
	ContractDigest   string      `json:"contract_digest"`
	Criteria         []Criterion `json:"criteria"`
	DocumentRefs     []string    `json:"document_refs"`
	FrozenBaseCommit string      `json:"frozen_base_commit"`
	// CandidateCommit is the commit to verify or to correct; null in a first work attempt.
	CandidateCommit *string `json:"candidate_commit"`
	// CandidateHash is the artifact to verify or to correct, in the place of CandidateCommit; its bytes
	// are at …/candidate.
	CandidateHash *string `json:"candidate_hash,omitzero"`
	// WorkerExecutionID is the work attempt that made the candidate; null in a first work attempt.
	WorkerExecutionID *string             `json:"worker_execution_id"`
	Feedback          []CriterionFeedback `json:"feedback"`
}
