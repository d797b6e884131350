// The policy: what a project may tune about the tokenizer.

package figures

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/pattern"
)

// DefaultMaterialityMin is the smallest bare integer that counts as a claim.
const DefaultMaterialityMin = 1000

// Policy tunes the tokenizer. Its zero value takes every bare integer for a claim; start from
// DefaultPolicy.
type Policy struct {
	// MaterialityMin is the smallest bare integer that has to be declared; 0 or more.
	MaterialityMin int64 `json:"materiality_min"`
	// Units are the case-sensitive units that make a number a quantity. They replace DefaultUnits and
	// their words; an empty list means the default.
	Units []string `json:"units"`
	// Allowlist are RE2 patterns for text that is exempt, in order of precedence. A match counts when
	// it is not empty, stays in one line and does not cut a number.
	Allowlist []string `json:"allowlist"`
}

// DefaultPolicy asks for bare integers from 1000, knows the default units and exempts nothing by pattern.
func DefaultPolicy() Policy {
	return Policy{MaterialityMin: DefaultMaterialityMin}
}

// ParsePolicy reads {"materiality_min", "units", "allowlist"}, each optional, nothing else. The error is
// a *contracts.Error with the path to the fault.
func ParsePolicy(data []byte) (Policy, error) {
	var w policyWire
	if err := canonjson.Decode(data, &w); err != nil {
		return Policy{}, err
	}
	p := w.policy()
	_, err := NewTokenizer(p)
	return p, err
}

// policyWire tells an absent member from an empty one; null is neither.
type policyWire struct {
	MaterialityMin member[int64]            `json:"materiality_min"`
	Units          member[[]member[string]] `json:"units"`
	Allowlist      member[[]member[string]] `json:"allowlist"`
}

func (w policyWire) policy() Policy {
	p := DefaultPolicy()
	if w.MaterialityMin.given {
		p.MaterialityMin = w.MaterialityMin.value
	}
	p.Units, p.Allowlist = values(w.Units.value), values(w.Allowlist.value)
	return p
}

func values(members []member[string]) []string {
	var all []string
	for _, m := range members {
		all = append(all, m.value)
	}
	return all
}

// Tokenizer finds the numbers of texts under one policy. It never changes and may be shared.
type Tokenizer struct {
	least     int64
	units     [256][]string // by first byte, the longest first
	follows   [256]bool     // the bytes that may start what belongs to a number before them
	spelled   bool          // the words of the default units count too
	allowlist []*regexp.Regexp
}

// NewTokenizer compiles a policy. The error is a *contracts.Error of code invalid with the path to the
// member that does not hold: a negative minimum, a unit that is blank, starts with a digit or spans
// lines, a pattern that is not RE2, or one with which they come to more than package pattern allows.
func NewTokenizer(p Policy) (*Tokenizer, error) {
	t := &Tokenizer{least: p.MaterialityMin, spelled: len(p.Units) == 0}
	if p.MaterialityMin < 0 {
		return nil, contracts.Invalid("$.materiality_min", "%d is below 0", p.MaterialityMin)
	}
	units := slices.Clone(p.Units)
	if t.spelled {
		units = DefaultUnits()
	}
	for i, unit := range units {
		if fault := unitFault(unit); fault != "" {
			return nil, contracts.Invalid(fmt.Sprintf("$.units[%d]", i), "%s", fault)
		}
	}
	slices.SortStableFunc(units, func(a, b string) int { return len(b) - len(a) })
	for b := range t.follows {
		t.follows[b] = b >= utf8.RuneSelf || basicPlane[b]&(letter|blank|sign|dash|emphasis) != 0 || b == '%' || b == '\\' || isEmphasis(byte(b))
	}
	for _, unit := range units {
		t.units[unit[0]] = append(t.units[unit[0]], unit)
		t.follows[unit[0]] = true
	}
	var patterns pattern.Set
	for i, expression := range p.Allowlist {
		re, err := patterns.Compile(expression)
		if err != nil {
			return nil, contracts.Invalid(fmt.Sprintf("$.allowlist[%d]", i), "%v", err)
		}
		t.allowlist = append(t.allowlist, re.Regexp)
	}
	return t, nil
}

// unitFault says why a unit can never be found, or "".
func unitFault(unit string) string {
	first, _ := utf8.DecodeRuneInString(unit)
	switch {
	case unit == "" || strings.TrimSpace(unit) != unit:
		return "a unit is blank or has white space at an end"
	case strings.Contains(unit, "\n"):
		return "a unit spans lines"
	case classOf(first)&digit != 0:
		return "a unit starts with a digit"
	}
	return ""
}
