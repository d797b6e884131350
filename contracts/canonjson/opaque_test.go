// A document inside a body is its own contract's to judge.

package canonjson_test

import (
	"strings"
	"testing"

	"countersign/contracts"
	"countersign/contracts/canonjson"

	"github.com/stretchr/testify/require"
)

func TestDecodeAround(t *testing.T) {
	t.Parallel()
	type body struct {
		N       int `json:"n"`
		Payload any `json:"payload"`
	}
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	for _, c := range []struct {
		doc, part string
		code      contracts.Code
		path      string
	}{
		{`{"n":1,"payload":{"a":1,"a":2}}`, `{"a":1,"a":2}`, "", ""},
		{`{"n":1,"payload":{"a":"\ud800"} }`, `{"a":"\ud800"}`, "", ""},
		{"{\"n\":1,\"payload\":\"\xff\"}", "\"\xff\"", "", ""},
		{`{"payload":[1e999],"n":1}`, `[1e999]`, "", ""},
		{`{"n":1}`, "", "", ""},
		{`{"p\u0061yload":"]}\"[","n":2}`, `"]}\"["`, "", ""},
		{`{"n":1,"payload":{"a":nul}}`, "", contracts.CodeMalformedJSON, ""},
		{`{"n":1,"payload":{}`, "", contracts.CodeMalformedJSON, ""},
		{`{"n":1,"payload":[}`, "", contracts.CodeMalformedJSON, ""},
		{`{"n":1,"n":2,"payload":{}}`, "", contracts.CodeInvalid, "$.n"},
		{`{"payload":1,"payload":2}`, "", contracts.CodeInvalid, "$.payload"},
		{`{"payload":1,"Payload":2}`, "", contracts.CodeInvalid, "$.Payload"},
		{`{"x":1,"payload":2}`, "", contracts.CodeInvalid, "$.x"},
		{`[]`, "", contracts.CodeInvalid, "$"},
		{`{"n":` + deep + `}`, "", contracts.CodeInvalid, "$"},
	} {
		var b body
		parts, err := canonjson.DecodeAround([]byte(c.doc), &b, "payload")
		if c.code != "" {
			var e *contracts.Error
			require.ErrorAs(t, err, &e, "%.60s", c.doc)
			require.Equal(t, c.code, e.Code, "%.60s", c.doc)
			require.Equal(t, c.path, e.Path, "%.60s", c.doc)
			continue
		}
		require.NoError(t, err, "%.60s", c.doc)
		require.Equal(t, c.part, string(parts["payload"]))
		require.Nil(t, b.Payload)
	}
	var b body
	parts, err := canonjson.DecodeAround([]byte(`{"payload":`+deep+`,"n":3}`), &b, "payload")
	require.NoError(t, err)
	require.Equal(t, 3, b.N)
	require.Equal(t, canonjson.FaultDepth, canonjson.Scan(parts["payload"]).Kind)
	require.Less(t, len(parts["payload"]), 200)
}
