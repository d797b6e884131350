// The completion: what a worker hands in when it is done.

// Package completion is the worker's terminal payload: a completion or a typed refusal of
// worker-completion/v1. It reads payloads strictly, writes their one normalised form, and derives
// what a refusal leads to. It imports nothing of the workflow, so that the workflow may use it.
package completion

// Version is the contract's tag. A payload may leave it out; its normalised form always carries it.
const Version = "worker-completion/v1"

// Outcome says what a validated text or payload turned out to be; the task's ledger records it.
type Outcome string

// The outcomes of a validation.
const (
	OutcomeCompletion Outcome = "completion"
	OutcomeRefusal    Outcome = "refusal"
	OutcomeProse      Outcome = "prose"
	OutcomeViolation  Outcome = "violation"
)

// Payload is a Completion or a Refusal, by value; nothing else can be one.
type Payload interface {
	// Outcome is OutcomeCompletion or OutcomeRefusal.
	Outcome() Outcome
	// normalised is the value whose RFC 8785 bytes are the normalised form.
	normalised() any
}

// MaxSummary is how long a completion's summary and a refusal's detail may be, in Unicode code points.
const MaxSummary = 2_000

// Completion is the payload of a worker that finished. All strings are kept as sent.
type Completion struct {
	// Summary says what was done: not blank, at most MaxSummary code points.
	Summary string `json:"summary"`
	// FilesChanged are the paths the worker names, in its order, repeats included; none is blank.
	// Parse never leaves it nil: an absent list and null are the empty list.
	FilesChanged []string `json:"files_changed"`
	// Verification is nil when the worker ran no step before completing, or said null.
	Verification *Verification `json:"verification,omitzero"`
	// ReceiptRef refers to a receipt or lineage entry; empty when absent or null.
	ReceiptRef string `json:"receipt_ref,omitzero"`
}

// Verification is a step that the worker says it ran before completing. Nobody ran it again.
type Verification struct {
	// Command is the command line; not blank.
	Command string `json:"command"`
	// ExitCode is what the command ended with, from -2^31 to 2^32-1: some systems report it
	// signed, others unsigned.
	ExitCode int64 `json:"exit_code"`
}

// Outcome is OutcomeCompletion.
func (Completion) Outcome() Outcome { return OutcomeCompletion }

func (c Completion) normalised() any {
	return struct {
		Contract   string `json:"contract"`
		Completion `json:",inline"`
	}{Version, c}
}
