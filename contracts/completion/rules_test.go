// Each rule of the two shapes, at its limit and just beyond.

package completion_test

import (
	"strings"
	"testing"

	"countersign/contracts"
	"countersign/contracts/completion"

	"github.com/stretchr/testify/require"
)

const accepted = "" // in the place of a path

// ruling is an input and the path of its first violation, or accepted.
type ruling struct{ name, input, path string }

func requireRulings(t *testing.T, rulings []ruling) {
	t.Helper()
	for _, c := range rulings {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, v := completion.Parse([]byte(c.input))
			if c.path == accepted {
				require.Nil(t, v)
				require.NotNil(t, p)
				return
			}
			require.NotNil(t, v, "accepted")
			require.Nil(t, p)
			require.Equal(t, contracts.CodeContractViolation, v.Code)
			require.Equal(t, c.path, v.Path, v.Detail)
			require.NotEmpty(t, v.Detail)
		})
	}
}

// completed is a good completion with more members after it.
func completed(members string) string { return `{"summary":"s",` + members + `}` }

// refused is a refusal of a kind with detail and more members after it.
func refused(kind completion.Kind, members string) string {
	return `{"kind":"` + string(kind) + `","detail":"d",` + members + `}`
}

// listOf is a JSON list of n times the item.
func listOf(n int, item string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
}

// texts are the rulings that every text of a limit gets; document writes a raw value into its place.
func texts(path string, limit int, document func(raw string) string) []ruling {
	rulings := []ruling{
		{"null", document(`null`), path},
		{"true", document(`true`), path},
		{"number", document(`0`), path},
		{"a number no double holds", document(`12345678901234567890`), path},
		{"list", document(`[]`), path},
		{"object", document(`{}`), path},
		{"empty", document(`""`), path},
		{"space", document(`" "`), path},
		{"ASCII white space", document(`"\t\n\u000b\u000c\r "`), path},
		{"U+001C to U+001F", document(`"\u001c\u001d\u001e\u001f"`), path},
		{"NEL, NBSP, ogham, separators", document(`"\u0085\u00a0\u1680\u2028\u2029\u202f\u205f"`), path},
		{"ideographic space, raw", document("\"\u3000\""), path},
		{"U+001B is a character", document(`"\u001b"`), accepted},
		{"U+0000 is a character", document(`"\u0000"`), accepted},
		{"ZWSP is a character", document(`"\u200b"`), accepted},
		{"U+180E is a character", document(`"\u180e"`), accepted},
		{"U+FEFF is a character", document(`"\ufeff"`), accepted},
		{"white space around", document(`" a "`), accepted},
		{"noncharacters", document(`"\uffff\ufffe"`), accepted},
		{"the replacement character itself", document("\"\ufffd\""), accepted},
		{"a megabyte of spaces", document(`"` + strings.Repeat(" ", 1<<20) + `"`), path},
		{"lone high surrogate", document(`"a\ud83d"`), "$"},
		{"lone low surrogate", document(`"\ude00a"`), "$"},
		{"two high surrogates", document(`"\ud83d\ud83d\ude00"`), "$"},
		{"invalid UTF-8", document("\"a\xff\""), "$"},
		{"a surrogate in UTF-8", document("\"\xed\xa0\x80\""), "$"},
		{"raw control character", document("\"a\x01\""), "$"},
		{"raw U+0000", document("\"a\x00\""), "$"},
		{"unknown escape", document(`"\x41"`), "$"},
	}
	if limit == 0 {
		return append(rulings, ruling{"a megabyte", document(`"` + strings.Repeat("x", 1<<20) + `"`), accepted})
	}
	for name, character := range map[string]string{"ASCII": "x", "two bytes": "é", "CJK": "数", "beyond the BMP": "😀", "combining": "\u0301", "escaped pair": `\ud83d\ude00`} {
		full := strings.Repeat(character, limit)
		rulings = append(rulings,
			ruling{name + ", at the limit", document(`"` + full + `"`), accepted},
			ruling{name + ", one over", document(`"` + full + character + `"`), path},
			ruling{name + ", one space over", document(`"` + full + ` "`), path},
		)
	}
	return append(rulings, ruling{"a megabyte", document(`"` + strings.Repeat("x", 1<<20) + `"`), path})
}

