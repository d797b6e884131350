// The check of a quoted excerpt: whether a candidate's text may be looked at as evidence.

package capability

import (
	"slices"
	"strings"
	"unicode/utf8"

	"countersign/contracts"
	"countersign/contracts/canonjson"
)

// Admissible checks that a candidate's excerpt is properly quoted provider text: labelled as such; in
// one pair of delimiters at its very ends and without any other bracket; free of characters that do
// not show; at most MaxExcerpt code points; digested as it stands; made of allow-listed fields only;
// without a secret-like value. The error is a *contracts.Error of code invalid with a path relative to
// the candidate; it never repeats the excerpt.
func Admissible(c Candidate) error {
	if c.ProvenanceLabel != ProvenanceLabel {
		return contracts.Invalid("$.provenance_label", "must be %s", ProvenanceLabel)
	}
	if detail := excerptFault(c.Excerpt); detail != "" {
		return contracts.Invalid("$.excerpt", "%s", detail)
	}
	if c.ExcerptSHA256 != canonjson.Digest([]byte(c.Excerpt)) {
		return contracts.Invalid("$.excerpt_sha256", "must be the lowercase hex SHA-256 of the whole excerpt")
	}
	if c.ExcerptFields == nil {
		return contracts.Invalid("$.excerpt_fields", "is required")
	}
	for _, field := range c.ExcerptFields {
		if !slices.Contains(excerptFields, field) {
			return contracts.Invalid("$.excerpt_fields", "must be of %s", strings.Join(excerptFields, ", "))
		}
	}
	return nil
}

// excerptFault says what is wrong with an excerpt's text, or "".
func excerptFault(text string) string {
	if !utf8.ValidString(text) {
		return "must be UTF-8"
	}
	if utf8.RuneCountInString(text) > MaxExcerpt {
		return "must have at most 4096 characters"
	}
	inner, opened := strings.CutPrefix(text, opening)
	inner, closed := strings.CutSuffix(inner, closing)
	if !opened || !closed {
		return "must stand in one pair of " + opening + " delimiters"
	}
	if strings.ContainsFunc(inner, bracket) {
		return "must not hold a bracket but those of its delimiters"
	}
	if strings.ContainsFunc(inner, unseen) {
		return "must not hold control or format characters"
	}
	// Only what is quoted: the closing delimiter would lengthen a short value.
	if SecretLike(inner) {
		return "must not hold a secret-like value"
	}
	return ""
}
