// Regular expressions that others wrote, within bounds.

// Package pattern compiles the RE2 expressions of declarations. Such an expression takes no more time than
// its length times the text's, but a short one can be large: a{1000} is a thousand instructions. So what
// the expressions of one declaration come to together is bounded.
package pattern

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// MaxInstructions is how many instructions the expressions of one Set may have together, some 60 bytes each.
const MaxInstructions = 1 << 18

// Set compiles the expressions of one declaration. Its zero value is ready for use.
type Set struct {
	compiled     map[string]*Expression
	instructions int
}

// Expression is a compiled expression and its number of instructions, which matching takes at most for
// each byte of a text.
type Expression struct {
	*regexp.Regexp
	Instructions int
}

// Compile is regexp.Compile; the same expression again costs nothing. The error also says that the set has
// become too large, and then that expression does not count.
func (s *Set) Compile(expression string) (*Expression, error) {
	if re := s.compiled[expression]; re != nil {
		return re, nil
	}
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	if s.instructions+len(program.Inst) > MaxInstructions {
		return nil, fmt.Errorf("the patterns come to more than %d instructions; repeat less", MaxInstructions)
	}
	re, err := regexp.Compile(expression)
	if err != nil {
		return nil, err
	}
	if s.compiled == nil {
		s.compiled = map[string]*Expression{}
	}
	made := &Expression{re, len(program.Inst)}
	s.compiled[expression] = made
	s.instructions += made.Instructions
	return made, nil
}
