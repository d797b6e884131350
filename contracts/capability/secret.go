// Values that look like secrets: where they are in a text, and the text without them.

package capability

import (
	"regexp"
	"slices"
	"strings"
)

// secretShape finds one kind of secret.
type secretShape struct {
	// hints are in lowercase; without any of them the pattern cannot match, and they are far cheaper.
	hints []string
	// Group 1 of the pattern is what has to go, as far as the shortest match reaches; group 2 is the
	// value in it.
	pattern *regexp.Regexp
	// end is where the secret ends in text, given where its value starts and its shortest match ends.
	end func(text string, value, end int) int
}

// The first two are the contract's. The others are credentials that are known by their form.
var secretShapes = []secretShape{
	// A value that opens a JSON object or list is judged by the keys inside of it.
	{[]string{"key", "token", "password", "secret"}, regexp.MustCompile(
		"(?i)((?:api[_. -]?key|access[_. -]?token|password|secret)" +
			"[\\s\"'`\\\\]*[:=][\\s\"'`\\\\:=>]*?" +
			"(\"[^\"\\n]{8}|'[^'\\n]{8}|`[^`\\n]{8}|[^\\s\"'`\\\\{\\[]\\S{7}|[{\\[][^\\s\"'`\\\\{\\[]\\S{6}))"), quotedEnd},
	{[]string{"sk-"}, regexp.MustCompile(`(?:^|[^A-Za-z0-9])((sk-[A-Za-z0-9_-]{8}))`), wordEnd},
	{[]string{"-----begin "}, regexp.MustCompile(`((-----BEGIN [A-Z ]*PRIVATE KEY-----))`), keyBlockEnd},
	{[]string{"bearer"}, regexp.MustCompile(`(?i)(\bbearer\s+([A-Za-z0-9._~+/-]{20}))`), wordEnd},
	{[]string{"gh", "git", "xox"}, regexp.MustCompile(`(((?:\bgh[opsur]_|\bgithub_pat_|\bxox[abprs]-)[A-Za-z0-9_-]{10}))`), wordEnd},
	{[]string{"akia"}, regexp.MustCompile(`((\bAKIA[0-9A-Z]{16}))`), wordEnd},
	{[]string{"eyj"}, regexp.MustCompile(`((\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.))`), wordEnd},
}

// shapesIn are the shapes that a folded text may hold.
func shapesIn(folded string) []secretShape {
	lower := strings.ToLower(folded)
	var found []secretShape
	for _, shape := range secretShapes {
		if slices.ContainsFunc(shape.hints, func(hint string) bool { return strings.Contains(lower, hint) }) {
			found = append(found, shape)
		}
	}
	return found
}

// redacted stands for a secret. It is too short to be one itself: else every "secret:" before it would
// make another.
const redacted = "[***]"

// SecretLike reports whether text holds a value that looks like a secret: api_key, access_token,
// password or secret with : or = and 8 or more characters, sk-…, and a few credentials known by
// their form. Characters that do not show and look-alikes do not hide one.
func SecretLike(text string) bool {
	folded, _ := fold(text)
	return slices.ContainsFunc(shapesIn(folded), func(s secretShape) bool { return s.pattern.MatchString(folded) })
}

// redact replaces every secret-like value, and the word that gives it away, until none is left.
func redact(text string) string {
	for {
		spans := secretSpans(text)
		if len(spans) == 0 {
			return text
		}
		var b strings.Builder
		end := 0
		for _, s := range spans {
			b.WriteString(text[end:s.from] + redacted)
			end = s.to
		}
		text = b.String() + text[end:]
	}
}

// span is a range of bytes.
type span struct{ from, to int }

// secretSpans finds every secret-like value of text, in order and without overlap. Matches may start
// inside of others: in "password: password: x" the first takes the second word for the value.
func secretSpans(text string) []span {
	folded, at := fold(text)
	var found []span
	for _, shape := range shapesIn(folded) {
		reach := 0
		for off := 0; off < len(folded); {
			m := shape.pattern.FindStringSubmatchIndex(folded[off:])
			if m == nil {
				break
			}
			from := off + m[2]
			reach = max(reach, shape.end(folded, off+m[4], max(reach, off+m[3])))
			found = append(found, span{at[from], at[reach]})
			off = from + 1
		}
	}
	return merge(found)
}

func merge(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	merged := spans[:0]
	for _, s := range spans {
		if n := len(merged); n > 0 && s.from <= merged[n-1].to {
			merged[n-1].to = max(merged[n-1].to, s.to)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// wordEnd is the next white space.
func wordEnd(text string, _, end int) int {
	if i := strings.IndexAny(text[end:], " \t\r\n\v\f"); i >= 0 {
		return end + i
	}
	return len(text)
}

// quotedEnd is, for a value that opens with a quote, the white space after its closing quote or else
// after its line; for any other the next white space.
func quotedEnd(text string, value, end int) int {
	if quote := text[value]; quote == '"' || quote == '\'' || quote == '`' {
		closing := strings.IndexAny(text[value+1:], string(quote)+"\n")
		if closing < 0 {
			return len(text)
		}
		end = max(end, value+1+closing)
	}
	return wordEnd(text, value, end)
}

// keyBlockEnd is where the block's last line starts, or the text ends when the block is cut short.
func keyBlockEnd(text string, _, end int) int {
	if i := strings.Index(text[end:], "-----END "); i >= 0 {
		return end + i
	}
	return len(text)
}
