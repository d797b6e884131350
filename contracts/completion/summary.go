// Reading a result_summary: prose, or a payload written as text.

package completion

import (
	"strings"

	"countersign/contracts"
)

// Result is what a result_summary turned out to be.
type Result struct {
	Outcome Outcome
	// Payload is set for OutcomeCompletion and OutcomeRefusal.
	Payload Payload
	// Prose is the text, unchanged, for OutcomeProse.
	Prose string
}

// ParseSummary reads a result_summary. A text whose first character after white space is { is a JSON
// document and must be a payload as Parse takes it; anything else is prose, accepted unchanged. The
// error is Parse's; at "$" it says as well why prose must not open with a brace.
func ParseSummary(text string) (Result, *contracts.Error) {
	return parseSummary(text, eitherShape)
}

// ParseCompletedSummary is ParseSummary where only a completion may stand (the event completed): a
// refusal there is a violation at $.kind.
func ParseCompletedSummary(text string) (Result, *contracts.Error) {
	return parseSummary(text, completionShape)
}

const whyNoBrace = "; a result_summary that opens with { is read as a " + Version + " document, " +
	"for otherwise a truncated payload would pass as prose: begin prose with a word"

func parseSummary(text string, allowed shape) (Result, *contracts.Error) {
	if !strings.HasPrefix(strings.TrimLeftFunc(text, isSpace), "{") {
		return Result{Outcome: OutcomeProse, Prose: text}, nil
	}
	p, v := parse([]byte(text), allowed)
	if v != nil {
		if v.Path == "$" {
			v.Detail += whyNoBrace
		}
		return Result{Outcome: OutcomeViolation}, v
	}
	return Result{Outcome: p.Outcome(), Payload: p}, nil
}
