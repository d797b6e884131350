// schema_valid: where the validator needs a hand, and what is not fetched.

package artifact_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"countersign/contracts/artifact"

	"github.com/stretchr/testify/require"
)

func TestSchemas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		document, schema string
		passed           bool
	}{
		{`{}`, `true`, true}, {`{}`, `{}`, true}, {`{}`, ` {} `, true}, {`{}`, `false`, false},
		{`{}`, `null`, false}, {`{}`, `[]`, false}, {`{}`, `3`, false}, {`{}`, `{`, false}, {`{}`, `{} {}`, false}, {`{}`, `{"type":"object","type":"object"}`, false}, {`{}`, "{\"a\":\"\xff\"}", false}, {`{}`, `{"type":"objekt"}`, false}, {`{}`, `{"minProperties":-1}`, false}, {`{}`, `{"minProperties":0.5}`, false}, {`{}`, `{"properties":[]}`, false}, {`{}`, `{"required":["a","a"]}`, false}, {`{}`, `{"multipleOf":0}`, false}, {`{}`, `{"$ref":1}`, false}, {`{}`, `{"$ref":"#/$defs/none"}`, false}, {`{}`, `{"$ref":"#none"}`, false},
		{`{"id":1,"ID":2}`, `{"properties":{"id":{"const":1},"ID":{"const":2}}}`, true}, // keys that differ in case only

		// Integers of any size are fine in a schema, unlike in a document.
		{`{"n":9007199254740992}`, `{"properties":{"n":{"maximum":9223372036854775807}}}`, true}, {`{"n":9007199254740992}`, `{"properties":{"n":{"const":9007199254740993}}}`, false}, {`{"n":9007199254740992}`, `{"properties":{"n":{"exclusiveMaximum":9007199254740993}}}`, true},
		{`{"n":1e+300}`, `{"properties":{"n":{"type":"integer"}}}`, true}, {`{"n":1e+300}`, `{"properties":{"n":{"maximum":1e299}}}`, false}, {`{"n":5e-324}`, `{"properties":{"n":{"exclusiveMinimum":0}}}`, true}, {`{"n":5e-324}`, `{"properties":{"n":{"minimum":1e-323}}}`, false}, {`{"n":1.5}`, `{"properties":{"n":{"type":"integer"}}}`, false},
		{`{"n":0}`, `{"properties":{"n":{"minimum":1e309}}}`, false}, {`{"n":0}`, `{"properties":{"n":{"maximum":1e309}}}`, false}, {`{"n":0}`, `{"properties":{"n":{"maximum":1e-401}}}`, false}, {`{"n":0}`, `{"properties":{"n":{"maximum":1e-9999999}}}`, false}, {`{"n":0}`, `{"properties":{"n":{"maximum":1e-400}}}`, true}, {`{"n":1}`, `{"properties":{"n":{"maximum":1e-400}}}`, false}, {`{"n":0}`, `{"properties":{"n":{"const":0e999999999}}}`, true}, {`{"n":0.3}`, `{"properties":{"n":{"multipleOf":0.01}}}`, true}, {`{"n":0.35}`, `{"properties":{"n":{"multipleOf":0.1}}}`, false},
		// Counts that no int64 holds.
		{`{"s":"x"}`, `{"properties":{"s":{"minLength":1e300}}}`, false}, {`{"s":"x"}`, `{"properties":{"s":{"maxLength":1e300}}}`, true}, {`{"s":"x"}`, `{"properties":{"s":{"maxLength":9223372036854775808}}}`, true}, {`{"s":"x"}`, `{"properties":{"s":{"minLength":18446744073709551616}}}`, false}, {`{"s":"x"}`, `{"properties":{"s":{"minLength":9223372036854775807}}}`, false}, {`{"s":"x"}`, `{"properties":{"s":{"minLength":1.0}}}`, true}, {`{"s":"x"}`, `{"properties":{"s":{"minLength":2e0}}}`, false},
		{`{"l":[]}`, `{"properties":{"l":{"minItems":1e30}}}`, false}, {`{"l":[1]}`, `{"properties":{"l":{"contains":true,"minContains":1e30}}}`, false}, {`{"l":[1]}`, `{"properties":{"l":{"contains":true,"maxContains":1e30}}}`, true}, {`{}`, `{"minProperties":1e30}`, false}, {`{}`, `{"maxProperties":1e30}`, true}, {`{"l":[]}`, `{"properties":{"l":{"maxItems":1e30}}}`, true},
		{`{"minLength":1e+300}`, `{"properties":{"minLength":{"maximum":1e301}}}`, true}, {`{"c":{"minLength":1e+300}}`, `{"properties":{"c":{"const":{"minLength":1e300}}}}`, true}, {`{"c":{"minLength":1e+300}}`, `{"properties":{"c":{"enum":[{"minLength":1e300}]}}}`, true}, {`{"s":"x"}`, `{"properties":{"s":{"anyOf":[{"minLength":1e300},{"const":"x"}]}}}`, true},

		{`{"s":"abc"}`, `{"properties":{"s":{"pattern":"^a.c$"}}}`, true}, {`{"s":"abc"}`, `{"properties":{"s":{"pattern":"(?=a)"}}}`, false}, {`{"s":"a1"}`, `{"properties":{"s":{"pattern":"(a)\\1"}}}`, false}, {`{"xa":1}`, `{"patternProperties":{"^x":{"type":"string"}}}`, false}, {`{"xa":1}`, `{"patternProperties":{"(":{}}}`, false}, {`{"s":"é"}`, `{"properties":{"s":{"maxLength":1}}}`, true}, {`{"s":"` + "\U0001f600" + `"}`, `{"properties":{"s":{"maxLength":1}}}`, true},

		// format is a remark, in every draft.
		{`{"e":"x"}`, `{"properties":{"e":{"format":"email"}}}`, true}, {`{"e":"x"}`, `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"e":{"format":"email"}}}`, true}, {`{"e":"x"}`, `{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"e":{"format":"date-time"}}}`, true}, {`{"e":"x"}`, `{"$schema":"http://json-schema.org/draft-06/schema#","properties":{"e":{"format":"uri"}}}`, true}, {`{"e":"x"}`, `{"$schema":"https://json-schema.org/draft/2019-09/schema","properties":{"e":{"format":"ipv4"}}}`, true}, {`{"e":"x"}`, `{"properties":{"e":{"format":"unheard-of"}}}`, true}, {`{"e":"{"}`, `{"properties":{"e":{"contentMediaType":"application/json"}}}`, true},
		{`{"a":1}`, `{"$schema":"https://json-schema.org/draft/2020-12/schema","unevaluatedProperties":false}`, false}, {`{"a":[1,"x"]}`, `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"items":[{"type":"integer"},{"type":"integer"}]}}}`, false}, {`{"a":[1,"x"]}`, `{"properties":{"a":{"items":[{"type":"integer"}]}}}`, false},
		{`{"a":{"a":{}}}`, `{"properties":{"a":{"$ref":"#"}},"additionalProperties":false}`, true}, {`{"a":{"b":{}}}`, `{"properties":{"a":{"$ref":"#"}},"additionalProperties":false}`, false}, {`{"a":1}`, `{"$defs":{"i":{"$anchor":"i","type":"string"}},"properties":{"a":{"$ref":"#i"}}}`, false}, {`{"a":1}`, `{"$id":"https://example.com/s","$defs":{"i":{"$id":"i","type":"integer"}},"properties":{"a":{"$ref":"i"}}}`, true}, {`{}`, `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, true}, {`{"type":1}`, `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, false},

		// References in a circle end, without an answer.
		{`{}`, `{"$ref":"#"}`, false}, {`{}`, `{"allOf":[{"$ref":"#"}]}`, false}, {`{}`, `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`, false}, {`{}`, `{"$dynamicAnchor":"x","$dynamicRef":"#x"}`, false},

		{`{}`, `{"$ref":"https://example.com/other.json"}`, false}, {`{}`, `{"$ref":"other.json"}`, false}, {`{}`, `{"$ref":"file:///etc/hostname"}`, false}, {`{}`, `{"properties":{"a":{"$ref":"urn:x:y"}}}`, false}, {`{}`, `{"$schema":"https://example.com/meta"}`, false}, {`{}`, `{"$schema":"draft-07"}`, false}, {`{}`, `{"$schema":1}`, false}, {`{}`, `{"$id":"https://json-schema.org/draft/2020-12/schema","type":"string"}`, false}, {`{}`, `{"$id":"\u0000"}`, false}, {`{}`, `{"$id":"%zz"}`, false},
	} {
		result := judgeOne(t, artifact.OpsResult, c.document, artifact.SchemaValid, c.schema)
		require.Equal(t, c.passed, result.Passed, "%s against %s: %s", c.document, c.schema, result.Detail)
		require.NotContains(t, result.Detail, "\n")
	}
}

