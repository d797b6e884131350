// Criteria as a whole: what they see, in which order, and what nobody can judge.

package artifact_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"countersign/contracts/artifact"

	"github.com/stretchr/testify/require"
)

func TestEvaluateJudgesAll(t *testing.T) {
	t.Parallel()
	rows := `{"id":1}` + "\n" + `{"id":2}`
	_, canonical, err := canonicalise(artifact.Dataset, rows)
	require.NoError(t, err)
	results, err := artifact.Evaluate(artifact.Dataset, strings.NewReader(rows), []artifact.Criterion{
		{Type: "path_exists", Value: "x"},
		{Type: artifact.HashStable, Value: canonical.ContentHash},
		{Type: artifact.SchemaValid, Value: `{"properties":{"id":{"maximum":1}}}`},
		{Type: artifact.CriteriaMatch, Value: `[{"path":"1.id","op":"eq","value":2},{"path":"0.id","op":"gt","value":1},{"path":"","op":"exists"}]`},
		{Type: artifact.CriteriaMatch, Value: `[{"path":"1.id","op":"eq","value":2}]`},
		{Type: artifact.HashStable, Value: "sha256:" + strings.Repeat("0", 64)},
		{Type: artifact.FiguresGrounded, Value: ""},
	}, nil)
	require.NoError(t, err)
	require.Equal(t, []artifact.Result{
		{Type: "path_exists", Passed: false, Detail: `nobody judges criteria of type "path_exists"`},
		{Type: artifact.HashStable, Passed: true, Detail: "the content hash is " + canonical.ContentHash},
		{Type: artifact.SchemaValid, Passed: false, Detail: `row 1: at "/id": maximum: got 2, want 1`},
		{Type: artifact.CriteriaMatch, Passed: false, Detail: `predicate 1 does not hold: "0.id" gt`},
		{Type: artifact.CriteriaMatch, Passed: true, Detail: "predicates that hold: 1"},
		{Type: artifact.HashStable, Passed: false, Detail: "the content hash is " + canonical.ContentHash + " and not sha256:" + strings.Repeat("0", 64)},
		{Type: artifact.FiguresGrounded, Passed: false, Detail: "nobody judges figures here"},
	}, results)

	written, err := json.Marshal(results[1])
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"hash_stable","passed":true,"detail":"the content hash is `+canonical.ContentHash+`"}`, string(written))

	results, err = artifact.Evaluate(artifact.Report, strings.NewReader("x"), nil, nil)
	require.NoError(t, err)
	require.Empty(t, results)
}

func TestHashStable(t *testing.T) {
	t.Parallel()
	bundle := `{"figures": [], "body": "a\r\n"}`
	_, canonical, err := canonicalise(artifact.Report, bundle)
	require.NoError(t, err)
	for value, passed := range map[string]bool{
		canonical.ContentHash:                    true,
		"\t" + canonical.ContentHash + " \n":     true,
		strings.ToUpper(canonical.ContentHash):   false,
		canonical.ContentHash[7:]:                false,
		"sha256: " + canonical.ContentHash[7:]:   false,
		canonical.ContentHash + "\n" + "x":       false,
		canonical.ContentHash[:70]:               false,
		"":                                       false,
		strings.Repeat("\u00e9", 1<<20):          false,
		"sha512:" + canonical.ContentHash[7:]:    false,
		"\u00a0" + canonical.ContentHash:         true, // white space of Unicode
		"\u200b" + canonical.ContentHash:         false,
		canonical.ContentHash + "\x00":           false,
		"sha256:" + strings.ToUpper(anyHash[7:]): false,
	} {
		result := judgeOne(t, artifact.Report, bundle, artifact.HashStable, value)
		require.Equal(t, passed, result.Passed, value)
		require.Less(t, len(result.Detail), 2100)
	}
}

// The bytes are hashed to their end and judged as they are, also when they are not canonical.
func TestEvaluateOtherBytes(t *testing.T) {
	t.Parallel()
	judge := func(kind artifact.Kind, stored string, of artifact.CriterionType, value string) artifact.Result {
		results, err := artifact.Evaluate(kind, strings.NewReader(stored), []artifact.Criterion{{Type: of, Value: value}}, nil)
		require.NoError(t, err)
		return results[0]
	}
	exists := `[{"path":"0.a","op":"exists"}]`
	for _, stored := range []string{`{"a":1}` + "\nnot JSON\n{}", `{"a":1}` + "\n" + `{"a":1,"a":2}`, `{"a":1}` + "\n" + `{"n":1e-9999999}`, `{"a":1}` + "\n\n", `{"a":1}` + "\n{} {}"} {
		result := judge(artifact.Dataset, stored, artifact.SchemaValid, `{}`)
		require.False(t, result.Passed, stored)
		require.Contains(t, result.Detail, "row 1 cannot be read: ", stored)
		require.True(t, judge(artifact.Dataset, stored, artifact.CriteriaMatch, exists).Passed, "it needs row 0 alone")
		for _, path := range []string{"", "1"} {
			require.False(t, judge(artifact.Dataset, stored, artifact.CriteriaMatch, `[{"path":"`+path+`","op":"contains","value":"a"}]`).Passed)
		}
		require.Contains(t, judge(artifact.Dataset, stored, artifact.HashStable, "x").Detail, hashOf(stored))
	}
	for _, stored := range []string{"", "nope", `{"n":1e-9999999}`, `{} {}`, "{\"k\":\"\xff\"}"} {
		result := judge(artifact.OpsResult, stored, artifact.SchemaValid, `true`)
		require.False(t, result.Passed, stored)
		require.Contains(t, result.Detail, "the document cannot be read: ", stored)
		require.Contains(t, judge(artifact.OpsResult, stored, artifact.HashStable, "x").Detail, hashOf(stored))
	}
	require.False(t, judge(artifact.Report, `{"body":1,"figures":[]}`, artifact.SchemaValid, `true`).Passed)
	require.False(t, judge(artifact.CodeDiff, `{}`, artifact.SchemaValid, `true`).Passed)
	require.True(t, judge(artifact.CodeDiff, `{}`, artifact.HashStable, hashOf(`{}`)).Passed)
}

func hashOf(stored string) string {
	sum := sha256.Sum256([]byte(stored))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// A bundle has a document, other reports have none.
func TestReportDocuments(t *testing.T) {
	t.Parallel()
	bundle := `{"figures":[{"value":"5","anchor":{"kind":"receipt","ref":"r"}}],"body":"a\r\nb"}`
	for _, c := range []struct {
		file   string
		of     artifact.CriterionType
		value  string
		passed bool
	}{
		{bundle, artifact.CriteriaMatch, `[{"path":"body","op":"eq","value":"a\nb"},{"path":"figures.0.label","op":"eq","value":""}]`, true},
		{bundle, artifact.CriteriaMatch, `[{"path":"figures.1","op":"exists"}]`, false},
		{bundle, artifact.SchemaValid, `{"required":["body","figures"],"properties":{"figures":{"minItems":1}}}`, true},
		{bundle, artifact.SchemaValid, `{"properties":{"figures":{"minItems":2}}}`, false},
		{"prose", artifact.CriteriaMatch, `[{"path":"","op":"exists","value":false}]`, false},
		{"prose", artifact.SchemaValid, `true`, false},
		{"", artifact.SchemaValid, `{}`, false},
		{`{"a":1}`, artifact.SchemaValid, `{}`, false},
		{`{"a":1}`, artifact.CriteriaMatch, `[{"path":"a","op":"eq","value":1}]`, false},
		{`[{"body":"x","figures":[]}]`, artifact.SchemaValid, `true`, false},
	} {
		result := judgeOne(t, artifact.Report, c.file, c.of, c.value)
		require.Equal(t, c.passed, result.Passed, "%s %s: %s", c.file, c.value, result.Detail)
	}
}

func TestFiguresGrounded(t *testing.T) {
	t.Parallel()
	bundle := `{"figures":[],"body":"a\r\n"}`
	var asked []artifact.FiguresPolicy
	judge := func(kind artifact.Kind, file, value string, faults ...string) artifact.Result {
		out, _, err := canonicalise(kind, file)
		require.NoError(t, err)
		ground := func(b artifact.Bundle, p artifact.FiguresPolicy) []string {
			require.Equal(t, artifact.Bundle{Body: "a\n", Figures: []artifact.Figure{}}, b)
			asked = append(asked, p)
			return faults
		}
		results, err := artifact.Evaluate(kind, strings.NewReader(out), []artifact.Criterion{{Type: artifact.FiguresGrounded, Value: value}}, ground)
		require.NoError(t, err)
		return results[0]
	}
	of := artifact.FiguresGrounded
	require.Equal(t, artifact.Result{Type: of, Passed: true, Detail: "every figure is grounded"}, judge(artifact.Report, bundle, ""))
	require.Equal(t, artifact.Result{Type: of, Passed: false, Detail: "one; two"}, judge(artifact.Report, bundle, "strict", "one", "two"))
	require.Equal(t, artifact.Result{Type: of, Passed: true, Detail: "WARN: one; two"}, judge(artifact.Report, bundle, "warn", "one", "two"))
	require.Equal(t, artifact.Result{Type: of, Passed: true, Detail: "every figure is grounded"}, judge(artifact.Report, bundle, "warn"))
	require.Equal(t, artifact.Result{Type: of, Passed: true, Detail: "WARN: one"}, judge(artifact.Report, bundle, `{"severity":"warn","units":["kB"]}`, "one"))
	require.Len(t, asked, 5)
	require.Equal(t, artifact.SeverityWarn, asked[4].Severity)
	require.Equal(t, []string{"kB"}, asked[4].Units)

	for kind, file := range map[artifact.Kind]string{
		artifact.Report: "a", artifact.Dataset: "{}", artifact.OpsResult: bundle, artifact.ActionLog: bundle, artifact.CodeDiff: bundle,
	} {
		for _, value := range []string{"", "strict", "warn", `{"severity":"warn"}`} {
			result := judge(kind, file, value)
			require.False(t, result.Passed, "%s %s", kind, value)
			require.NotContains(t, result.Detail, "WARN")
		}
	}
	require.False(t, judge(artifact.Report, bundle, "lenient").Passed)
	require.Len(t, asked, 5, "nobody is asked about what is no bundle")
}

func TestFiguresPolicy(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"", "strict", "{}", ` {"severity":"strict"} `} {
		policy, err := artifact.ParseFiguresPolicy(value)
		require.NoError(t, err, value)
		require.Equal(t, artifact.FiguresPolicy{Severity: artifact.SeverityStrict}, policy)
	}
	policy, err := artifact.ParseFiguresPolicy(`{"severity":"warn","materiality_min":0.5,"units":[],"allowlist":["24/7","\\d+"]}`)
	require.NoError(t, err)
	require.Equal(t, artifact.SeverityWarn, policy.Severity)
	require.InDelta(t, 0.5, *policy.MaterialityMin, 0)
	require.NotNil(t, policy.Units)
	require.Empty(t, policy.Units)
	require.Equal(t, `[24/7 \d+]`, fmt.Sprint(policy.Allowlist))

	for value, reason := range map[string]string{
		"Strict": "must be empty, strict, warn or a JSON object", " ": "must be empty", "warn ": "must be empty", "x": "must be empty", "null": "must be empty", `"warn"`: "must be empty",
		"[]": "must be empty", "{": "must be empty", "{} {}": "must be empty", `{"severity":"warn","severity":"strict"}`: "must be empty",
		`{"severity":""}`: "severity must be", `{"severity":"WARN"}`: "severity must be", `{"severity":null}`: "severity must be", `{"severity":1}`: "severity must be",
		`{"Severity":"warn"}`: `unknown key "Severity"`, `{"a":1,"severity":1}`: `unknown key "a"`, `{"note":""}`: `unknown key "note"`,
		`{"materiality_min":-1}`: "materiality_min must be", `{"materiality_min":"1"}`: "materiality_min must be", `{"materiality_min":null}`: "materiality_min must be",
		`{"materiality_min":true}`: "materiality_min must be", `{"materiality_min":1e400}`: "must be empty",
		`{"units":"kB"}`: "units must be", `{"units":null}`: "units must be", `{"units":[1]}`: "units must be", `{"units":["kB"," "]}`: "units must be", `{"units":{"kB":1}}`: "units must be",
		`{"allowlist":"x"}`: "allowlist must be", `{"allowlist":[null]}`: "allowlist must be", `{"allowlist":["(?=x)"]}`: "allowlist[0] is no RE2 pattern", `{"allowlist":["x","("]}`: "allowlist[1] is no RE2 pattern",
	} {
		_, err := artifact.ParseFiguresPolicy(value)
		require.ErrorContains(t, err, reason, value)
		require.False(t, judgeOne(t, artifact.Report, `{"figures":[],"body":""}`, artifact.FiguresGrounded, value).Passed, value)
		_, err = artifact.ParseFlags(artifact.Flags{Kind: "report", OutputPath: "x", Criteria: []string{"figures_grounded:" + value}})
		requireRefused(t, err, "artifact_spec.criteria[0].value")
	}
}
