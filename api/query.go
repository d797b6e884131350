// Strict query parameters: declared by the route, none unknown, none doubled, all in range.

package api

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"countersign/contracts"
)

// Param is one query parameter of a route.
type Param struct {
	Name     string
	Required bool
	// Integer says that the value is one, from Min to Max, with Default when it is absent.
	Integer           bool
	Min, Max, Default int
	// OneOf lists the values a text may have; none for any text.
	OneOf []string
}

// query holds checked parameters.
type query struct {
	text map[string]string
	ints map[string]int
}

// maxText is how long a text parameter may be, in bytes.
const maxText = 1024

// parseQuery checks a raw query against what a route declares. The error is invalid at "$.name".
func parseQuery(raw string, declared []Param) (query, error) {
	q := query{text: map[string]string{}, ints: map[string]int{}}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return q, contracts.Invalid("$", "the query string is not well formed")
	}
	for name := range values {
		if !slices.ContainsFunc(declared, func(p Param) bool { return p.Name == name }) {
			return q, contracts.Invalid("$."+strings.ToValidUTF8(name, "\uFFFD"), "unknown query parameter")
		}
	}
	for _, p := range declared {
		if err := q.take(p, values[p.Name]); err != nil {
			return q, err
		}
	}
	return q, nil
}

func (q query) take(p Param, values []string) error {
	at := "$." + p.Name
	switch {
	case len(values) > 1:
		return contracts.Invalid(at, "stands twice")
	case len(values) == 0 && p.Required:
		return contracts.Invalid(at, "is required")
	case len(values) == 0:
		if p.Integer {
			q.ints[p.Name] = p.Default
		}
		return nil
	}
	value := values[0]
	if p.Integer {
		n, err := strconv.Atoi(value)
		if err != nil || strconv.Itoa(n) != value || n < p.Min || n > p.Max {
			return contracts.Invalid(at, "must be an integer from %d to %d", p.Min, p.Max)
		}
		q.ints[p.Name] = n
		return nil
	}
	if len(p.OneOf) > 0 && !slices.Contains(p.OneOf, value) {
		return contracts.Invalid(at, "must be one of %s", strings.Join(p.OneOf, ", "))
	}
	if value == "" || len(value) > maxText || !plainText(value) {
		return contracts.Invalid(at, "must be text of 1 to %d bytes", maxText)
	}
	q.text[p.Name] = value
	return nil
}

// plainText reports whether PostgreSQL can hold s.
func plainText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
