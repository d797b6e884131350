// Reading: strict about the document, lenient about values, silent about secrets.

package capability_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/capability"

	"github.com/stretchr/testify/require"
)

func document(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return data
}

func decode(t testing.TB, v any) capability.Input {
	t.Helper()
	in, err := capability.Decode(document(t, v))
	require.NoError(t, err)
	return in
}

func TestDecodeReadsWhatWasWritten(t *testing.T) {
	t.Parallel()
	for _, in := range []capability.Input{ready(), settled(), settled(forbidden, hostNative), {}} {
		got := decode(t, in)
		require.Equal(t, document(t, in), document(t, got))
		require.Equal(t, capability.Evaluate(in), capability.Evaluate(got))
		// The canonical form, which is what gets a digest, means the same.
		canonical, err := canonjson.Marshal(in)
		require.NoError(t, err)
		got, err = capability.Decode(canonical)
		require.NoError(t, err)
		require.Equal(t, capability.Evaluate(in), capability.Evaluate(got))
	}
	require.Equal(t, settled(), decode(t, settled()))
}

func TestDecodeRefusesDocuments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		code contracts.Code
		path string
	}{
		{``, contracts.CodeMalformedJSON, ""},
		{`{`, contracts.CodeMalformedJSON, ""},
		{`{} {}`, contracts.CodeMalformedJSON, ""},
		{`{"now":}`, contracts.CodeMalformedJSON, ""},
		{"\ufeff{}", contracts.CodeMalformedJSON, ""},
		{`null`, contracts.CodeInvalid, "$"},
		{`[]`, contracts.CodeInvalid, "$"},
		{`"now"`, contracts.CodeInvalid, "$"},
		{`1`, contracts.CodeInvalid, "$"},
		{`{"now":"a","now":"b"}`, contracts.CodeInvalid, "$.now"},
		{`{"now":"a","Now":"b"}`, contracts.CodeInvalid, "$.Now"},
		{`{"request":{"input_refs":["\ud800"]}}`, contracts.CodeInvalid, "$.request.input_refs[0]"},
		{`{"dispatch_policy":{"max_capacity_attempts":9007199254740993}}`, contracts.CodeInvalid, "$.dispatch_policy.max_capacity_attempts"},
		{`{"x":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`, contracts.CodeInvalid, "$"},
		{`{"Now":"a"}`, contracts.CodeInvalid, "$.Now"},
		{`{"extra":null}`, contracts.CodeInvalid, "$.extra"},
		{`{"request":{"extra":1}}`, contracts.CodeInvalid, "$.request.extra"},
		{`{"discovery":{"candidates":[{},{"score":1}]}}`, contracts.CodeInvalid, "$.discovery.candidates[1].score"},
		{`{"discovery":{"candidates":[{"eligibility":{"host":true}}]}}`, contracts.CodeInvalid, "$.discovery.candidates[0].eligibility.host"},
		{`{"discovery":{"selection":{"why":""}}}`, contracts.CodeInvalid, "$.discovery.selection.why"},
		{`{"live":{"attempts":[{"at":""}]}}`, contracts.CodeInvalid, "$.live.attempts[0].at"},
		{`{"observation":{"changed_surfaces":[{"path":""}]}}`, contracts.CodeInvalid, "$.observation.changed_surfaces[0].path"},
		{`{"b":1,"a":1}`, contracts.CodeInvalid, "$.a"},
		// Keys that are no plain words are data.
		{`{"a b":1}`, contracts.CodeInvalid, "$"},
		{`{"request":{"a[<b>":1}}`, contracts.CodeInvalid, "$.request"},
		{`{"request":{"a[0]b":1}}`, contracts.CodeInvalid, "$.request"},
		{`{"live":{"attempts":[{"a\nb":1}]}}`, contracts.CodeInvalid, "$.live.attempts[0]"},
		{`{"request":{"":1}}`, contracts.CodeInvalid, "$.request"},
		{`{"scope_receipts":{"a/b":{"x":1,"x":1}}}`, contracts.CodeInvalid, "$.scope_receipts"},
	} {
		in, err := capability.Decode([]byte(c.text))
		require.Zero(t, in)
		require.Equal(t, c.code, contracts.CodeOf(err), c.text)
		var e *contracts.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, c.path, e.Path, c.text)
		require.NotEmpty(t, e.Detail)
	}
}

// A receipt may say more than version 1 reads.
func TestReceiptsMayDeclareMore(t *testing.T) {
	t.Parallel()
	doc := tree(t, ready())
	doc["scope_receipts"].(map[string]any)[scopeRef].(map[string]any)["target_scope"] = map[string]any{"repository": "r"}
	require.Equal(t, capability.ActionAttempt, capability.Evaluate(decode(t, doc)).Action)
}

