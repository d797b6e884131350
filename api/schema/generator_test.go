// What becomes of types and tags.

package schema_test

import (
	"reflect"
	"testing"

	"countersign/api/schema"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

func written(t *testing.T, s *schema.Schema) string {
	t.Helper()
	data, err := json.Marshal(s, json.Deterministic(true))
	require.NoError(t, err)
	return string(data)
}

func TestBodiesAreHeldToTheirTags(t *testing.T) {
	t.Parallel()
	g := &schema.Generator{Prefix: "#/$defs/"}
	require.Equal(t, `{"$ref":"#/$defs/DispatchRequest"}`, written(t, g.Of(reflect.TypeFor[workflow.DispatchRequest](), schema.Body)))
	spec := g.Defs["Spec"]
	for name, want := range map[string]string{
		"idempotency_key":   `{"type":"string","pattern":"^[A-Za-z0-9_.-]{1,128}$","minLength":1}`,
		"prompt":            `{"description":"Not blank.","type":"string","minLength":1,"maxLength":32768}`,
		"max_work_attempts": `{"type":["integer","null"],"minimum":1,"maximum":2}`,
		"document_refs":     `{"type":"array","maxItems":32,"uniqueItems":true,"items":{"description":"A clean, repository-relative path.","type":"string","maxLength":1024}}`,
		"criteria":          `{"type":"array","minItems":1,"maxItems":32,"items":{"$ref":"#/$defs/Criterion"}}`,
		"profile":           `{"$ref":"#/$defs/Profile"}`,
	} {
		require.Equal(t, want, written(t, spec.Properties[name]), name)
	}
	require.Equal(t, []string{
		"base_commit", "branch", "bridge_id", "criteria", "expected_task_version", "idempotency_key", "profile", "prompt", "task_id", "verifier", "workspace",
	}, spec.Required)
	require.Equal(t, `{"type":["string","null"],"maxLength":64}`, written(t, g.Defs["WriteContext"].Properties["project_id"]))
	require.Equal(t, `{"type":"string","enum":["synthetic","codex_cli","claude_code_cli"],"minLength":1}`, written(t, g.Defs["Profile"].Properties["runtime"]))
	require.Equal(t, `{"type":"object","properties":{},"additionalProperties":false}`, written(t, schema.Closed(map[string]*schema.Schema{})))
}

func TestAnswersShowWhatIsAlwaysThere(t *testing.T) {
	t.Parallel()
	g := &schema.Generator{Prefix: "#/$defs/", Documents: map[string]reflect.Type{"Detail.Contract": reflect.TypeFor[workflow.Contract]()}}
	g.Of(reflect.TypeFor[workflow.Detail](), schema.Answer)
	detail := g.Defs["Detail"]
	require.NotContains(t, detail.Required, "refusal")
	require.Contains(t, detail.Required, "candidate_commit")
	require.Equal(t, `{"$ref":"#/$defs/Contract"}`, written(t, detail.Properties["contract"]))
	require.Equal(t, `{}`, written(t, detail.Properties["refusal"]))
	require.Equal(t, `{"anyOf":[{"$ref":"#/$defs/AttemptView"},{"type":"null"}]}`, written(t, detail.Properties["active_attempt"]))
	require.Equal(t, `{"type":["string","null"],"enum":["result","verdict_pass","verdict_fail","refused","violation","failed","interrupted","cancelled",null]}`,
		written(t, g.Defs["AttemptView"].Properties["outcome"]))
	require.Equal(t, `{"type":"string","format":"date-time"}`, written(t, g.Defs["HistoryEntry"].Properties["at"]))

	// A type that is also sent has a form of its own for that; fields of inlined structs are the object's.
	require.Equal(t, "#/$defs/ProfileInput", g.Of(reflect.TypeFor[workflow.Profile](), schema.Body).Ref)
	require.Equal(t, []string{"instructions", "profile_id", "runtime", "version"}, g.Defs["ProfileInput"].Required)
	g.Of(reflect.TypeFor[workflow.Event](), schema.Body)
	require.Contains(t, g.Defs["Event"].Required, "lease_id")
}
