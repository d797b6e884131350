// The token: one number of a text and what it is taken for.

// Package figures grounds the numbers of a report. It finds every number in the body, tells those that
// claim something from dates, versions and the like, and checks that each claim is declared and that
// each declared figure traces to a record. It is pure: no I/O, no clock; who resolves an anchor is
// handed in. The source of its rules is the section "Figure grounding" of the artifact contract.
package figures

// Category is what a number is taken for.
type Category string

// The material categories: a report has to declare these numbers.
const (
	Currency   Category = "currency"
	Percentage Category = "percentage"
	Quantity   Category = "quantity"
	Count      Category = "count"
	Range      Category = "range"
)

// The exempt categories: nothing is asked of these numbers.
const (
	Allowlisted    Category = "allowlisted"
	Date           Category = "date"
	Version        Category = "version"
	Section        Category = "section"
	BelowThreshold Category = "below_threshold"
)

// Material says that a number of the category has to be declared.
func (c Category) Material() bool {
	switch c {
	case Currency, Percentage, Quantity, Count, Range:
		return true
	}
	return false
}

// Token is one number of a text with what belongs to it.
type Token struct {
	// Surface is the token as written, currency, magnitude and unit included.
	Surface string `json:"surface"`
	// Material says that the token has to be declared.
	Material bool `json:"material"`
	// Category is what the token is taken for.
	Category Category `json:"category"`
	// Keys are the numeric keys (see Key): one, but both ends of a range and every part of 1h30m.
	Keys []string `json:"keys"`
	// Line and Col are where the token starts, in lines and code points, both from 1. Only LF ends a line.
	Line int `json:"line"`
	Col  int `json:"col"`
	// Start and End are the token's span in bytes of the text.
	Start int `json:"-"`
	End   int `json:"-"`
}