// leaf is a place in a document, which it can change and mend again.
type leaf struct {
	path string
	was  any
	set  func(value any)
	drop func()
}

func (l leaf) mend() { l.set(l.was) }

// leaves lists every key and item of a document, containers included.
func leaves(path string, v any) []leaf {
	var out []leaf
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out = append(out, leaf{path + "." + name, v[name], func(x any) { v[name] = x }, func() { delete(v, name) }})
			out = append(out, leaves(path+"."+name, v[name])...)
		}
	case []any:
		for i, child := range v {
			at := fmt.Sprintf("%s[%d]", path, i)
			out = append(out, leaf{at, child, func(x any) { v[i] = x }, func() { v[i] = nil }})
			out = append(out, leaves(at, child)...)
		}
	}
	return out
}

var strangers = []any{
	nil, true, false, 0, -1, 1.5, 3, 1e300, "", "x", "authorized", "missing", "unknown", "accepted", []any{}, []any{nil}, []any{1}, []any{"x"}, []any{[]any{}}, []any{map[string]any{}},
	map[string]any{}, strings.Repeat("a", 5000),
}

func variants(t *testing.T) map[string]capability.Input {
	t.Helper()
	return map[string]capability.Input{
		"ready":     ready(func(in *capability.Input) { in.Discovery.Selection = &capability.Selection{Winner: "w1", Basis: "x"} }),
		"settled":   settled(),
		"forbidden": settled(forbidden, hostNative, serialLax),
		"waiting":   ready(func(in *capability.Input) { in.Live = answers("capacity_limited") }),
	}
}

// Every field of the input null, missing and of every wrong kind: no panic, a lawful result, and
// never one that is better than what the whole input had.
func TestEveryFieldNullWrongOrMissing(t *testing.T) {
	t.Parallel()
	tried := 0
	for name, base := range variants(t) {
		before := capability.Evaluate(base)
		doc := tree(t, base)
		for _, l := range leaves("$", doc) {
			for i := range len(strangers) + 1 {
				if i < len(strangers) {
					l.set(strangers[i])
				} else {
					l.drop()
				}
				in, err := capability.Decode(document(t, doc))
				l.mend()
				if err != nil {
					require.Equal(t, contracts.CodeInvalid, contracts.CodeOf(err))
					continue
				}
				tried++
				r := capability.Evaluate(in)
				if law := inconsistency(in, r); law != "" {
					t.Fatalf("%s: %s, %d: %s", name, l.path, i, law)
				}
				// Without any answer yet, a waiting dispatch is one that may be attempted.
				if (r.ResultPromotable || r.Action == capability.ActionAttempt) && !(in.Live == nil && before.Action == capability.ActionWait) {
					require.True(t, before.ResultPromotable || before.Action == capability.ActionAttempt, "%s: %s, %d", name, l.path, i)
				}
			}
		}
	}
	require.Greater(t, tried, 5000)
}

// A value of the wrong type is worth what an absent one is worth, or less, and is named.
func TestWrongTypeReadsAsAbsent(t *testing.T) {
	t.Parallel()
	// Here absence says something, which a misfit does not.
	stricter := []string{
		"$.live", "$.live.attempts", "$.request.mutation_authorization_ref", "$.request.allowed_mutation_surfaces",
	}
	for name, base := range variants(t) {
		doc := tree(t, base)
		for _, l := range leaves("$", doc) {
			var wrong any = "neither a list nor an object"
			switch l.was.(type) {
			case nil:
				continue
			case string:
				wrong = map[string]any{}
			}
			l.set(wrong)
			got := capability.Evaluate(decode(t, doc))
			l.drop()
			absent := capability.Evaluate(decode(t, doc))
			l.mend()
			require.NotEmpty(t, got.Diagnostics, l.path)
			require.Contains(t, got.Diagnostics[0], "is of the wrong type", l.path)
			require.Contains(t, got.Diagnostics[0], strings.ReplaceAll(l.path, scopeRef, "*"))
			got.Diagnostics, absent.Diagnostics = nil, nil
			if slices.Contains(stricter, l.path) {
				require.False(t, better(absent, got), "%s: %s", name, l.path)
				continue
			}
			require.Equal(t, absent, got, "%s: %s", name, l.path)
		}
	}
}