// A schema that asks for something elsewhere gets neither a connection nor a file.
func TestNothingIsFetched(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "true") }))
	server.Config.ConnState = func(net.Conn, http.ConnState) { calls.Add(1) }
	server.Start()
	defer server.Close()
	file := filepath.Join(t.TempDir(), "true.json")
	require.NoError(t, os.WriteFile(file, []byte("true"), 0o600))
	for _, url := range []string{server.URL, "file://" + file, file} {
		for _, schema := range []string{`{"$ref":%q}`, `{"$schema":%q}`, `{"$id":%q,"$ref":"x"}`, `{"properties":{"a":{"$dynamicRef":%q}}}`} {
			result := judgeOne(t, artifact.OpsResult, `{}`, artifact.SchemaValid, fmt.Sprintf(schema, url))
			require.False(t, result.Passed, "%s %s", schema, url)
			require.Contains(t, result.Detail, "the schema is invalid")
		}
	}
	require.Zero(t, calls.Load())
}

// Rows are judged one by one, and the first bad one decides; the sentence is the same every time.
func TestSchemaDetail(t *testing.T) {
	t.Parallel()
	rows := "{\"id\":1}\n{\"id\":\"x\",\"z\":1,\"y\":[{}]}\n{}"
	schema := `{"required":["id"],"properties":{"id":{"type":"integer"},"y":{"items":{"required":["k"]}},"z":{"type":"string"}}}`
	for range 20 {
		result := judgeOne(t, artifact.Dataset, rows, artifact.SchemaValid, schema)
		require.False(t, result.Passed)
		require.Equal(t, `row 1: at "/id": got string, want integer`, result.Detail)
	}
	result := judgeOne(t, artifact.OpsResult, `{"s":"`+strings.Repeat("x", 10_000)+`"}`, artifact.SchemaValid, `{"properties":{"s":{"pattern":"y"}}}`)
	require.False(t, result.Passed)
	require.Less(t, len(result.Detail), 2100)
}

func TestSchemaDepth(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat(`{"not":`, n-1) + "{}" + strings.Repeat("}", n-1) }
	require.False(t, judgeOne(t, artifact.OpsResult, `{}`, artifact.SchemaValid, nested(256)).Passed, "an odd number of nots")
	require.True(t, judgeOne(t, artifact.OpsResult, `{}`, artifact.SchemaValid, nested(255)).Passed)
	for _, schema := range []string{nested(257), nested(100_000), strings.Repeat("[", 1<<20)} {
		result := judgeOne(t, artifact.OpsResult, `{}`, artifact.SchemaValid, schema)
		require.False(t, result.Passed)
		require.Contains(t, result.Detail, "more than 256 nested objects and arrays")
	}
}
