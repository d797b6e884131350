// What was decided on the workers of a revision that the capability contract binds, for a person.

package follow

import (
	"fmt"
	"slices"
	"strings"

	"countersign/cmd/countersign/internal/term"
	"countersign/contracts/capability"
	"countersign/contracts/workflow"
)

// Dispatches are lines about the last decision on each attempt, and on an offer that was not made; none
// for a revision that the contract does not bind. Each reason code has its sentence and what to do.
func Dispatches(d *workflow.Detail) (lines []string) {
	var codes []capability.ReasonCode
	for _, a := range d.Attempts {
		if r := a.WorkerDispatch; r != nil {
			lines = append(lines, fmt.Sprintf("%s %d: %s", a.Purpose, a.Number, standing(r, a.EndedAt != nil)))
			codes = append(codes, r.Outcome.ReasonCodes...)
		}
	}
	if s := d.WorkerDispatch; s != nil && s.Stage == workflow.StageOffer {
		lines = append(lines, "the next attempt was not offered")
		codes = append(codes, s.ReasonCodes...)
	}
	for i, code := range codes {
		if !slices.Contains(codes[:i], code) {
			lines = append(lines, "  "+explained(code))
		}
	}
	return lines
}

// standing is a decision in one line, of an attempt that has ended or not. Nothing but a closed gate lets
// it say independent.
func standing(r *workflow.DispatchRecord, ended bool) string {
	switch r.Action {
	case capability.ActionAttempt, capability.ActionWait:
		switch {
		case ended:
			return "it ended before its worker was called"
		case r.Action == capability.ActionWait:
			return "it waits for capacity"
		}
		return "its worker may be called; nothing is settled yet"
	case capability.ActionFallback, capability.ActionBlock:
		return "no worker was called, so nothing was done by one"
	case capability.ActionSettle:
	default:
		return term.Safe(string(r.Action))
	}
	text := "its worker was called"
	if r.Outcome.Status != nil {
		text += ": " + term.Safe(string(*r.Outcome.Status))
	}
	if !r.ResultPromotable {
		return text + "; its result counts for nothing"
	}
	if r.IndependenceGate == capability.GateClosed {
		text += "; seen to be isolated, independence gate closed"
	} else {
		text += "; independence gate open"
	}
	if len(r.ClaimsDenied) > 0 {
		denied := make([]string, len(r.ClaimsDenied))
		for i, c := range r.ClaimsDenied {
			denied[i] = term.Safe(string(c))
		}
		text += "; not to be claimed: " + strings.Join(denied, ", ")
	}
	return text
}

// explained is a code with its sentence and the way out; a code of a newer server stands alone.
func explained(code capability.ReasonCode) string {
	e, ok := capability.Explain(code)
	if !ok {
		return term.Safe(string(code))
	}
	return string(code) + ": " + e.Sentence + " " + e.Remedy
}