func TestTextRules(t *testing.T) {
	t.Parallel()
	for _, place := range []struct {
		path     string
		limit    int
		document func(raw string) string
	}{
		{"$.summary", 2000, func(raw string) string { return `{"summary":` + raw + `}` }},
		{"$.files_changed[1]", 0, func(raw string) string { return completed(`"files_changed":["a",` + raw + `,"b"]`) }},
		{"$.verification.command", 0, func(raw string) string { return completed(`"verification":{"exit_code":0,"command":` + raw + `}`) }},
		{"$.detail", 2000, func(raw string) string { return `{"kind":"underspecified","question":"q","detail":` + raw + `}` }},
		{"$.question", 10000, func(raw string) string { return refused("awaiting_operator", `"question":`+raw) }},
		{"$.question", 10000, func(raw string) string { return refused("underspecified", `"question":`+raw) }},
		{"$.blocking_dep", 10000, func(raw string) string { return refused("blocked_on_dependency", `"blocking_dep":`+raw) }},
		{"$.proposed_split[2]", 2000, func(raw string) string { return refused("scope_exceeded", `"proposed_split":["a","b",`+raw+`]`) }},
	} {
		t.Run(place.path, func(t *testing.T) {
			t.Parallel()
			requireRulings(t, texts(place.path, place.limit, place.document))
		})
	}
	t.Run("$.receipt_ref", func(t *testing.T) {
		t.Parallel()
		// The one text for which null is a good value.
		requireRulings(t, texts("$.receipt_ref", 0, func(raw string) string { return completed(`"receipt_ref":` + raw) })[1:])
	})
}

func TestCompletionRules(t *testing.T) {
	t.Parallel()
	verification := func(members string) string { return completed(`"verification":{` + members + `}`) }
	exit := func(literal string) string { return verification(`"command":"c","exit_code":` + literal) }
	const atExit = "$.verification.exit_code"
	requireRulings(t, []ruling{
		{"everything absent or null", completed(`"files_changed":null,"verification":null,"receipt_ref":null`), accepted},
		{"files empty", completed(`"files_changed":[]`), accepted},
		{"files object", completed(`"files_changed":{}`), "$.files_changed"},
		{"files true", completed(`"files_changed":true`), "$.files_changed"},
		{"files empty string", completed(`"files_changed":""`), "$.files_changed"},
		{"files without limit", completed(`"files_changed":` + listOf(20_000, `"a/b"`)), accepted},
		{"two bad files", completed(`"files_changed":["a"," ",5]`), "$.files_changed[1]"},
		{"a bad file far behind", completed(`"files_changed":[` + strings.Repeat(`"a",`, 1234) + `""]`), "$.files_changed[1234]"},
		{"an object as file", completed(`"files_changed":[{"path":"a"}]`), "$.files_changed[0]"},
		{"files are no paths to check", completed(`"files_changed":["../..","/","C:\\x","a\nb"]`), accepted},
		{"verification string", completed(`"verification":"make"`), "$.verification"},
		{"verification zero", completed(`"verification":0`), "$.verification"},
		{"verification list of one", completed(`"verification":[{"command":"c","exit_code":0}]`), "$.verification"},
		{"verification without command", verification(`"exit_code":0`), "$.verification.command"},
		{"command before exit code", verification(`"exit_code":true,"command":""`), "$.verification.command"},
		{"verification unknown key last", verification(`"command":"c","exit_code":0,"log":null`), "$.verification.log"},
		{"verification unknown key beats bad values", verification(`"command":1,"exit_code":1.5,"x":0,"a":0`), "$.verification.x"},
		{"verification key in other case", verification(`"command":"c","Exit_Code":0`), "$.verification.Exit_Code"},
		{"verification empty key", verification(`"":0`), "$.verification."},
		{"verification key of digits", verification(`"0":0`), "$.verification.0"},
		{"exit largest", exit(`4294967295`), accepted},
		{"exit above", exit(`4294967296`), atExit},
		{"exit smallest", exit(`-2147483648`), accepted},
		{"exit below", exit(`-2147483649`), atExit},
		{"exit -0", exit(`-0`), accepted},
		{"exit -0.0", exit(`-0.0`), atExit},
		{"exit -1", exit(`-1`), accepted},
		{"exit 1.0", exit(`1.0`), atExit},
		{"exit 1e0", exit(`1e0`), atExit},
		{"exit 0e0", exit(`0E0`), atExit},
		{"exit 1E400", exit(`1E400`), atExit},
		{"exit int64 minimum", exit(`-9223372036854775808`), atExit},
		{"exit uint64 maximum", exit(`18446744073709551615`), atExit},
		{"exit of 100,000 digits", exit(strings.Repeat("9", 100_000)), atExit},
		{"exit 1.000…", exit(`1.` + strings.Repeat("0", 1000)), atExit},
		{"exit string", exit(`"0"`), atExit},
		{"exit false", exit(`false`), atExit},
		{"exit list", exit(`[0]`), atExit},
		{"exit object", exit(`{}`), atExit},
		{"exit +1", exit(`+1`), "$"},
		{"exit 01", exit(`01`), "$"},
		{"exit 0x1", exit(`0x1`), "$"},
		{"exit NaN", exit(`NaN`), "$"},
		{"exit Infinity", exit(`-Infinity`), "$"},
		{"exit lone minus", exit(`-`), "$"},
		{"exit .5", exit(`.5`), "$"},
		{"exit 1.", exit(`1.`), "$"},
		{"no members", `{}`, "$.summary"},
		{"only the tag", `{"contract":"worker-completion/v1"}`, "$.summary"},
		{"a refusal's field", completed(`"detail":"d"`), "$.detail"},
		{"nested object does not make a refusal", completed(`"verification":{"kind":"underspecified"}`), "$.verification.kind"},
	})
}

