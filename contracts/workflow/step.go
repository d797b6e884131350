// What the machine decided: a step for everybody, and what only the database keeps of it.

package workflow

import (
	"time"

	"countersign/contracts"
)

// Step is one transition: one or more consecutive history entries and the state they lead to. It is
// stored with the first of them and carried by Temporal, so it holds ids, digests and times only.
type Step struct {
	// First is the history sequence of the first entry; entry i has sequence First+i.
	First int         `json:"first"`
	Kinds []EntryKind `json:"kinds"`
	// At is the database's clock at the decision.
	At                time.Time `json:"at"`
	Phase             Phase     `json:"phase"`
	Reason            Reason    `json:"reason,omitzero"`
	CandidateCommit   string    `json:"candidate_commit,omitzero"`
	CandidateHash     string    `json:"candidate_hash,omitzero"`
	WorkerExecutionID string    `json:"worker_execution_id,omitzero"`
	WorkAttempts      int       `json:"work_attempts"`
	FailedCriteria    []string  `json:"failed_criteria,omitzero"`
	ReceiptID         string    `json:"receipt_id,omitzero"`
	// Ended is the attempt that this step ended.
	Ended *Ended `json:"ended,omitzero"`
	// Active is the offered or live attempt after the step.
	Active *Attempt `json:"active,omitzero"`
	// Answer is what the caller is told, now and at every replay.
	Answer Answer `json:"answer"`
}

// Last is the history sequence of the step's last entry.
func (s Step) Last() int { return s.First + len(s.Kinds) - 1 }

// Has reports whether the step wrote an entry of that kind.
func (s Step) Has(kind EntryKind) bool {
	for _, k := range s.Kinds {
		if k == kind {
			return true
		}
	}
	return false
}

// Ended says how an attempt ended.
type Ended struct {
	ExecutionID string       `json:"execution_id"`
	ActivityID  string       `json:"activity_id,omitzero"`
	Phase       AttemptPhase `json:"phase"`
	Outcome     Outcome      `json:"outcome"`
	Reason      Reason       `json:"reason,omitzero"`
}

// Answer is the recorded answer to a command: the event's answer, or a refusal that was recorded
// because it changed something: an expiry that the event ran into, or a payload that violated its
// contract (whose path and detail, a stranger's text, stay in the database).
type Answer struct {
	Event   *EventAnswer     `json:"event,omitzero"`
	Refusal *contracts.Error `json:"refusal,omitzero"`
}

// Decision is what Decide returns: a refusal, a step with its records, or neither when there is
// nothing to do.
type Decision struct {
	Refusal *contracts.Error
	Step    *Step
	// Entries are the bodies of the step's history entries, one a kind.
	Entries []EntryBody
	// EventRecorded says that the event used up its sequence.
	EventRecorded bool
	// Payload is what a worker's terminal event handed in, judged.
	Payload Payload
	// Result is what a completed attempt handed in.
	Result *AttemptResult
	// Feedback replaces the revision's feedback when a verdict was judged.
	Feedback []CriterionFeedback
	// Accepted is the all-pass verdict that a receipt is written for.
	Accepted *Verdict
	// Judged are the decisions on a worker's dispatch that the step came to, in order.
	Judged []Judgement
}

// EntryBody is what one history entry says beyond its kind.
type EntryBody struct {
	AttemptID string
	Data      map[string]any
}

// AttemptResult is what an attempt handed in, kept with its execution.
type AttemptResult struct {
	ResultCommit string
	ArtifactHash string
	EvidencePath string
}

// Apply is the state after a step. It is the only way a state changes.
func Apply(s State, step Step) State {
	s.Sequence = step.Last()
	s.Phase = step.Phase
	s.Reason = step.Reason
	s.CandidateCommit = step.CandidateCommit
	s.CandidateHash = step.CandidateHash
	s.WorkerExecutionID = step.WorkerExecutionID
	s.WorkAttempts = step.WorkAttempts
	s.FailedCriteria = step.FailedCriteria
	s.ReceiptID = step.ReceiptID
	s.Active = step.Active
	return s
}
