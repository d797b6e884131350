// A work attempt's terminal payload: what worker-completion/v1 makes of an event.

package workflow

import (
	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/completion"
)

// DecodeEvent reads the body of an event. Its payloads and its capability
// report are left to their own contracts.
func DecodeEvent(data []byte) (Event, error) {
	var e Event
	parts, err := canonjson.DecodeAround(data, &e, "completion", "refusal", "capability_report")
	if err != nil {
		return e, err
	}
	e.Completion, e.Refusal = parts["completion"], parts["refusal"]
	if err := e.readReport(parts["capability_report"]); err != nil {
		return e, err
	}
	return e, Validate(&e)
}

// Payload is what a worker's terminal event or completion call handed in beyond its commit.
type Payload struct {
	// Outcome is "" when nothing was handed in.
	Outcome completion.Outcome
	// Violation says why the payload is none of worker-completion/v1; the other fields are then unset.
	Violation *contracts.Error
	// Normalised is the completion or refusal in its one spelling.
	Normalised []byte
	// Summary is the prose as sent, or the completion's summary.
	Summary string
	// Refusal is set for a refusal.
	Refusal *completion.Refusal
}

// payload judges what a worker's event carries.
func (e *Event) payload() Payload {
	switch {
	case e.Completion != nil:
		return judged(completion.ParseCompletion(e.Completion))
	case e.Refusal != nil:
		return judged(completion.ParseRefusal(e.Refusal))
	case e.ResultSummary != nil:
		return summarised(completion.ParseCompletedSummary(*e.ResultSummary))
	}
	return Payload{}
}

// FollowUps are the tasks that a worker's refusal of a task's scope leads to; none for other events.
func (e *Event) FollowUps(taskID string) []completion.FollowUp {
	if e.Refusal == nil {
		return nil
	}
	return e.payload().FollowUps(taskID)
}

// FollowUps are the tasks that a refusal of a task's scope leads to; none for other payloads.
func (p Payload) FollowUps(taskID string) []completion.FollowUp {
	if p.Refusal == nil {
		return nil
	}
	return completion.FollowUps(taskID, *p.Refusal)
}

// JudgePayload judges what a completion call hands in: a payload document or a summary.
func (r *CompleteTask) JudgePayload() Payload {
	if r.Payload != nil {
		return judged(completion.Parse(r.Payload))
	}
	return summarised(completion.ParseSummary(*r.ResultSummary))
}

func summarised(r completion.Result, violation *contracts.Error) Payload {
	if violation == nil && r.Outcome == completion.OutcomeProse {
		return Payload{Outcome: completion.OutcomeProse, Summary: r.Prose}
	}
	return judged(r.Payload, violation)
}

func judged[P completion.Payload](p P, violation *contracts.Error) Payload {
	if violation == nil {
		var normalised []byte
		if normalised, violation = completion.Normalise(p); violation == nil {
			return accepted(p, normalised)
		}
	}
	return Payload{Outcome: completion.OutcomeViolation, Violation: violation}
}

func accepted(p completion.Payload, normalised []byte) Payload {
	out := Payload{Outcome: p.Outcome(), Normalised: normalised}
	switch p := p.(type) {
	case completion.Completion:
		out.Summary = p.Summary
	case completion.Refusal:
		out.Refusal = &p
	}
	return out
}
