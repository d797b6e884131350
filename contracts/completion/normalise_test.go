// The normalised form: what it holds, and that it is its own normalised form.

package completion_test

import (
	"strings"
	"testing"

	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/completion"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestNormalisedForm(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		`{"summary":"s"}`: `{"contract":"worker-completion/v1","files_changed":[],"summary":"s"}`,
		`{"verification":{"exit_code":-0,"command":" c "},"receipt_ref":"r","files_changed":["b","a","b"],"summary":" s "}`: `{"contract":"worker-completion/v1","files_changed":["b","a","b"],"receipt_ref":"r","summary":" s ","verification":{"command":" c ","exit_code":0}}`,
		`{"summary":"s","verification":{"command":"c","exit_code":4294967295},"receipt_ref":null}`:                          `{"contract":"worker-completion/v1","files_changed":[],"summary":"s","verification":{"command":"c","exit_code":4294967295}}`,
		// As sent: neither NFC nor trimmed, and spelt as RFC 8785 spells strings.
		`{"summary":"e\u0301 \u0000\u001f\u007f\u2028\/\"\\ \ud83d\ude00<&>"}`: "{\"contract\":\"worker-completion/v1\",\"files_changed\":[],\"summary\":\"e\u0301 \\u0000\\u001f\x7f\u2028/\\\"\\\\ 😀<&>\"}",
		`{"kind":"scope_exceeded","proposed_split":["b","a"],"detail":"d"}`:    `{"contract":"worker-completion/v1","detail":"d","kind":"scope_exceeded","proposed_split":["b","a"]}`,
		`{"question":"q","detail":"d","kind":"awaiting_operator"}`:             `{"contract":"worker-completion/v1","detail":"d","kind":"awaiting_operator","question":"q"}`,
		`{"blocking_dep":"T","detail":"d","kind":"blocked_on_dependency"}`:     `{"blocking_dep":"T","contract":"worker-completion/v1","detail":"d","kind":"blocked_on_dependency"}`,
	} {
		p, v := completion.Parse([]byte(input))
		require.Nil(t, v, input)
		got, v := completion.Normalise(p)
		require.Nil(t, v, input)
		require.Equal(t, want, string(got))
		requireSettled(t, p)
	}
}

// requireSettled holds an accepted payload to the law of the normalised form.
func requireSettled(t require.TestingT, p completion.Payload) {
	first, v := completion.Normalise(p)
	require.Nil(t, v)
	canonical, err := canonjson.Canonical(first)
	require.NoError(t, err)
	require.Equal(t, string(canonical), string(first), "RFC 8785")
	again, v := completion.Parse(first)
	require.Nil(t, v)
	require.Equal(t, p, again)
	second, v := completion.Normalise(again)
	require.Nil(t, v)
	require.Equal(t, string(first), string(second))
}

func TestNormaliseRefusesWhatParseWould(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		payload completion.Payload
		path    string
	}{
		{completion.Completion{}, "$.summary"},
		{completion.Completion{Summary: "s\xff"}, "$"},
		{completion.Completion{Summary: "s", FilesChanged: []string{""}}, "$.files_changed[0]"},
		{completion.Completion{Summary: "s", Verification: &completion.Verification{}}, "$.verification.command"},
		{completion.Completion{Summary: "s", Verification: &completion.Verification{Command: "c", ExitCode: 1 << 60}}, "$.verification.exit_code"},
		{completion.Completion{Summary: "s", ReceiptRef: " "}, "$.receipt_ref"},
		{completion.Refusal{Detail: "d"}, "$.kind"},
		{completion.Refusal{Kind: completion.KindUnderspecified, Detail: "d"}, "$.question"},
		{completion.Refusal{Kind: completion.KindUnderspecified, Detail: "d", Question: "q", BlockingDep: "b"}, "$.blocking_dep"},
		{completion.Refusal{Kind: completion.KindScopeExceeded, Detail: "d", ProposedSplit: []string{}}, "$.proposed_split"},
	} {
		_, v := completion.Normalise(c.payload)
		require.NotNil(t, v, "%+v", c.payload)
		require.Equal(t, contracts.CodeContractViolation, v.Code)
		require.Equal(t, c.path, v.Path)
	}
	data, v := completion.Normalise(completion.Completion{Summary: "s"})
	require.Nil(t, v)
	require.Equal(t, `{"contract":"worker-completion/v1","files_changed":[],"summary":"s"}`, string(data), "a nil list is the empty one")
}

// drawText is a text of at most limit code points, biased to the awkward, that is not blank.
func drawText(t *rapid.T, label string, limit int) string {
	part := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\x00", "\ufeff", "\u200b", " ", "\u2028", "😀", "e\u0301", `"\`, "{", "|", "\u001f"}))
	text := strings.Join(rapid.SliceOfN(part, 0, 8).Draw(t, label), "") + rapid.SampledFrom([]string{"x", "\u180e", "数"}).Draw(t, label+"'s end")
	if runes := []rune(text); len(runes) > limit {
		return string(runes[len(runes)-limit:])
	}
	return text
}

func drawRefusal(t *rapid.T) completion.Refusal {
	r := completion.Refusal{Detail: drawText(t, "detail", completion.MaxSummary)}
	r.Kind = rapid.SampledFrom([]completion.Kind{
		completion.KindAwaitingOperator, completion.KindUnderspecified, completion.KindScopeExceeded, completion.KindBlockedOnDependency,
	}).Draw(t, "kind")
	switch r.Kind {
	case completion.KindScopeExceeded:
		for range rapid.IntRange(1, completion.MaxSplitItems).Draw(t, "items") {
			r.ProposedSplit = append(r.ProposedSplit, drawText(t, "item", completion.MaxSplitItem))
		}
	case completion.KindBlockedOnDependency:
		r.BlockingDep = drawText(t, "blocking_dep", completion.MaxQuestion)
	default:
		r.Question = drawText(t, "question", completion.MaxQuestion)
	}
	return r
}

func drawCompletion(t *rapid.T) completion.Completion {
	c := completion.Completion{Summary: drawText(t, "summary", completion.MaxSummary), FilesChanged: []string{}}
	for range rapid.IntRange(0, 5).Draw(t, "files") {
		c.FilesChanged = append(c.FilesChanged, drawText(t, "file", 100))
	}
	if rapid.Bool().Draw(t, "verified") {
		c.Verification = &completion.Verification{Command: drawText(t, "command", 100), ExitCode: rapid.Int64Range(-1<<31, 1<<32-1).Draw(t, "exit_code")}
	}
	if rapid.Bool().Draw(t, "receipted") {
		c.ReceiptRef = drawText(t, "receipt_ref", 100)
	}
	return c
}

func TestNormalisationSettles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		if rapid.Bool().Draw(t, "refuses") {
			requireSettled(t, drawRefusal(t))
		} else {
			requireSettled(t, drawCompletion(t))
		}
	})
}
