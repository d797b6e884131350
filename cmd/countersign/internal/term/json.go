// JSON on standard output: one line for programs, indented for a person at a terminal.

package term

import (
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// JSON writes v as one document and a line feed.
func (o *Out) JSON(v any) error {
	options := []json.Options{json.Deterministic(true)}
	if o.tty {
		options = append(options, jsontext.WithIndent("  "))
	}
	data, err := json.Marshal(v, options...)
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	text := string(data)
	if o.tty {
		text = escapeInStrings(text)
	}
	_, err = fmt.Fprintln(o.w, text)
	return err
}

// escapeInStrings writes deceptive characters as JSON escapes. They can only stand inside strings,
// where JSON itself has escaped the control characters below U+0020, so the document stays the same.
func escapeInStrings(text string) string {
	if strings.IndexFunc(text, inJSON) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !inJSON(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func inJSON(r rune) bool { return r >= ' ' && deceptive(r) }
