// What a node needs to know of a provider: how to start it, how to read it, when to believe it.

package bridge

import (
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json/jsontext"
)

// Runtime starts one kind of provider and reads what it prints. It does not judge: whether an
// attempt succeeded is for the bridge to prove.
type Runtime interface {
	// Name is the runtime's word in a profile.
	Name() workflow.Runtime
	// Register says what the session for a job offers, asked for the try-th time from 1. It is asked only
	// where the worker dispatch capability contract binds the job.
	Register(job Job, try int) Registration
	// Command says how to start the provider for a job.
	Command(job Job) (Command, error)
	// Stream makes a reader for the output of one such process.
	Stream(job Job) Stream
}

// Job is one attempt as a runtime sees it.
type Job struct {
	Plan workflow.Plan
	// Attempt counts the rounds of work and verification from 1.
	Attempt int
	// Dir is the worktree, Scratch a directory of the attempt outside it.
	Dir     string
	Scratch string
}

// Command is a process to start: no shell, nothing private in the arguments.
type Command struct {
	// Path is the absolute path of the program.
	Path string
	Args []string
	// Env is added to the environment that every agent gets.
	Env []string
	// Stdin is the whole standard input.
	Stdin []byte
}

// Stream reads a provider's standard output line by line.
type Stream interface {
	// Line takes one line without its end. Lines that were too long to keep come with cut set.
	Line(line []byte, cut bool)
	// Report is what was read so far.
	Report() Report
}

// Report is what a provider has said of itself.
type Report struct {
	// Session is the provider's session id, "" until it was seen.
	Session string
	// Ended says that the terminal event was seen and nothing after it.
	Ended bool
	// Fault is what was wrong with the stream or what the provider reported as its error; "" if nothing.
	Fault string
	// Answer is what the terminal event carries.
	Answer Answer
}

// Answer is what a provider hands in, unchecked. It never carries an id, digest or commit that the
// bridge would use.
type Answer struct {
	Summary    string           `json:"summary,omitzero"`
	Completion jsontext.Value   `json:"completion,omitzero"`
	Refusal    jsontext.Value   `json:"refusal,omitzero"`
	Results    []CriterionClaim `json:"results,omitzero"`
}

// CriterionClaim is a verifier's word on one criterion.
type CriterionClaim struct {
	CriterionID string `json:"criterion_id"`
	Outcome     string `json:"outcome"`
	Feedback    string `json:"feedback"`
}
