// What makes a document no strict JSON, whatever it would say.

package completion_test

import (
	"fmt"
	"strings"
	"testing"

	"countersign/contracts/completion"

	"github.com/stretchr/testify/require"
)

// nested is a list in a list, n deep.
func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestDocumentRules(t *testing.T) {
	t.Parallel()
	const good = `{"summary":"s"}`
	requireRulings(t, []ruling{
		{"nothing", "", "$"},
		{"white space", " \n", "$"},
		{"string", `"summary"`, "$"},
		{"number", `1`, "$"},
		{"false", `false`, "$"},
		{"list of a payload", `[` + good + `]`, "$"},
		{"white space around", "\r\n\t " + good + " \t\r\n", accepted},
		{"NBSP before", "\u00a0" + good, "$"},
		{"NBSP after", good + "\u00a0", "$"},
		{"U+001F before", "\x1f" + good, "$"},
		{"form feed between", "{\f\"summary\":\"s\"}", "$"},
		{"U+2028 between", "{\u2028\"summary\":\"s\"}", "$"},
		{"byte order mark", "\ufeff" + good, "$"},
		{"UTF-16", "\xff\xfe{\x00}\x00", "$"},
		{"U+0000 after", good + "\x00", "$"},
		{"two documents", good + "\n" + good, "$"},
		{"number after", good + "1", "$"},
		{"bracket after", good + "}", "$"},
		{"comma after", good + ",", "$"},
		{"comment before", "/* c */" + good, "$"},
		{"trailing comma", `{"summary":"s",}`, "$"},
		{"trailing comma in a list", completed(`"files_changed":["a",]`), "$"},
		{"single quotes", `{'summary':'s'}`, "$"},
		{"bare key", `{summary:"s"}`, "$"},
		{"undefined", `{"summary":undefined}`, "$"},
		{"True", `{"summary":True}`, "$"},
		{"number as key", `{1:"s"}`, "$"},
		{"no colon", `{"summary" "s"}`, "$"},
		{"broken syntax beats what stands before it", `{"zzz":1,"summary":1,"summary":2,`, "$"},
		{"broken syntax beats a bad tag", `{"contract":"v0"`, "$"},
		{"key twice, alike", `{"summary":"s","summary":"s"}`, "$.summary"},
		{"key twice, one escaped", `{"summary":"s","summ\u0061ry":"t"}`, "$.summary"},
		{"unknown key twice", completed(`"x":1,"x":2`), "$.x"},
		{"unknown key of digits twice", completed(`"0":1,"0":2`), "$"},
		{"empty key twice", completed(`"":1,"":2`), "$."},
		{"key twice in verification", completed(`"verification":{"command":"c","command":"c","exit_code":0}`), "$.verification.command"},
		{"key twice in an unknown field", completed(`"x":{"y":{"a":1,"a":1}}`), "$.x.y.a"},
		{"key twice in a list", completed(`"files_changed":[{"a":1,"a":1}]`), "$"},
		{"key twice beats a bad tag", `{"contract":"v0","summary":"s","summary":"s"}`, "$.summary"},
		{"key twice behind a number no double holds", completed(`"verification":{"command":"c","exit_code":12345678901234567891,"exit_code":0}`), "$"},
		{"key twice behind case twins", `{"Kind":1,"kind":2,"kind":3}`, "$"},
		{"same key in two objects", completed(`"verification":{"summary":1}`), "$.verification.summary"},
		{"lone surrogate behind a number no double holds", `{"x":1e999,"summary":"\ud800"}`, "$"},
		{"lone surrogate in an unknown key", completed(`"\udfff":1`), "$"},
		{"lone surrogate deep in an unknown field", completed(`"x":[{"y":"\ud800"}]`), "$"},
		{"lone surrogate beats a bad tag", `{"contract":"v0","summary":"\ud800"}`, "$"},
		{"invalid UTF-8 in a key", completed("\"\xc0\xaf\":1"), "$"},
		{"invalid UTF-8 between", completed("\xff\"x\":1"), "$"},
		{"64 containers", completed(`"x":` + nested(63)), "$.x"},
		{"65 containers", completed(`"x":` + nested(64)), "$"},
		{"64 objects", strings.Repeat(`{"x":`, 64) + "1" + strings.Repeat("}", 64), "$.x"},
		{"65 objects", strings.Repeat(`{"x":`, 65) + "1" + strings.Repeat("}", 65), "$"},
		{"many siblings are not deep", completed(`"x":[` + listOf(1000, nested(60)) + `]`), "$.x"},
		{"100,000 lists", nested(100_000), "$"},
		{"100,000 lists, never closed", strings.Repeat("[", 100_000), "$"},
		{"100,000 objects", strings.Repeat(`{"a":`, 100_000), "$"},
		{"100,000 lists in a field", completed(`"files_changed":` + nested(100_000)), "$"},
		{"100,000 different keys", `{"summary":"s"` + distinctKeys(100_000) + `}`, "$.k0"},
	})
}

// distinctKeys are n more members, k0 first.
func distinctKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":0`, i)
	}
	return b.String()
}

// Every document that ends before its time is a violation of the whole document.
func TestTruncatedAnywhere(t *testing.T) {
	t.Parallel()
	for _, document := range []string{
		`{"contract":"worker-completion/v1","summary":"é \ud83d\ude00","files_changed":["a","b"],"verification":{"command":"c","exit_code":-12},"receipt_ref":null}`,
		`{"kind":"scope_exceeded","detail":"d","proposed_split":["part one","part two"]}`,
	} {
		_, v := completion.Parse([]byte(document))
		require.Nil(t, v)
		for end := range len(document) {
			_, v := completion.Parse([]byte(document[:end]))
			require.NotNil(t, v, document[:end])
			require.Equal(t, "$", v.Path, document[:end])
			if end == 0 {
				continue
			}
			result, v := completion.ParseSummary(document[:end])
			require.Equal(t, completion.OutcomeViolation, result.Outcome)
			require.Equal(t, "$", v.Path)
		}
	}
}
