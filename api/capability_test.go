// The evaluator over HTTP gives what the evaluator gives, for every vector.

package api_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"countersign/api/apitest"
	"countersign/api/client"
	"countersign/contracts"
	"countersign/contracts/capability"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

type dispatchVector struct {
	ID    string         `json:"id"`
	Input jsontext.Value `json:"input"`
}

// dispatchVectors are the inputs of the shared vectors that are well typed as JSON documents.
func dispatchVectors(t testing.TB) []dispatchVector {
	t.Helper()
	data, err := os.ReadFile("../testdata/vectors/worker_dispatch.json")
	require.NoError(t, err)
	var file struct {
		Vectors []dispatchVector `json:"vectors"`
	}
	require.NoError(t, json.Unmarshal(data, &file))
	require.NotEmpty(t, file.Vectors)
	return file.Vectors
}

// members are what stands between an object's braces.
func members(object jsontext.Value) string {
	text := strings.TrimSpace(string(object))
	return text[1 : len(text)-1]
}

func TestEvaluateOverHTTP(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	c := client.New(d.url, d.OwnerToken)
	for _, v := range dispatchVectors(t) {
		in, err := capability.Decode(v.Input)
		require.NoError(t, err, v.ID)
		want := capability.Evaluate(in)
		a := d.call("POST", "/v1/worker-dispatch/evaluate", d.OwnerToken, []byte(v.Input))
		require.Equal(t, want, apitest.Into[capability.Result](t, http.StatusOK, a), v.ID)
		have, err := c.EvaluateDispatch(t.Context(), in)
		require.NoError(t, err, v.ID)
		require.Equal(t, want.Outcome, have.Outcome, v.ID)
	}
}

func TestEvaluateRefusals(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	const secret = "sk-live-0123456789abcdef"
	for body, want := range map[string]struct {
		status int
		code   contracts.Code
		path   string
	}{
		`{`:                                {400, contracts.CodeMalformedJSON, ""},
		`[]`:                               {422, contracts.CodeInvalid, "$"},
		`{"x":1}`:                          {422, contracts.CodeInvalid, "$.x"},
		`{"request":{"x":1}}`:              {422, contracts.CodeInvalid, "$.request.x"},
		`{"now":"a","now":"b"}`:            {422, contracts.CodeInvalid, "$.now"},
		`{"request":{"` + secret + `":1}}`: {422, contracts.CodeInvalid, "$.request"},
	} {
		a := d.call("POST", "/v1/worker-dispatch/evaluate", d.OwnerToken, []byte(body))
		var p problem
		require.NoError(t, json.Unmarshal(a.Body, &p))
		require.Equal(t, want.status, a.Status, body)
		require.Equal(t, want.code, contracts.Code(p.Code), body)
		require.Equal(t, want.path, p.Path, body)
		require.NotContains(t, string(a.Body), secret)
	}
	writer := d.MakeToken(t, "owner", workflow.ScopeTasksWrite).Token
	refused(t, 403, "forbidden", d.call("POST", "/v1/worker-dispatch/evaluate", writer, []byte(`{`)))
	refused(t, 401, "unauthenticated", d.call("POST", "/v1/worker-dispatch/evaluate", "", []byte(`{`)))
}
