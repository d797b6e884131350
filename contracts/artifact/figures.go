// figures_grounded: what its value says, and who is asked.

package artifact

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Grounder judges the figures of a report: whether every anchor resolves and every material number of
// the body is declared. It returns a sentence for each that is not, none when the report is grounded.
// It need not look at the policy's severity.
type Grounder func(Bundle, FiguresPolicy) []string

// Severity is what an ungrounded figure does to the criterion.
type Severity string

// The severities. With SeverityWarn the criterion passes and its detail begins with "WARN: ".
const (
	SeverityStrict Severity = "strict"
	SeverityWarn   Severity = "warn"
)

// FiguresPolicy is the value of a figures_grounded criterion. What is nil was not given.
type FiguresPolicy struct {
	Severity Severity
	// MaterialityMin is the value from which on a bare number must be declared.
	MaterialityMin *float64
	// Units replace the units that make a number a quantity.
	Units []string
	// Allowlist are RE2 patterns of numbers that need no anchor.
	Allowlist []*regexp.Regexp
}

// ParseFiguresPolicy reads "", "strict", "warn", or a closed JSON object of severity (strict or warn),
// materiality_min (a number, not negative), units (a list of strings, none blank) and allowlist (a list
// of RE2 patterns), each of which may be left out. The error says what is wrong with the value.
func ParseFiguresPolicy(value string) (FiguresPolicy, error) {
	policy := FiguresPolicy{Severity: SeverityStrict}
	switch Severity(value) {
	case "", SeverityStrict:
		return policy, nil
	case SeverityWarn:
		policy.Severity = SeverityWarn
		return policy, nil
	}
	parsed, err := parseJSON([]byte(value))
	if err != nil {
		return FiguresPolicy{}, errors.New("must be empty, strict, warn or a JSON object")
	}
	members, ok := parsed.(map[string]any)
	if !ok {
		return FiguresPolicy{}, errors.New("must be empty, strict, warn or a JSON object")
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if err := policy.set(key, members[key]); err != nil {
			return FiguresPolicy{}, err
		}
	}
	return policy, nil
}

func (p *FiguresPolicy) set(key string, value any) error {
	switch key {
	case "severity":
		word, _ := value.(string)
		if p.Severity = Severity(word); p.Severity != SeverityStrict && p.Severity != SeverityWarn {
			return errors.New("severity must be strict or warn")
		}
	case "materiality_min":
		number, _ := value.(stdjson.Number)
		least, err := number.Float64()
		if err != nil || least < 0 {
			return errors.New("materiality_min must be a number and not negative")
		}
		p.MaterialityMin = &least
	case "units":
		units, ok := stringList(value)
		if !ok || slices.ContainsFunc(units, func(s string) bool { return strings.TrimSpace(s) == "" }) {
			return errors.New("units must be a list of strings that are not blank")
		}
		p.Units = units
	case "allowlist":
		patterns, ok := stringList(value)
		if !ok {
			return errors.New("allowlist must be a list of strings")
		}
		p.Allowlist = make([]*regexp.Regexp, len(patterns))
		for i, pattern := range patterns {
			var err error
			if p.Allowlist[i], err = regexp.Compile(pattern); err != nil {
				return fmt.Errorf("allowlist[%d] is no RE2 pattern: %w", i, err)
			}
		}
	default:
		return fmt.Errorf("unknown key %q", clip(key, 40))
	}
	return nil
}

// stringList is never nil when value is a list of strings.
func stringList(value any) ([]string, bool) {
	list, ok := value.([]any)
	strs := make([]string, len(list))
	for i, item := range list {
		var isString bool
		strs[i], isString = item.(string)
		ok = ok && isString
	}
	return strs, ok
}

// figuresJudge asks the grounder about a bundle.
type figuresJudge struct {
	ground Grounder
	policy FiguresPolicy
	bundle *Bundle
}

func newFiguresJudge(value string, ground Grounder) judge {
	policy, err := ParseFiguresPolicy(value)
	if err != nil {
		return undecided{"the value " + err.Error()}
	}
	if ground == nil {
		return undecided{"nobody judges figures here"}
	}
	return &figuresJudge{ground: ground, policy: policy}
}

func (*figuresJudge) wants(nth int64) bool { return nth == 0 }

func (j *figuresJudge) see(p part) { j.bundle = p.bundle }

func (j *figuresJudge) verdict(evidence) (bool, string) {
	if j.bundle == nil {
		// Not an ungrounded figure, so that warn does not let it pass.
		return false, "the artifact is no report with figures (a JSON object of body and figures)"
	}
	faults := j.ground(*j.bundle, j.policy)
	switch {
	case len(faults) == 0:
		return true, "every figure is grounded"
	case j.policy.Severity == SeverityWarn:
		return true, "WARN: " + strings.Join(faults, "; ")
	}
	return false, strings.Join(faults, "; ")
}
