// The figures_grounded criterion: its value, and how it judges a report.

package figures

import (
	"strings"

	"countersign/contracts"
	"countersign/contracts/canonjson"
)

// Severity says what a failing verdict does to completion.
type Severity string

// The severities: strict fails the criterion, warn only reports.
const (
	Strict Severity = "strict"
	Warn   Severity = "warn"
)

// Criterion is the value of figures_grounded, parsed.
type Criterion struct {
	Severity Severity
	Policy   Policy
}

// ParseCriterion reads a criterion's value: "" or "strict", "warn", or the JSON object {"severity",
// "materiality_min", "units", "allowlist"} with any of these members. The error is a *contracts.Error
// with the path inside the value.
func ParseCriterion(value string) (Criterion, error) {
	if !strings.HasPrefix(strings.TrimSpace(value), "{") {
		severity, err := parseSeverity("$", value)
		return Criterion{severity, DefaultPolicy()}, err
	}
	var w struct {
		Severity member[string] `json:"severity"`
		policyWire
	}
	if err := canonjson.Decode([]byte(value), &w); err != nil {
		return Criterion{}, err
	}
	c := Criterion{Strict, w.policy()}
	if w.Severity.given {
		var err error
		if c.Severity, err = parseSeverity("$.severity", w.Severity.value); err != nil {
			return Criterion{}, err
		}
	}
	_, err := NewTokenizer(c.Policy)
	return c, err
}

func parseSeverity(path, word string) (Severity, error) {
	switch word {
	case "", string(Strict):
		return Strict, nil
	case string(Warn):
		return Warn, nil
	}
	return "", contracts.Invalid(path, "%q is none of strict, warn", word)
}

// Judge evaluates the canonical bytes of a report. A report that is no bundle fails at any severity,
// for it declares nothing that could be checked; warn lets a failing bundle pass, and says so.
func (c Criterion) Judge(report []byte, resolve Resolver) (passed bool, detail string) {
	if !IsBundle(report) {
		return false, "the report is plain text; figures_grounded needs a bundle of body and figures"
	}
	bundle, err := ParseBundle(report)
	if err != nil {
		return false, "the bundle is refused: " + err.Error()
	}
	tokenizer, err := NewTokenizer(c.Policy)
	if err != nil {
		return false, "the policy is refused: " + err.Error()
	}
	verdict := tokenizer.Evaluate(bundle, resolve)
	if !verdict.OK && c.Severity == Warn {
		return true, "WARN: " + verdict.Detail()
	}
	return verdict.OK, verdict.Detail()
}
