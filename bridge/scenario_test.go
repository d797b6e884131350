// What counts as a scenario.

package bridge

import (
	"testing"

	"countersign/contracts/workflow"

	"github.com/stretchr/testify/require"
)

func TestParseScenario(t *testing.T) {
	t.Parallel()
	for _, prompt := range []string{"", "Do it.", "{}", `{"a":1}`, `{"synthetic":{},"b":1}`, `["synthetic"]`, `{"a":`, `Say {"synthetic": 1}.`} {
		s, err := parseScenario(prompt)
		require.NoError(t, err, prompt)
		require.Nil(t, s, prompt)
	}
	for _, prompt := range []string{
		`{"synthetic":1}`, `{"synthetic":{"play":[]}}`, `{"synthetic":{"work":[[{}]]}}`,
		`{"synthetic":{"work":[[{"sleep":"1s","commit":"x"}]]}}`, `{"synthetic":{"work":[[{"fly":true}]]}}`,
		`{"synthetic":{"verify":[[{"edit":{"path":"a","contents":"x"}}]]}}`,
	} {
		_, err := parseScenario(prompt)
		require.ErrorContains(t, err, "broken scenario", prompt)
	}
	for prompt, said := range map[string]string{
		`{"synthetic":`: "broken scenario: malformed_json",
		" \n{ \"synthetic\": {\"work\": [[{\"commit\": \"x\"}]}}":           "broken scenario: malformed_json",
		`{"synthetic":{"verify":[[{"edit":{"path":"a","contents":"x"}}]]}}`: "invalid at $.synthetic.verify[0][0].edit.contents: unknown field",
		`{"synthetic":{"work":[[{"edit":"x"}]]}}`:                           "invalid at $.synthetic.work[0][0].edit: a string where an object is expected",
	} {
		_, err := parseScenario(prompt)
		require.ErrorContains(t, err, said, prompt)
		require.NotRegexp(t, `Go |bridge\.|jsontext|editStep`, err.Error())
	}
	s, err := parseScenario(`{"synthetic":{"work":[[{"commit":"one"}],[{"commit":"two"},{"hang":{}}]],"verify":[[{"verdict":{}}],[{"results":[]}]]}}`)
	require.NoError(t, err)
	require.Len(t, s.steps(workflow.PurposeWork, 1), 1)
	require.Len(t, s.steps(workflow.PurposeWork, 2), 2)
	require.Len(t, s.steps(workflow.PurposeWork, 9), 2)
	require.NotNil(t, s.steps(workflow.PurposeVerify, 1)[0].Verdict)
	require.Nil(t, (*scenario)(nil).steps(workflow.PurposeWork, 1))
}

func TestScenarioStaysInTheTree(t *testing.T) {
	t.Parallel()
	a := &agent{dir: t.TempDir()}
	for _, path := range []string{"../out.txt", "/tmp/out.txt", "a/../../out.txt"} {
		require.Error(t, a.write(editStep{Path: path, Content: "x"}), path)
	}
}

func TestAVerdictOnNoCriterionIsAnError(t *testing.T) {
	t.Parallel()
	a := &agent{dir: t.TempDir(), job: syntheticJob{Criteria: []workflow.Criterion{{ID: "builds"}}}}
	err := a.play([]scriptStep{{Verdict: map[string]judgement{"build": {Outcome: "pass"}}}})
	require.ErrorContains(t, err, `step 1: the scenario's verdict names "build"`)
	require.Empty(t, a.answer.Results)
}
