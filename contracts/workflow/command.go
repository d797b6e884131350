// What can be asked of the machine, and what it needs to know to answer.

package workflow

import (
	"time"

	"countersign/contracts"
	"countersign/contracts/canonjson"
)

// CommandKind is the kind of a Command.
type CommandKind string

// The commands.
const (
	CommandClaim     CommandKind = "claim"     // a node takes the offer
	CommandEvent     CommandKind = "event"     // a node reports
	CommandCancel    CommandKind = "cancel"    // an operator, or a cancellation in Temporal's UI
	CommandReconcile CommandKind = "reconcile" // an operator settles an expired attempt
	CommandSettle    CommandKind = "settle"    // the attempt's activity timed out: expire it or arm it again
	CommandExpire    CommandKind = "expire"    // somebody saw the lease over: expire it if it is
	CommandBlock     CommandKind = "block"     // a revocation, or an orchestration that was lost
)

// Command is one request to a revision. It travels through Temporal, so it names bodies by digest.
type Command struct {
	Kind        CommandKind `json:"kind"`
	ExecutionID string      `json:"execution_id,omitzero"`
	// ClaimID is the node's own id of its claim.
	ClaimID string `json:"claim_id,omitzero"`
	// Sequence and BodySHA256 name an event; the body lies in the payloads table.
	Sequence   int    `json:"sequence,omitzero"`
	BodySHA256 string `json:"body_sha256,omitzero"`
	// ActivityID is the activity that a settle or expire speaks of.
	ActivityID string `json:"activity_id,omitzero"`
	// Reason is what a block blocks with.
	Reason Reason `json:"reason,omitzero"`
	// Actor is the user, node or process that asks.
	Actor string `json:"actor"`
	// ExpectedVersion is the task version an operator's control compares; 0 compares nothing.
	ExpectedVersion int `json:"expected_version,omitzero"`
}

// InputHash identifies the command for replay: SHA-256 of the RFC 8785 bytes of everything that makes
// it the same request again. No time, update id or random value is in it.
func (c Command) InputHash() string {
	c.ExpectedVersion = 0
	digest, err := canonjson.DigestOf(c)
	if err != nil {
		// Commands are made of short strings that were validated; JSON can hold them.
		panic("unmarshallable command: " + err.Error())
	}
	return digest
}

// Facts is what the transaction found out for Decide, under its locks, and the values it made in case
// they are needed.
type Facts struct {
	// Now is the database's clock after the locks were taken.
	Now time.Time
	// Subject is the execution the command names, whatever its state; nil when it names none.
	Subject *Attempt
	// Authority says why the node, its project or account may not act; nil when they may.
	Authority *contracts.Error
	// TaskVersion is the task's current version.
	TaskVersion int
	// SessionSeen says that the event's provider session id belongs to another attempt.
	SessionSeen bool
	// Event is the body of a CommandEvent.
	Event *Event
	// FollowUpConflict says that a task of a follow-up's id exists and came from other input.
	FollowUpConflict bool
	// Contract is the frozen contract; ContractIntact that its bytes still have the frozen digest.
	// They are set for terminal events, and for every command where the contract has a worker_dispatch.
	Contract       *Contract
	ContractIntact bool
	// Reported are the live attempt's recorded events, oldest first; set where the contract has a
	// worker_dispatch.
	Reported []ReportedEvent
	// Upload is what the work attempt uploaded last, nil for nothing; set for its completed event.
	Upload *Upload
	// Lease and Deadline are the frozen durations.
	Lease    time.Duration
	Deadline time.Duration
	// Fresh are new values for a step that needs them.
	Fresh Fresh
}

// Fresh are ids made in the transaction: they are stored with the step, so a replay returns them.
type Fresh struct {
	LeaseID      string
	FencingToken int64
	SessionID    string
	ExecutionID  string
	ReceiptID    string
}