// Where "there is none" would let a dispatch pass, a misfit does not say so.
func TestMisfitIsNotNone(t *testing.T) {
	t.Parallel()
	for _, wrong := range []any{5, true, map[string]any{}} {
		doc := tree(t, ready(forbidden))
		doc["request"].(map[string]any)["mutation_authorization_ref"] = wrong
		require.Equal(t, capability.ActionBlock, capability.Evaluate(decode(t, doc)).Action)
		doc = tree(t, ready(forbidden))
		doc["request"].(map[string]any)["allowed_mutation_surfaces"] = wrong
		require.Equal(t, capability.ActionBlock, capability.Evaluate(decode(t, doc)).Action)
		doc = tree(t, ready())
		doc["live"] = wrong
		require.Equal(t, capability.ActionWait, capability.Evaluate(decode(t, doc)).Action)
		for _, list := range []any{wrong, []any{wrong}, "x", []any{"x"}, []any{nil}, nil} {
			doc = tree(t, ready())
			doc["discovery"].(map[string]any)["candidates"] = list
			r := capability.Evaluate(decode(t, doc))
			require.Equal(t, codes(capability.WorkerCapabilityUnproven), r.Outcome.ReasonCodes)
		}
	}
}

func TestManyMisfitsAreNotNamedOneByOne(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{19: 19, 20: 20, 21: 21, 5000: 21} {
		doc := tree(t, ready())
		doc["request"].(map[string]any)["intent_labels"] = make([]bool, n)
		r := capability.Evaluate(decode(t, doc))
		require.Len(t, r.Diagnostics, want)
		require.Contains(t, r.Diagnostics[0], "$.request.intent_labels[0]")
		require.Equal(t, capability.ActionAttempt, r.Action)
	}
}

func TestOnlyWholeNumbersAreBounds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]capability.Action{
		"3": "wait", "3.0": "wait", "0.3e1": "wait", "9007199254740991": "wait", "2.5": "fallback", "1e17": "fallback", "1e300": "fallback", "-3": "fallback", `"3"`: "fallback", "null": "fallback", "true": "fallback", "[3]": "fallback",
	} {
		in := ready(func(in *capability.Input) { in.Live = answers("capacity_limited") })
		in.DispatchPolicy.MaxCapacityAttempts = 424242
		got, err := capability.Decode([]byte(strings.ReplaceAll(string(document(t, in)), "424242", text)))
		require.NoError(t, err)
		require.Equal(t, want, capability.Evaluate(got).Action, text)
	}
}

// No output repeats a secret, wherever in the input it stands.
func TestNoOutputRepeatsASecret(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-hunter2-hunter2"
	for _, base := range variants(t) {
		doc := tree(t, base)
		for _, l := range leaves("$", doc) {
			for _, plant := range []string{"password: " + secret, "api_key=" + secret, "sk-" + secret, "<b>access_token = " + secret + "</b>"} {
				for _, value := range []any{plant, []any{plant}, map[string]any{plant: plant}, map[string]any{"a": plant}, map[string]any{plant: 1, strings.ToUpper(plant): 1}} {
					l.set(value)
					requireSilent(t, document(t, doc), secret)
					l.mend()
				}
			}
		}
	}
	for _, text := range []string{
		`{"password: §":1,"password: §":2}`, `{"request":{"sk-§":1}}`, `{"a":"password: §`, `{"password":§}`, `{"password: §":"\ud800"}`, `§`, `{"sk-§":9007199254740993}`,
	} {
		requireSilent(t, []byte(strings.ReplaceAll(text, "§", secret)), secret)
	}
	// Digits are no form of secret, but a number is not repeated either.
	_, err := capability.Decode([]byte(`{"now":12345678901234567890}`))
	require.NotContains(t, err.Error(), "1234")
}

func requireSilent(t *testing.T, data []byte, secret string) {
	t.Helper()
	in, err := capability.Decode(data)
	if err != nil {
		require.NotContains(t, strings.ToLower(err.Error()), secret, "%s", data)
		return
	}
	for _, out := range []capability.Result{capability.Evaluate(in), first(capability.Preflight(in))} {
		require.NotContains(t, string(document(t, out)), secret, "%s", data)
	}
	if in.Discovery != nil {
		for _, c := range in.Discovery.Candidates {
			if err := capability.Admissible(c); err != nil {
				require.NotContains(t, err.Error(), secret)
			}
		}
	}
}

func first(r capability.Result, _ bool) capability.Result { return r }

// Every kind a wire type uses has a reading, and every field a name.
func TestEveryWireFieldHasAName(t *testing.T) {
	t.Parallel()
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(typ.Elem())
		case reflect.Struct:
			for i := range typ.NumField() {
				f := typ.Field(i)
				require.Equal(t, f.IsExported(), f.Tag.Get("json") != "", "%s.%s", typ, f.Name)
				walk(f.Type)
			}
		default:
			require.Contains(t, []reflect.Kind{reflect.String, reflect.Bool, reflect.Int}, typ.Kind(), typ)
		}
	}
	walk(reflect.TypeFor[capability.Input]())
}
