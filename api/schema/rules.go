// What the validator tags of a field mean as JSON Schema. A schema is never stricter than the server:
// what it cannot say exactly it leaves to the description.

package schema

import (
	"slices"
	"strconv"
	"strings"
)

// rule is one word of a validator tag with its parameter.
type rule struct{ name, param string }

// rules are a field's own rules and, behind dive, those of its elements.
type rules struct{ own, elements []rule }

func parseRules(tag string) (r rules) {
	if tag == "" {
		return r
	}
	into := &r.own
	for word := range strings.SplitSeq(tag, ",") {
		name, param, _ := strings.Cut(word, "=")
		if name == "dive" {
			into = &r.elements
			continue
		}
		*into = append(*into, rule{name, param})
	}
	return r
}

// patterns and sentences of the rules that are about texts.
var (
	patterns = map[string]string{
		"key128":      `^[A-Za-z0-9_.-]{1,128}$`,
		"criterionid": `^[A-Za-z0-9_.-]{1,64}$`,
		"username":    `^[a-z0-9._-]{1,64}$`,
		"sha40":       `^[0-9a-f]{40}$`,
		"sha64":       `^[0-9a-f]{64}$`,
		"abspath":     `^/`,
	}
	sentences = map[string]string{
		"notblank": "Not blank.",
		"sha40":    "A commit; not all zero.",
		"abspath":  "An absolute, clean path.",
		"relpath":  "A clean, repository-relative path.",
		"branch":   "A valid Git branch name without a leading -.",
	}
)

// apply adds the rules to s and reports whether the field may not be absent.
func (r rules) apply(s *Schema) (required bool) {
	optional := false
	for _, one := range r.own {
		if one.name == "omitempty" {
			optional = true
		}
		required = required || mandatory(one.name)
		one.apply(s)
	}
	if s.Items != nil && len(r.elements) > 0 {
		for _, one := range r.elements {
			one.apply(s.Items)
		}
	}
	return required && !optional
}

// mandatory reports whether the empty value, which an absent field has, breaks the rule.
func mandatory(name string) bool {
	_, pattern := patterns[name]
	return pattern || name == "required" || name == "notblank" || name == "relpath" || name == "branch" || name == "version"
}

func (r rule) apply(s *Schema) {
	if s.Ref != "" || len(s.AnyOf) > 0 {
		return
	}
	if sentence, ok := sentences[r.name]; ok {
		s.Description = strings.TrimSpace(s.Description + " " + sentence)
	}
	if pattern, ok := patterns[r.name]; ok {
		s.Pattern = pattern
	}
	is := func(kind string) bool { return slices.Contains(s.Type, kind) }
	switch r.name {
	case "required", "notblank":
		if is("string") && s.MinLength == nil {
			s.MinLength = new(1)
		}
	case "oneof":
		s.Enum = nil
		for word := range strings.FieldsSeq(r.param) {
			s.Enum = append(s.Enum, word)
		}
		if is("null") {
			s.Enum = append(s.Enum, nil)
		}
	case "unique":
		s.UniqueItems = r.param == "" // unique=ID is about one member, which JSON Schema cannot say
	case "min", "max":
		if n, err := strconv.Atoi(r.param); err == nil {
			s.bound(r.name == "max", n, is)
		}
	}
}

func (s *Schema) bound(upper bool, n int, is func(string) bool) {
	var least, most **int
	switch {
	case is("array"):
		least, most = &s.MinItems, &s.MaxItems
	case is("string"):
		least, most = &s.MinLength, &s.MaxLength
	default:
		least, most = &s.Minimum, &s.Maximum
	}
	if upper {
		*most = &n
	} else {
		*least = &n
	}
}
