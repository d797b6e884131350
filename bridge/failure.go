// Why an attempt ended without a result, in words the server keeps.

package bridge

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// failure ends an attempt as failed. Its text goes to the server, so it holds nothing of this
// machine but what the dispatch itself names.
type failure struct {
	code    string // stable snake_case word
	detail  string
	refusal jsontext.Value // a worker's typed refusal, which takes the place of the text
}

func failf(code, format string, args ...any) *failure {
	return &failure{code: code, detail: fmt.Sprintf(format, args...)}
}

// Error is the reason as it is reported.
func (f *failure) Error() string {
	if f.detail == "" {
		return f.code
	}
	return f.code + ": " + f.detail
}

// reasonLimit is how many characters of a reason the server takes.
const reasonLimit = 2000

// reasonOf is what is reported for an error: a failure's own words, and for anything else only that
// the bridge could not go on; the log has the rest.
func reasonOf(err error) string {
	text := "bridge_error"
	if f, ok := errors.AsType[*failure](err); ok {
		text = f.Error()
	} else if g, ok := errors.AsType[*gitError](err); ok {
		// What git prints names places on this machine.
		text = fmt.Sprintf("git_failed: git %s exited with status %d", g.command, g.status)
	}
	return clip(text, reasonLimit)
}

// clip makes text safe to store and no longer than limit characters.
func clip(text string, limit int) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\uFFFD")
	if r := []rune(text); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return text
}

// listed names the first few of a list and counts the rest.
func listed(items []string) string {
	const shown = 5
	if len(items) <= shown {
		return strings.Join(items, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(items[:shown], ", "), len(items)-shown)
}
