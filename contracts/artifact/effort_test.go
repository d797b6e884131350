// Schemas that ask for more than there is time, and documents that take long for their size alone.

package artifact_test

import (
	"fmt"
	"strings"
	"testing"

	"countersign/contracts/artifact"

	"github.com/stretchr/testify/require"
)

// doubling is a schema whose definitions each refer twice to the next, and end in last.
func doubling(draft, keyword, last string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"$schema":%q,"allOf":[{"$ref":"#/definitions/a0"}],"definitions":{`, draft)
	for i := range 40 {
		next := fmt.Sprintf(`{"$ref":"#/definitions/a%d"}`, i+1)
		fmt.Fprintf(&b, `"a%d":{%q:[%s,%s]},`, i, keyword, next, next)
	}
	return b.String() + `"a40":` + last + `}}`
}

func TestSchemasThatNeverEnd(t *testing.T) {
	t.Parallel()
	const (
		draft2020 = "https://json-schema.org/draft/2020-12/schema"
		draft7    = "http://json-schema.org/draft-07/schema#"
	)
	nested := `{"a":` + strings.Repeat("[", 60) + strings.Repeat("]", 60) + `}`
	var patterns []string
	for i := range 200 {
		patterns = append(patterns, fmt.Sprintf(`{"pattern":"%d[a-y]{1000}$"}`, i))
	}
	for name, c := range map[string]struct{ schema, document string }{
		"all hold":     {doubling(draft2020, "allOf", `{"type":"object"}`), `{}`},
		"all fail":     {doubling(draft2020, "allOf", `{"type":"array"}`), `{}`},
		"none of them": {doubling(draft2020, "anyOf", `false`), `{}`},
		"draft 7":      {doubling(draft7, "allOf", `{"type":"object"}`), `{}`},
		// Where only whether it holds is asked, an array that has failed is still looked into.
		"in silence": {`{"not":{"properties":{"a":{"$ref":"#/$defs/s"}},"required":["a"]},"$defs":{"s":{"maxItems":0,"items":{"$ref":"#/$defs/s"},"contains":{"$ref":"#/$defs/s"}}}}`, nested},
		"dynamic":    {`{"$dynamicAnchor":"s","items":{"$dynamicRef":"#s"},"additionalProperties":{"$dynamicRef":"#s"},"contains":{"$dynamicRef":"#s"}}`, nested},
		"patterns":   {`{"properties":{"a":{"allOf":[` + strings.Join(patterns, ",") + `]}}}`, `{"a":"` + strings.Repeat("z", 1<<16) + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := judgeOne(t, artifact.OpsResult, c.document, artifact.SchemaValid, c.schema)
			require.False(t, r.Passed, r.Detail)
			require.Contains(t, r.Detail, "too many steps")
		})
	}
}

func TestSchemaOfManyLargePatterns(t *testing.T) {
	t.Parallel()
	var all []string
	for i := range 400 {
		all = append(all, fmt.Sprintf(`{"pattern":"%d{1000}"}`, i))
	}
	r := judgeOne(t, artifact.OpsResult, "{}", artifact.SchemaValid, `{"allOf":[`+strings.Join(all, ",")+`]}`)
	require.False(t, r.Passed)
	require.Contains(t, r.Detail, "instructions")
}

// TestLargeDocumentsAreValidated: a document may take what its size asks for.
func TestLargeDocumentsAreValidated(t *testing.T) {
	t.Parallel()
	schema := `{"properties":{"rows":{"items":{"oneOf":[{"type":"string"},{"type":"array"},{"type":"null"},{"allOf":[{"$ref":"#/$defs/n"},{"$ref":"#/$defs/n"}]}]}}},"$defs":{"n":{"type":"integer","minimum":0}}}`
	r := judgeOne(t, artifact.OpsResult, `{"rows":[`+strings.Repeat("1,", 400_000)+`1]}`, artifact.SchemaValid, schema)
	require.True(t, r.Passed, r.Detail)
}
