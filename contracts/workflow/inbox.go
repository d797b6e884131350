// What needs a person.

package workflow

import (
	"time"

	"countersign/contracts/capability"

	"github.com/go-json-experiment/json/jsontext"
)

// InboxKind is why something waits for a person.
type InboxKind string

// The kinds of inbox items.
const (
	InboxRefusal      InboxKind = "refusal"       // a worker asks, or proposes a split, or names a dependency
	InboxExpiredLease InboxKind = "expired_lease" // a live attempt whose lease is over and that nobody settled
	InboxExhausted    InboxKind = "exhausted"     // the work budget is used up
	InboxBlocked      InboxKind = "blocked"       // blocked for another reason
	InboxViolation    InboxKind = "violation"     // a payload violated its contract
)

// InboxItem is one thing that waits, with the one next action.
type InboxItem struct {
	Kind       InboxKind `json:"kind"`
	ProjectID  string    `json:"project_id"`
	TaskID     string    `json:"task_id"`
	Title      string    `json:"title"`
	WorkflowID string    `json:"workflow_id,omitzero"`
	Reason     string    `json:"reason"`
	// ReasonCodes are those of the last decision on a worker's dispatch, where that is the reason.
	ReasonCodes []capability.ReasonCode `json:"reason_codes,omitzero"`
	// Refusal is the worker's refusal with its question, dependency or split.
	Refusal jsontext.Value `json:"refusal,omitzero"`
	Since   time.Time      `json:"since"`
	// AgeSeconds is how long it has waited by the database's clock.
	AgeSeconds int64 `json:"age_seconds"`
	// NextAction says what to do, for a person.
	NextAction string `json:"next_action"`
}

// Inbox answers GET /v1/inbox: what waits in the caller's projects, oldest first.
type Inbox struct {
	Items []InboxItem `json:"items"`
	// More says that there are further items behind the limit.
	More bool `json:"more"`
}

// nextActions are the one thing to do about each reason.
var nextActions = map[Reason]string{
	ReasonRefusedAwaitingOperator:    "Answer the question in the goal or prompt and dispatch the task again.",
	ReasonRefusedUnderspecified:      "Make the goal precise, as the question asks, and dispatch the task again.",
	ReasonRefusedScopeExceeded:       "Dispatch the follow-up tasks that were made of the proposed split.",
	ReasonRefusedBlockedOnDependency: "Clear the dependency it names, then dispatch the task again.",
	ReasonContractViolation:          "Correct the worker's profile so that its payload fits worker-completion/v1, and dispatch again.",
	ReasonWorkBudgetExhausted:        "Read the feedback, change the prompt or the criteria, and dispatch a new revision.",
	ReasonLeaseExpired:               "See whether the node is alive, then dispatch a new revision.",
	ReasonDeadlineExceeded:           "Make the task smaller or the node faster, and dispatch a new revision.",
	ReasonAttemptFailed:              "Read what the node said in the history, mend it, and dispatch a new revision.",
	ReasonAttemptInterrupted:         "See why the node stopped, then dispatch a new revision.",
	ReasonEvidenceMissing:            "Update the node: it handed in a result without its evidence. Then dispatch a new revision.",
	ReasonArtifactMissing:            "Tell the worker where its output is declared to be, and dispatch a new revision.",
	ReasonArtifactRejected:           "Read in the history which criterion failed or why the bytes have no canonical form, and dispatch a new revision; when the declaration itself is wrong, cancel the task and make another.",
	ReasonVerdictMissing:             "Update the node or the verifier's profile: it judged nothing. Then dispatch a new revision.",
	ReasonVerdictInvalid:             "Update the node or the verifier's profile: its verdict fits no criterion list. Then dispatch a new revision.",
	ReasonNodeRevoked:                "Enroll or choose another node and dispatch a new revision.",
	ReasonAuthorityRevoked:           "Give the node its token, project or account back, or choose another, and dispatch a new revision.",
	ReasonWorkerDispatch:             "Read the reason codes with workflow get, mend what they name, and dispatch a new revision.",
	ReasonOrchestrationLost:          "See who terminated the workflow in Temporal, then dispatch a new revision.",
}

// NextAction is the one thing to do about a revision that is blocked for a reason; codes are those of
// worker-dispatch/v1, where that is the reason.
func NextAction(reason Reason, codes ...capability.ReasonCode) string {
	if len(codes) > 0 {
		if e, known := capability.Explain(codes[0]); known {
			return e.Remedy
		}
	}
	if action, known := nextActions[reason]; known {
		return action
	}
	return "Read the revision's history and dispatch a new revision."
}
