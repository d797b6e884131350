// What a node reports of its attempt, and the verdict a verifier hands in.

package workflow

import (
	"countersign/contracts/capability"

	"github.com/go-json-experiment/json/jsontext"
)

// EventState is the word a node gives for where its attempt stands.
type EventState string

// The states of an event. The last three are terminal.
const (
	EventPreparing   EventState = "preparing"
	EventRunning     EventState = "running"
	EventCompleted   EventState = "completed"
	EventFailed      EventState = "failed"
	EventInterrupted EventState = "interrupted"
)

// Terminal reports whether the event ends the attempt.
func (s EventState) Terminal() bool {
	return s == EventCompleted || s == EventFailed || s == EventInterrupted
}

// MaxEvents is how many events one execution may report.
const MaxEvents = 64

// Fence is the proof of a held lease that every call of a node carries.
type Fence struct {
	LeaseID      string `json:"lease_id" validate:"required,max=64,text"`
	FencingToken int64  `json:"fencing_token" validate:"required,min=1"`
}

// Event is the body of POST /bridge/v1/executions/{id}/events. Which fields a state may carry is
// checked by its Check method; the ones that attest a result may be absent, which blocks the
// revision instead of refusing the call.
type Event struct {
	Fence             `json:",inline"`
	Sequence          int        `json:"sequence" validate:"required,min=1"`
	State             EventState `json:"state" validate:"required,oneof=preparing running completed failed interrupted"`
	ProviderSessionID *string    `json:"provider_session_id,omitzero" validate:"omitempty,notblank,max=200,text"`
	ExitCode          *int       `json:"exit_code,omitzero"`
	ResultCommit      *string    `json:"result_commit,omitzero" validate:"omitempty,sha40"`
	// ArtifactHash stands in the place of ResultCommit and CleanWorkspace for a task that produces an
	// artifact: the content hash that the upload was answered with, or that the verifier judged.
	ArtifactHash   *string        `json:"artifact_hash,omitzero" validate:"omitempty,contenthash"`
	EvidencePath   *string        `json:"evidence_path,omitzero" validate:"omitempty,max=1024,text,relpath"`
	CleanWorkspace *bool          `json:"clean_workspace,omitzero"`
	Completion     jsontext.Value `json:"completion,omitzero"`
	ResultSummary  *string        `json:"result_summary,omitzero"`
	Refusal        jsontext.Value `json:"refusal,omitzero"`
	Verdict        *Verdict       `json:"verdict,omitzero"`
	Reason         *string        `json:"reason,omitzero" validate:"omitempty,notblank,max=2000,text"`
	// Of a dispatch that the capability contract binds: the report when preparing, the looks at the state
	// before and after the call, and what was seen of it.
	CapabilityReport *capability.Report `json:"capability_report,omitzero"`
	PreObservation   *StateObservation  `json:"pre_observation,omitzero"`
	PostObservation  *ChangeObservation `json:"post_observation,omitzero"`
	Live             *LiveFacts         `json:"live,omitzero"`
}

// EventAnswer is the answer to a recorded event.
type EventAnswer struct {
	Sequence int `json:"sequence"`
	// Phase is the attempt's phase after the event.
	Phase         AttemptPhase `json:"phase"`
	WorkflowPhase Phase        `json:"workflow_phase"`
	Reason        Reason       `json:"reason,omitzero"`
	// Decision is what the server decided on the worker's dispatch, where the capability contract binds it.
	Decision *DispatchDecision `json:"decision,omitzero"`
}

// Verdict is a verifier's judgement of one candidate. Its ids tie it to exactly one attempt.
type Verdict struct {
	ContractDigest string `json:"contract_digest" validate:"required,sha64"`
	// CandidateCommit or, for an artifact, CandidateHash says what was judged; never both.
	CandidateCommit     string          `json:"candidate_commit,omitzero" validate:"omitempty,sha40"`
	CandidateHash       string          `json:"candidate_hash,omitzero" validate:"omitempty,contenthash"`
	WorkerExecutionID   string          `json:"worker_execution_id" validate:"required,max=64,text"`
	VerifierExecutionID string          `json:"verifier_execution_id" validate:"required,max=64,text"`
	Results             []VerdictResult `json:"results" validate:"max=1024,dive"`
}

// VerdictResult judges one criterion. Only CriterionID and Outcome decide.
type VerdictResult struct {
	CriterionID  string `json:"criterion_id" validate:"required,max=128,text"`
	Outcome      string `json:"outcome" validate:"required,max=64,text"`
	EvidencePath string `json:"evidence_path" validate:"required,max=1024,text,relpath"`
	Feedback     string `json:"feedback" validate:"max=8000,text"`
	// Description, Method and Polarity are copies of the criterion that a verifier may send back;
	// they are recorded and never read.
	Description string `json:"description,omitzero" validate:"max=2000,text"`
	Method      string `json:"method,omitzero" validate:"max=2000,text"`
	Polarity    string `json:"polarity,omitzero" validate:"max=64,text"`
}

// Outcomes of a VerdictResult.
const (
	CriterionPass = "pass"
	CriterionFail = "fail"
)
