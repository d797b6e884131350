// What tells prose from a payload in a result_summary.

package completion_test

import (
	"strings"
	"testing"
	"unicode"

	"countersign/contracts/completion"
	"countersign/contracts/workflow"

	"github.com/stretchr/testify/require"
)

func TestProseIsAcceptedUnchanged(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " ", "\n\t", "Done.", "  indented\n", "null", "true", "42", `"quoted"`, "[1,2", `["a",`, "[]", "}", "}{",
		"\ufeff{\"summary\":\"x\"}", "\ufeff", " \ufeff{", "\u200b{\"summary\":\"x\"}", "\u180e{}", "\x00{}", "\x1b{}", "\\{}",
		"done {", "`{}`", "```json\n{}\n```", "// {}", "({})", "\uff5b\"summary\"\uff5d", "a\x00b", "\u00e9 e\u0301", "\xff\xfe{", "\x80{}",
		`\u007b"summary":"x"}`, "-{}", "\"{}\"", strings.Repeat("x", 1<<20), strings.Repeat("[", 100_000),
	} {
		result, v := completion.ParseSummary(text)
		require.Nil(t, v)
		require.Equal(t, completion.Result{Outcome: completion.OutcomeProse, Prose: text}, result)

		result, v = completion.ParseCompletedSummary(text)
		require.Nil(t, v)
		require.Equal(t, completion.OutcomeProse, result.Outcome)
	}
}

func TestBraceOpensADocument(t *testing.T) {
	t.Parallel()
	good := completion.Completion{Summary: "s", FilesChanged: []string{}}
	for _, text := range []string{`{"summary":"s"}`, " \t\r\n{ \"summary\" : \"s\" }\n"} {
		result, v := completion.ParseSummary(text)
		require.Nil(t, v)
		require.Equal(t, completion.Result{Outcome: completion.OutcomeCompletion, Payload: good}, result)
	}
	for _, text := range []string{
		"{", "{}}", "{{}}", "{see the log} all done", "{\"summary\":\"s\"", "{\"summary\":\"s\"}.", "{\"summary\":\"s\"}\u00a0", "{\"summary\":\"s\"}\x00",
		"\u00a0{\"summary\":\"s\"}", "\v{\"summary\":\"s\"}", "\f{\"summary\":\"s\"}", "\x1c{\"summary\":\"s\"}", "\x1f{\"summary\":\"s\"}", "\u0085{\"summary\":\"s\"}",
		"\u2028{\"summary\":\"s\"}", "\u3000{\"summary\":\"s\"}", " \n\u00a0 {\"summary\":\"s\"}", "{\ufeff\"summary\":\"s\"}", "{NaN}",
		`{"summary":NaN}`, `{"summary":"\ud800"}`, "{\"summary\":\"\xff\"}", `{"summary":"s"}{"summary":"s"}`, `{'summary':'s'}`, "{" + strings.Repeat("[", 100_000),
		strings.Repeat(`{"a":`, 100_000), strings.Repeat(" ", 1<<20) + "{",
	} {
		result, v := completion.ParseSummary(text)
		require.NotNil(t, v, text)
		require.Equal(t, completion.Result{Outcome: completion.OutcomeViolation}, result)
		require.Equal(t, "$", v.Path)
		require.Contains(t, v.Detail, "begin prose with a word")
		require.Contains(t, v.Detail, "truncated")
	}
	for text, path := range map[string]string{
		`{}`: "$.summary", `{"summary":" "}`: "$.summary", `{"note":"x"}`: "$.note", `{"a":1,"a":2}`: "$.a", `{"kind":null}`: "$.kind",
	} {
		result, v := completion.ParseSummary(text)
		require.Equal(t, completion.OutcomeViolation, result.Outcome)
		require.Equal(t, path, v.Path)
	}
}

func TestShapeOfAPlace(t *testing.T) {
	t.Parallel()
	const done, gaveUp = `{"summary":"s"}`, `{"kind":"underspecified","detail":"d","question":"q"}`

	c, v := completion.ParseCompletion([]byte(done))
	require.Nil(t, v)
	require.Equal(t, "s", c.Summary)
	r, v := completion.ParseRefusal([]byte(gaveUp))
	require.Nil(t, v)
	require.Equal(t, completion.Refusal{Kind: completion.KindUnderspecified, Detail: "d", Question: "q"}, r)
	result, v := completion.ParseCompletedSummary(done)
	require.Nil(t, v)
	require.Equal(t, c, result.Payload)

	for input, path := range map[string]string{
		gaveUp: "$.kind", `{"kind":null,"summary":"s"}`: "$.kind", `{"x":1,"kind":1}`: "$.kind", `{"contract":"v0","kind":1}`: "$.contract",
		`{"kind":1,"kind":1}`: "$.kind", `{"kind":`: "$", `{}`: "$.summary",
	} {
		c, v := completion.ParseCompletion([]byte(input))
		require.NotNil(t, v)
		require.Equal(t, path, v.Path)
		require.Zero(t, c)
		result, v := completion.ParseCompletedSummary(input)
		require.Equal(t, completion.Result{Outcome: completion.OutcomeViolation}, result)
		require.Equal(t, path, v.Path)
	}
	for input, path := range map[string]string{
		done: "$.kind", `{}`: "$.kind", `{"x":1}`: "$.kind", `{"contract":1}`: "$.contract", `{"kind":"x"}`: "$.kind", `[]`: "$", gaveUp + gaveUp: "$",
	} {
		r, v := completion.ParseRefusal([]byte(input))
		require.NotNil(t, v)
		require.Equal(t, path, v.Path)
		require.Zero(t, r)
	}
}

// The blank rule stands in two packages, so that neither needs the other; they must agree.
func TestBlankAsInWorkflow(t *testing.T) {
	t.Parallel()
	for r := range unicode.MaxRune + 1 {
		if r >= 0xd800 && r <= 0xdfff {
			continue
		}
		result, _ := completion.ParseSummary(string(r) + "{")
		document := result.Outcome == completion.OutcomeViolation
		if r == '{' {
			continue
		}
		if document != workflow.Blank(string(r)) {
			require.Failf(t, "the packages disagree", "U+%04X", r)
		}
	}
}