func TestRefusalRules(t *testing.T) {
	t.Parallel()
	split := func(list string) string { return refused("scope_exceeded", `"proposed_split":`+list) }
	const atSplit = "$.proposed_split"
	requireRulings(t, []ruling{
		{"kind null", `{"kind":null,"summary":"s"}`, "$.kind"},
		{"kind list", `{"kind":["underspecified"],"detail":"d","question":"q"}`, "$.kind"},
		{"kind object", `{"kind":{},"detail":"d"}`, "$.kind"},
		{"kind true", `{"kind":true}`, "$.kind"},
		{"kind in capitals", `{"kind":"UNDERSPECIFIED","detail":"d","question":"q"}`, "$.kind"},
		{"kind completion", `{"kind":"completion","summary":"s"}`, "$.kind"},
		{"kind other", `{"kind":"other","detail":"d"}`, "$.kind"},
		{"kind with the reason's prefix", `{"kind":"refused_underspecified","detail":"d","question":"q"}`, "$.kind"},
		{"kind with an escape is the same", `{"kind":"under\u0073pecified","detail":"d","question":"q"}`, accepted},
		{"kind key with an escape is the same", `{"\u006bind":"underspecified","detail":"d","question":"q"}`, accepted},
		{"kind last", `{"question":"q","detail":"d","kind":"underspecified","contract":"worker-completion/v1"}`, accepted},
		{"a completion's fields", refused("underspecified", `"question":"q","summary":"s"`), "$.summary"},
		{"files_changed", refused("underspecified", `"question":"q","files_changed":[]`), "$.files_changed"},
		{"foreign field null", refused("underspecified", `"question":"q","blocking_dep":null`), "$.blocking_dep"},
		{"foreign field before own missing", refused("scope_exceeded", `"blocking_dep":"d"`), "$.blocking_dep"},
		{"all three own fields", refused("blocked_on_dependency", `"blocking_dep":"x","proposed_split":["a"],"question":"q"`), "$.proposed_split"},
		{"split missing", `{"kind":"scope_exceeded","detail":"d"}`, atSplit},
		{"dep missing", `{"kind":"blocked_on_dependency","detail":"d"}`, "$.blocking_dep"},
		{"dep list", refused("blocked_on_dependency", `"blocking_dep":["T-1"]`), "$.blocking_dep"},
		{"split empty", split(`[]`), atSplit},
		{"split true", split(`true`), atSplit},
		{"split 100", split(listOf(100, `"x"`)), accepted},
		{"split 101", split(listOf(101, `"x"`)), atSplit},
		{"split 101 bad items", split(listOf(101, `""`)), atSplit},
		{"split 100 and the last bad", split(`[` + strings.Repeat(`"x",`, 99) + `" "]`), "$.proposed_split[99]"},
		{"split item list", split(`[["a"]]`), "$.proposed_split[0]"},
		{"split item object", split(`["a",{"title":"b"}]`), "$.proposed_split[1]"},
		{"split item number", split(`[1]`), "$.proposed_split[0]"},
		{"split items alike", split(`["same","same"]`), accepted},
		{"split first bad item wins", split(`["a","",null]`), "$.proposed_split[1]"},
	})
}

