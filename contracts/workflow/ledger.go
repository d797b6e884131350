// A task's ledger: what was validated and decided, chained by hashes.

package workflow

import (
	"fmt"
	"time"

	"countersign/contracts/canonjson"
	"countersign/contracts/completion"
)

// LedgerKind is the kind of a ledger entry.
type LedgerKind string

// The kinds of ledger entries.
const (
	LedgerDispatched LedgerKind = "dispatched" // a revision was frozen
	LedgerPayload    LedgerKind = "payload"    // a payload was validated, accepted or not
	LedgerAccepted   LedgerKind = "accepted"   // a revision was accepted
	LedgerBlocked    LedgerKind = "blocked"    // a revision was blocked
	LedgerCancelled  LedgerKind = "cancelled"  // a revision was cancelled
)

// LedgerEntry is one entry. Its hash is the SHA-256 of its RFC 8785 bytes without the field hash.
type LedgerEntry struct {
	TaskID   string     `json:"task_id"`
	Sequence int        `json:"sequence"` // from 1 without gaps
	At       time.Time  `json:"at"`
	Kind     LedgerKind `json:"kind"`
	// By is the user, node or process whose call it was.
	By         string `json:"by"`
	WorkflowID string `json:"workflow_id,omitzero"`
	// Contract, Outcome and Path belong to a validated payload; Path points at its first violation.
	Contract string             `json:"contract,omitzero"`
	Outcome  completion.Outcome `json:"outcome,omitzero"`
	Path     string             `json:"path,omitzero"`
	Reason   Reason             `json:"reason,omitzero"`
	// Previous is the hash of the entry before, "" in the first.
	Previous string `json:"previous"`
	Hash     string `json:"hash,omitzero"`
}

// Ledger answers GET /v1/tasks/{id}/ledger. Entries and Head are what the task's row says the whole
// ledger holds, so that a removed last entry shows.
type Ledger struct {
	Entries []LedgerEntry `json:"entries"`
	// Count is the number of entries, Head the last one's hash.
	Count     int    `json:"count"`
	Head      string `json:"head"`
	NextAfter int    `json:"next_after"`
}

// Seal chains an entry to the one before it and returns the bytes that its hash covers.
func (e *LedgerEntry) Seal(previous string) (body []byte, err error) {
	e.Previous, e.Hash = previous, ""
	if body, err = canonjson.Marshal(e); err != nil {
		return nil, err
	}
	e.Hash = canonjson.Digest(body)
	return body, nil
}

// LedgerFault says what is wrong with a ledger and at which entry.
type LedgerFault struct {
	Sequence int    `json:"sequence"`
	Detail   string `json:"detail"`
}

// VerifyLedger checks a whole ledger: every hash, every link, no gap, and the count and head that the
// task's row gives. It returns the first fault, nil when there is none.
func VerifyLedger(taskID string, entries []LedgerEntry, count int, head string) *LedgerFault {
	previous := ""
	for i, e := range entries {
		fault := func(format string, args ...any) *LedgerFault {
			return &LedgerFault{i + 1, fmt.Sprintf(format, args...)}
		}
		said := e.Hash
		switch {
		case e.Sequence != i+1:
			return fault("entry %d stands where %d should", e.Sequence, i+1)
		case e.TaskID != taskID:
			return fault("the entry belongs to another task")
		case e.Previous != previous:
			return fault("the entry does not follow the one before it")
		}
		if _, err := e.Seal(e.Previous); err != nil {
			return fault("the entry is not readable: %v", err)
		}
		if e.Hash != said {
			return fault("the entry was changed: its hash is not the recorded one")
		}
		previous = said
	}
	switch {
	case len(entries) != count:
		return &LedgerFault{len(entries), fmt.Sprintf("the ledger has %d entries, the task's row says %d", len(entries), count)}
	case previous != head:
		return &LedgerFault{len(entries), "the last entry is not the one that the task's row names"}
	}
	return nil
}
