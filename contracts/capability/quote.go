// Quoting a provider's schema: the only form in which its text may reach a reader.

package capability

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"countersign/contracts/canonjson"
)

// MaxExcerpt is how many code points an excerpt may have, delimiters included.
const MaxExcerpt = 4096

// maxField is how many code points of one field are read. A longer field is left out as a whole: cut
// before redaction, its last secret could lose its form and stay.
const maxField = 1 << 16

const (
	opening = "<" + ProvenanceLabel + ">"
	closing = "</" + ProvenanceLabel + ">"
)

// excerptFields are the fields of a provider's schema that may be quoted, in the order they are.
var excerptFields = []string{"name", "description", "parameters"}

// Excerpt is a provider's schema in quotes. It always satisfies Admissible.
type Excerpt struct {
	ProvenanceLabel string   `json:"provenance_label"`
	Text            string   `json:"excerpt"`
	SHA256          string   `json:"excerpt_sha256"`
	Fields          []string `json:"excerpt_fields"`
	// Cut reports that the text did not fit and ends early.
	Cut bool `json:"-"`
}

// Candidate is the excerpt as a candidate of which nothing has been judged yet.
func (e Excerpt) Candidate(id string) Candidate {
	return Candidate{
		ID: id, ProvenanceLabel: e.ProvenanceLabel,
		Excerpt: e.Text, ExcerptSHA256: e.SHA256, ExcerptFields: e.Fields,
	}
}

// Quote puts a provider's own words, by field name, in quotes: only name, description and parameters
// are taken; secret-like values are replaced; markup and characters that do not show are escaped as
// HTML character references; the whole is cut to MaxExcerpt. What the words say is not judged.
func Quote(provider map[string]string) Excerpt {
	e := Excerpt{ProvenanceLabel: ProvenanceLabel, Fields: []string{}}
	var lines []string
	for _, field := range excerptFields {
		text, given := provider[field]
		if !given {
			continue
		}
		if utf8.RuneCountInString(text) > maxField {
			text = "[left out, too long]"
		}
		e.Fields = append(e.Fields, field)
		lines = append(lines, field+": "+text)
	}
	// Escaping lengthens a value, and a short one may then look like a secret: redact again.
	inner := redact(escape(redact(strings.Join(lines, "\n"))))
	inner, e.Cut = cut(inner, MaxExcerpt-utf8.RuneCountInString(opening+closing))
	e.Text = opening + inner + closing
	e.SHA256 = canonjson.Digest([]byte(e.Text))
	return e
}

// escape leaves no bracket and nothing unseen in text. An HTML reader undoes it, but for the control
// characters that HTML cannot name.
func escape(text string) string {
	var b strings.Builder
	for _, r := range text { // bytes that are no UTF-8 become U+FFFD
		if r == '&' || bracket(r) || unseen(r) {
			fmt.Fprintf(&b, "&#x%x;", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// cut shortens an escaped text to at most limit code points without splitting a reference.
func cut(text string, limit int) (string, bool) {
	if utf8.RuneCountInString(text) <= limit {
		return text, false
	}
	kept := string([]rune(text)[:limit])
	if i := strings.LastIndexByte(kept, '&'); i > strings.LastIndexByte(kept, ';') {
		kept = kept[:i]
	}
	return kept, true
}