func TestTagAndUnknownFields(t *testing.T) {
	t.Parallel()
	requireRulings(t, []ruling{
		{"tag null", completed(`"contract":null`), "$.contract"},
		{"tag list", completed(`"contract":["worker-completion/v1"]`), "$.contract"},
		{"tag object", completed(`"contract":{}`), "$.contract"},
		{"tag in capitals", completed(`"contract":"Worker-Completion/v1"`), "$.contract"},
		{"tag with U+0000", completed(`"contract":"worker-completion/v1\u0000"`), "$.contract"},
		{"tag escaped is the same", completed(`"contract":"worker\u002dcompletion\/v1"`), accepted},
		{"tag null on a refusal", `{"kind":"underspecified","detail":"d","question":"q","contract":null}`, "$.contract"},
		{"tag key in other case", completed(`"Contract":"worker-completion/v1"`), "$.Contract"},
		{"key in other case", `{"Summary":"s"}`, "$.Summary"},
		{"key in other case before the right one", `{"Summary":"s","summary":"s"}`, "$.Summary"},
		{"key in other case after the right one", `{"summary":"s","SUMMARY":"s"}`, "$.SUMMARY"},
		{"case twins, both unknown", completed(`"a":1,"A":2`), "$.a"},
		{"case twins behind a bad tag", completed(`"A":1,"a":2,"contract":"v0"`), "$.contract"},
		{"case twins inside an unknown field", completed(`"x":{"a":1,"A":2}`), "$.x"},
		{"kind in other case is no refusal", `{"Kind":"underspecified","detail":"d"}`, "$.Kind"},
		{"Kelvin sign for k", "{\"\u212aind\":\"underspecified\",\"detail\":\"d\"}", "$.\u212aind"},
		{"long s for s", "{\"\u017fummary\":\"x\",\"summary\":\"x\"}", "$.\u017fummary"},
		{"space around a key", `{"summary ":"x"}`, "$.summary "},
		{"key of a dotted path", completed(`"verification.command":"c"`), "$.verification.command"},
		{"key with a quote", completed(`"a\"b":1`), `$.a"b`},
		{"key with a newline", completed(`"a\nb":1`), "$.a\nb"},
		{"key with U+0000", completed(`"a\u0000":1`), "$.a\x00"},
		{"key with an escape", completed(`"\u00e9\ud83d\ude00":1`), "$.é😀"},
		{"key with pointer characters", completed(`"a/b~c":1`), "$.a/b~c"},
		{"key of digits", completed(`"0":1`), "$.0"},
		{"key $", completed(`"$":1`), "$.$"},
		{"key of a megabyte", completed(`"` + strings.Repeat("k", 1<<20) + `":1`), "$." + strings.Repeat("k", 1<<20)},
		{"constructor", completed(`"constructor":{}`), "$.constructor"},
		{"unknown with null", completed(`"x":null`), "$.x"},
		{"unknown integer no double holds", completed(`"x":12345678901234567891`), "$.x"},
		{"unknown number beyond every double", completed(`"x":[1e999]`), "$.x"},
		{"unknown before a bad summary", `{"summary":1,"x":2}`, "$.x"},
		{"first unknown by document, not by name", completed(`"b":1,"a":2`), "$.b"},
	})
}

func TestMessagesTeach(t *testing.T) {
	t.Parallel()
	for input, words := range map[string][]string{
		`{"Summary":"s"}`:                                            {`write "summary"`},
		`{"x":1}`:                                                    {"contract, summary, files_changed, verification, receipt_ref"},
		`{"kind":"gave_up"}`:                                         {`"gave_up"`, "awaiting_operator, underspecified, scope_exceeded, blocked_on_dependency", "no catch-all"},
		`{"kind":"` + strings.Repeat("é", 100):                       {"broken JSON"},
		`{"kind":"` + strings.Repeat("é", 41) + `"}`:                 {strings.Repeat("é", 40) + "...\""},
		`{"kind":"` + strings.Repeat("é", 40) + `"}`:                 {strings.Repeat("é", 40) + "\""},
		`{"summary":"` + strings.Repeat("x", 2001) + `"}`:            {"2000", "2001", "code points"},
		completed(`"verification":{"command":"c","exit_code":1.0}`):  {"-2147483648", "4294967295", "fraction"},
		completed(`"verification":1`):                                {"command", "exit_code", "a number"},
		`{"kind":"scope_exceeded","detail":"d","proposed_split":[]}`: {"1 to 100", "not 0"},
		`[]`:                          {"a list"},
		`{"summary":"\ud800"}`:        {"lone surrogate", "$.summary"},
		`{"summary":"a","summary":1}`: {"twice"},
		completed(`"contract":"v2"`):  {completion.Version},
	} {
		_, v := completion.Parse([]byte(input))
		require.NotNil(t, v)
		for _, w := range words {
			require.Contains(t, v.Detail, w)
		}
	}
}
