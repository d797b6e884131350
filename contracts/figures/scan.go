// The scan: every number of a text, in order, line by line.

package figures

import (
	"iter"
	"strings"
	"unicode/utf8"
)

// Tokens are all numbers of the text in order of position, never nil. They do not overlap and none
// crosses a line break. Time and memory grow with the text's length.
func (t *Tokenizer) Tokens(text string) []Token {
	all := []Token{}
	for token := range t.Scan(text) {
		all = append(all, token)
	}
	return all
}

// Scan yields what Tokens collects, without holding more than one line's numbers.
func (t *Tokenizer) Scan(text string) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		var keys keyStore
		t.scan(text, func(f *found, p *place) bool {
			start, end := f.line.span(f.start, f.end)
			line, col := p.of(start)
			return yield(Token{
				Surface: p.raw[start:end], Material: f.category.Material(), Category: f.category,
				Keys: keys.of(f), Line: line, Col: col, Start: p.offset + start, End: p.offset + end,
			})
		})
	}
}

// place counts lines and columns as a scan moves on.
type place struct {
	raw    string // the line as given
	offset int    // where it starts in the text
	line   int    // its number, from 1
	at     int    // how far columns are counted
	col    int    // the column of at, from 0
}

// of is the line and column of the byte at in the line; at never goes back.
func (p *place) of(at int) (line, col int) {
	p.col += utf8.RuneCountInString(p.raw[p.at:at])
	p.at = at
	return p.line, p.col + 1
}

// scan hands every number of the text to emit until that returns false.
func (t *Tokenizer) scan(text string, emit func(*found, *place) bool) {
	s := scanner{t: t, emit: emit, allowed: t.allowedSpans(text)}
	for offset, line := 0, 1; offset < len(text); line++ {
		end := strings.IndexByte(text[offset:], '\n')
		if end < 0 {
			end = len(text) - offset
		}
		s.place = place{raw: text[offset : offset+end], offset: offset, line: line}
		if !s.scanLine() {
			return
		}
		offset += end + 1
	}
}

// allowedSpans are, for every pattern, its matches that are not empty and stay in one line.
func (t *Tokenizer) allowedSpans(text string) [][][]int {
	var all [][][]int
	for _, re := range t.allowlist {
		var kept [][]int
		for _, m := range re.FindAllStringIndex(text, -1) {
			if m[0] < m[1] && !strings.Contains(text[m[0]:m[1]], "\n") {
				kept = append(kept, m)
			}
		}
		all = append(all, kept)
	}
	return all
}
