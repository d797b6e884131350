// The verdict: is every claim declared, and does every declared figure trace to a record?

package figures

import (
	"fmt"
	"strings"
)

// Verdict is what a bundle's figures are worth. The lists are never nil.
type Verdict struct {
	// OK says that every anchor resolves and every material number is declared.
	OK bool `json:"ok"`
	// Provenances says of each figure, in the bundle's order, what its anchor came to.
	Provenances []Provenance `json:"provenances"`
	// Unanchored are the material numbers that no figure declares, by position.
	Unanchored []Unanchored `json:"unanchored"`
}

// Provenance is one figure's line of the verdict.
type Provenance struct {
	Label string `json:"label"`
	Value string `json:"value"`
	OK    bool   `json:"ok"`
	// Statement is the resolver's sentence.
	Statement string `json:"statement"`
}

// Unanchored is a material number that no figure declares; Line and Col are as in Token.
type Unanchored struct {
	Surface  string   `json:"surface"`
	Category Category `json:"category"`
	Line     int      `json:"line"`
	Col      int      `json:"col"`
}

// Evaluate checks a bundle. Every figure counts, used or not: its anchor must resolve. A material
// number of the body is declared when a figure has its key and does not disagree in currency, percent
// or unit; a range when both ends are, or when one figure's value is that range.
func (t *Tokenizer) Evaluate(b Bundle, resolve Resolver) Verdict {
	v := Verdict{OK: true, Provenances: make([]Provenance, len(b.Figures)), Unanchored: []Unanchored{}}
	asked := make(map[Anchor]Resolution)
	for i, f := range b.Figures {
		r, ok := asked[f.Anchor]
		if !ok {
			r = resolve(f.Anchor)
			asked[f.Anchor] = r
		}
		v.Provenances[i] = Provenance{f.Label, f.Value, r.OK, r.Statement}
		v.OK = v.OK && r.OK
	}
	declared := t.declare(b.Figures)
	t.scan(b.Body, func(f *found, p *place) bool {
		if f.category.Material() && !declared.declared(f) {
			start, end := f.line.span(f.start, f.end)
			line, col := p.of(start)
			v.Unanchored = append(v.Unanchored, Unanchored{p.raw[start:end], f.category, line, col})
		}
		return true
	})
	v.OK = v.OK && len(v.Unanchored) == 0
	return v
}

// maxProblems bounds the sentence of a verdict; the lists of a Verdict are whole.
const maxProblems = 200

// Detail is the verdict in one line: every problem, or that there is none. It names at most 200
// problems and counts the rest.
func (v Verdict) Detail() string {
	var problems []string
	rest := 0
	add := func(format string, args ...any) {
		if len(problems) == maxProblems {
			rest++
			return
		}
		problems = append(problems, fmt.Sprintf(format, args...))
	}
	for _, p := range v.Provenances {
		if !p.OK {
			name := p.Label
			if name == "" {
				name = p.Value
			}
			add("figure '%s' (value %s) is not grounded: %s", name, p.Value, p.Statement)
		}
	}
	for _, u := range v.Unanchored {
		add("unanchored %s '%s' at line %d, col %d is not declared in figures.json", u.Category, u.Surface, u.Line, u.Col)
	}
	switch {
	case len(problems) == 0:
		return fmt.Sprintf("%d figures grounded, every material number declared", len(v.Provenances))
	case rest > 0:
		problems = append(problems, fmt.Sprintf("and %d more", rest))
	}
	return strings.Join(problems, "; ")
}
