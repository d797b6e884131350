// Strict reading and canonical writing, beside an independent RFC 8785 implementation.

package canonjson_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"countersign/contracts"
	"countersign/contracts/canonjson"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestScanNamesTheFault(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct {
		doc  string
		kind canonjson.FaultKind
		path string
	}{
		{`{"a":[1,{"b":null}]}`, 0, ""},
		{` "\u0041\ud83d\ude00" `, 0, ""},
		{deep(64), 0, ""},
		{deep(65), canonjson.FaultDepth, "$"},
		{strings.Repeat("[", 100_000), canonjson.FaultDepth, "$"},
		{strings.Repeat(`{"a":`, 100_000), canonjson.FaultDepth, "$"},
		{``, canonjson.FaultSyntax, "$"},
		{`{`, canonjson.FaultSyntax, "$"},
		{`{} {}`, canonjson.FaultSyntax, "$"},
		{`{}x`, canonjson.FaultSyntax, "$"},
		{`[1,]`, canonjson.FaultSyntax, "$"},
		{`{"a":NaN}`, canonjson.FaultSyntax, "$.a"},
		{`{"a":01}`, canonjson.FaultSyntax, "$.a"},
		{"\ufeff{}", canonjson.FaultSyntax, "$"},
		{"{\"a\":\"\x00\"}", canonjson.FaultSyntax, "$.a"},
		{`{"a":1,"a":2}`, canonjson.FaultDuplicate, "$.a"},
		{`{"a":1,"\u0061":2}`, canonjson.FaultDuplicate, "$.a"},
		{`{"x":[{"k":1,"K":2}]}`, canonjson.FaultCaseTwin, "$.x[0].K"},
		{`{"straße":1,"STRAẞE":2}`, canonjson.FaultCaseTwin, "$.STRAẞE"},
		{`{"s":1,"ſ":2}`, canonjson.FaultCaseTwin, "$.ſ"},
		{`{"a":"\ud800"}`, canonjson.FaultString, "$.a"},
		{`{"a":"\udc00\ud800"}`, canonjson.FaultString, "$.a"},
		{"{\"a\":\"\xff\"}", canonjson.FaultString, "$.a"},
		{`{"a":1e400}`, canonjson.FaultNumber, "$.a"},
		{`{"a":-1e400}`, canonjson.FaultNumber, "$.a"},
		{`[9007199254740992,9007199254740993]`, canonjson.FaultNumber, "$[1]"},
		{`[100000000000000000000000]`, 0, ""},
		{`[1e-400,-0,1E3,0.1]`, 0, ""},
		{`{"a":1,"a":2,}`, canonjson.FaultSyntax, "$"}, // broken syntax comes first
	} {
		f := canonjson.Scan([]byte(c.doc))
		if c.kind == 0 {
			require.Nil(t, f, "%.60s", c.doc)
			continue
		}
		require.NotNil(t, f, "%.60s", c.doc)
		require.Equal(t, c.kind, f.Kind, "%.60s: %v", c.doc, f)
		if c.kind != canonjson.FaultSyntax {
			require.Equal(t, c.path, f.Path, "%.60s", c.doc)
		}
	}
}

type closed struct {
	ID   string   `json:"id"`
	N    int      `json:"n"`
	List []closed `json:"list,omitzero"`
	Flag *bool    `json:"flag,omitzero"`
}

func TestDecodeIsClosed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		doc  string
		code contracts.Code
		path string
	}{
		{`{"id":"a","n":1,"list":[{"id":"b"}],"flag":true}`, "", ""},
		{`{"id":1}`, contracts.CodeInvalid, "$.id"},
		{`{"ID":"a"}`, contracts.CodeInvalid, "$.ID"},
		{`{"list":[{},{"x":1}]}`, contracts.CodeInvalid, "$.list[1].x"},
		{`{"list":{}}`, contracts.CodeInvalid, "$.list"},
		{`{"n":1.5}`, contracts.CodeInvalid, "$.n"},
		{`{"n":"1"}`, contracts.CodeInvalid, "$.n"},
		{`{"n":1e2}`, contracts.CodeInvalid, "$.n"},
		{`{"flag":"true"}`, contracts.CodeInvalid, "$.flag"},
		{`[]`, contracts.CodeInvalid, "$"},
		{`{"id":`, contracts.CodeMalformedJSON, ""},
	} {
		err := canonjson.Decode([]byte(c.doc), new(closed))
		require.Equal(t, c.code, contracts.CodeOf(err), "%s: %v", c.doc, err)
		if c.code != "" {
			var e *contracts.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, c.path, e.Path, "%s", c.doc)
			require.NotEmpty(t, e.Detail)
		}
	}
}

func TestCanonicalForm(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		`{"b":1, "a":[ true , null ]}`:           `{"a":[true,null],"b":1}`,
		`{"\u20ac":"\u0041\u000F\n","\r":"x"}`:   "{\"\\r\":\"x\",\"€\":\"A\\u000f\\n\"}",
		`[333333333.33333329,1E30,4.50,2e-3,-0]`: `[333333333.3333333,1e+30,4.5,0.002,0]`,
		`{"\ud83d\ude02":1,"\ufb33":2}`:          "{\"\U0001f602\":1,\"\ufb33\":2}", // UTF-16 order
	} {
		got, err := canonjson.Canonical([]byte(doc))
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	a, err := canonjson.DigestOf(map[string]any{"b": 1, "a": "x"})
	require.NoError(t, err)
	require.Equal(t, canonjson.Digest([]byte(`{"a":"x","b":1}`)), a)
	_, err = canonjson.Marshal(math.NaN())
	require.Error(t, err)
}

func TestCanonicalAgreesWithAnotherImplementation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc, err := json.Marshal(value(3).Draw(t, "value"))
		require.NoError(t, err)
		agrees(t, doc)
	})
}

// value draws any JSON value of a limited depth.
func value(depth int) *rapid.Generator[any] {
	plain := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.String().AsAny(), rapid.Int32().AsAny(),
		rapid.Float64().AsAny(), rapid.Float64Range(-1e22, 1e22).AsAny(),
	}
	if depth > 0 {
		plain = append(plain, rapid.SliceOfN(value(depth-1), 0, 4).AsAny(), rapid.MapOfN(rapid.String(), value(depth-1), 0, 4).AsAny())
	}
	return rapid.OneOf(plain...)
}

func agrees(t require.TestingT, doc []byte) {
	got, err := canonjson.Canonical(doc)
	if err != nil {
		return
	}
	// The other implementation writes a lone surrogate and -0 its own way only where we refuse.
	want, err := jcs.Transform(doc)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
	again, err := canonjson.Canonical(got)
	require.NoError(t, err)
	require.True(t, bytes.Equal(got, again), "canonical bytes are their own canonical form")
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5e3,"\u00e9"]}`, `[[],{}]`, `"\ud83d\ude00"`, `-0`, `{"a":1,"A":2}`, `[1e400]`, `{"":0}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		fault := canonjson.Scan(doc)
		if fault == nil && !json.Valid(doc) {
			t.Fatalf("accepted what is no JSON: %q", doc)
		}
		if fault != nil && fault.Kind == canonjson.FaultSyntax && json.Valid(doc) {
			t.Fatalf("called valid JSON broken: %q: %v", doc, fault)
		}
		var v closed
		_ = canonjson.Decode(doc, &v)
		if len(doc) > 0 && (doc[0] == '{' || doc[0] == '[') { // the other implementation takes containers only
			agrees(t, doc)
		}
	})
}
