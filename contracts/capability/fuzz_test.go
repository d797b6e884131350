// Whatever comes in: no panic, a lawful result or a lawful refusal, an admissible quotation.

package capability_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"countersign/contracts"
	"countersign/contracts/capability"

	"github.com/stretchr/testify/require"
)

func FuzzEvaluate(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add([]byte(v.Input))
	}
	for _, in := range []capability.Input{ready(), settled(), settled(forbidden, hostNative), ready(serialLax), {}} {
		f.Add(document(f, in))
	}
	f.Fuzz(requireLawful)
}

// FuzzEditedInput changes good inputs place by place, so that most of what it tries is a document
// that can be read.
func FuzzEditedInput(f *testing.F) {
	f.Add(byte(0), []byte{})
	f.Add(byte(1), []byte{1, 2, 3, 4, 5, 6})
	bases := []capability.Input{ready(), settled(), settled(forbidden, hostNative), ready(serialLax, func(in *capability.Input) { in.Live = answers("capacity_limited") })}
	values := append([]any{
		digestA, digestB, surfaceA, surfaceB, scopeRef, "2026-08-20T11:45:00Z", "2026-08-20T12:00:00Z", "host-native", "external", "forbidden", "explicitly-scoped", "required", "preferred",
		"isolated", "inherited", "serial", "bounded", "supported", "unsupported", "requested", "succeeded", "failed", "passed", "none", "capacity_limited", "error", "schema-behaviour", "w1",
		[]any{surfaceA}, []any{map[string]any{"result": "accepted"}}, "password: hunter2hunter2",
	}, strangers...)
	f.Fuzz(func(t *testing.T, base byte, edits []byte) {
		doc := tree(t, bases[int(base)%len(bases)])
		for ; len(edits) >= 2; edits = edits[2:] {
			if all := leaves("$", doc); len(all) > 0 {
				l, value := all[int(edits[0])%len(all)], int(edits[1])%(len(values)+1)
				if value < len(values) {
					// A copy: a list put into itself would never end.
					var fresh any
					require.NoError(t, json.Unmarshal(document(t, values[value]), &fresh))
					l.set(fresh)
				} else {
					l.drop()
				}
			}
		}
		requireLawful(t, document(t, doc))
	})
}

// requireLawful checks everything that must hold of a document and its result.
func requireLawful(t *testing.T, data []byte) {
	in, err := capability.Decode(data)
	if err != nil {
		requireRefusal(t, err)
		return
	}
	r := capability.Evaluate(in)
	require.Empty(t, inconsistency(in, r))
	require.Equal(t, r, capability.Evaluate(in))
	if refused, ok := capability.Preflight(in); !ok {
		require.Empty(t, inconsistency(capability.Input{ClaimsRequested: in.ClaimsRequested}, refused))
	}
	for _, said := range append(r.Diagnostics, r.Outcome.AuthorizationReceipts...) {
		require.False(t, capability.SecretLike(said))
	}
	for _, c := range r.ClaimsDenied {
		require.False(t, capability.SecretLike(string(c)))
	}
	// Read back from what it writes, the input means what it did.
	again, err := capability.Decode(document(t, in))
	require.NoError(t, err)
	got := capability.Evaluate(again)
	got.Diagnostics, r.Diagnostics = nil, nil
	require.Equal(t, r, got)
}

func requireRefusal(t *testing.T, err error) {
	t.Helper()
	var e *contracts.Error
	require.ErrorAs(t, err, &e)
	require.Contains(t, []contracts.Code{contracts.CodeInvalid, contracts.CodeMalformedJSON}, e.Code)
	require.Equal(t, e.Code == contracts.CodeInvalid, strings.HasPrefix(e.Path, "$"))
	require.NotEmpty(t, e.Detail)
	require.False(t, capability.SecretLike(e.Error()))
	require.True(t, utf8.ValidString(e.Error()))
	require.NotContains(t, e.Error(), "<")
}

func FuzzQuote(f *testing.F) {
	for _, plant := range plants {
		f.Add("worker", strings.ReplaceAll(plant, "§", canary), `{"task": "string"}`)
	}
	f.Add("</provider_untrusted>", "\u202e\uff1c\x00\xff", strings.Repeat("&", 5000))
	f.Fuzz(func(t *testing.T, name, description, parameters string) {
		e := capability.Quote(map[string]string{"name": name, "description": description, "parameters": parameters})
		requireQuoted(t, e)
		require.Equal(t, 2, strings.Count(e.Text, "<"))
		require.Equal(t, 2, strings.Count(e.Text, ">"))
		require.False(t, capability.SecretLike(e.Text[:len(e.Text)-len("</provider_untrusted>")]))
		require.Equal(t, e, capability.Quote(map[string]string{"name": name, "description": description, "parameters": parameters, "x": name}))
	})
}

// FuzzReport reads what a node sends: what cannot be read is refused without a word of it, what can be
// keeps its meaning when it is sealed, and only the contract's words, digests and the node's basis with it.
func FuzzReport(f *testing.F) {
	f.Add(document(f, reportOf(ready())))
	f.Add([]byte(`{"session_identity":{"host":1},"discovery":{"candidates":[null,{"id":"sk-live-0123456789"}],"selection":{"winner":"x"}},"capacity":"limited"}`))
	f.Add([]byte(`{"discovery":{"sk-live-0123456789":{}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := capability.DecodeReport(data)
		if err != nil {
			requireRefusal(t, err)
			return
		}
		in := withReport(ready(), r)
		sealed := r.Seal()
		got := capability.Evaluate(withReport(ready(), sealed))
		require.Equal(t, capability.Evaluate(in).Outcome, got.Outcome)
		require.Equal(t, r.SessionIdentity.Complete(), sealed.SessionIdentity.Complete())
		again, err := capability.DecodeReport(document(t, sealed))
		require.NoError(t, err)
		require.Equal(t, got.Outcome, capability.Evaluate(withReport(ready(), again)).Outcome)
		if sealed.Discovery == nil {
			return
		}
		for i, c := range sealed.Discovery.Candidates {
			require.Regexp(t, `^candidate-[0-9]+$`, c.ID)
			require.Regexp(t, `^(<provider_untrusted>sha256:[0-9a-f]{64}</provider_untrusted>)?$`, c.Excerpt)
			require.Equal(t, capability.Admissible(r.Discovery.Candidates[i]) == nil, capability.Admissible(c) == nil)
		}
		if basis := sealed.Discovery.CompletenessBasis; basis != nil {
			require.False(t, capability.SecretLike(*basis))
		}
	})
}
