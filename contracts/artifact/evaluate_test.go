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
	"countersign/contracts/figures"

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
		{Type: artifact.CriteriaMatch, Passed: false, Detail: `predicate 1 does not hold: "0.id" gt 1, for it is 1`},
		{Type: artifact.CriteriaMatch, Passed: true, Detail: "predicates that hold: 1"},
		{Type: artifact.HashStable, Passed: false, Detail: "the content hash is " + canonical.ContentHash + " and not sha256:" + strings.Repeat("0", 64)},
		{Type: artifact.FiguresGrounded, Passed: false, Detail: "nobody resolves anchors here"},
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
	bundle := `{"figures":[{"value":"1,234","anchor":{"kind":"receipt","ref":"r"}}],"body":"1,234 users\r\n%s"}`
	var asked []figures.Anchor
	judge := func(kind artifact.Kind, file, value string, resolves bool) artifact.Result {
		out, _, err := canonicalise(kind, file)
		require.NoError(t, err)
		resolve := func(a figures.Anchor) figures.Resolution {
			asked = append(asked, a)
			if resolves {
				return figures.Traced(a, 7)
			}
			return figures.Missing(a)
		}
		results, err := artifact.Evaluate(kind, strings.NewReader(out), []artifact.Criterion{{Type: artifact.FiguresGrounded, Value: value}}, resolve)
		require.NoError(t, err)
		return results[0]
	}
	grounded, other := fmt.Sprintf(bundle, ""), fmt.Sprintf(bundle, "and 99% more")
	for _, c := range []struct {
		file, value string
		resolves    bool
		passed      bool
		detail      string
	}{
		{grounded, "", true, true, ""},
		{grounded, "warn", true, true, ""},
		{grounded, "strict", false, false, "anchor r resolves to no lineage record"},
		{other, "", true, false, "unanchored percentage '99%' at line 2, col 5"},
		{other, "warn", true, true, "WARN: unanchored percentage '99%' at line 2, col 5"},
		{other, `{"severity":"warn"}`, false, true, "WARN: "},
		{other, `{"allowlist":["99%"]}`, true, true, ""},
		{other, "lenient", true, false, "the value is refused"},
		{grounded, " ", true, false, "the value is refused"},
		{grounded, `{"severity":"warn","note":1}`, true, false, "the value is refused"},
	} {
		result := judge(artifact.Report, c.file, c.value, c.resolves)
		require.Equal(t, c.passed, result.Passed, "%s: %s", c.value, result.Detail)
		require.Contains(t, result.Detail, c.detail)
		require.NotEmpty(t, result.Detail)
	}
	require.Equal(t, figures.Anchor{Kind: figures.AnchorReceipt, Ref: "r"}, asked[0])

	asked = nil
	for kind, file := range map[artifact.Kind]string{
		artifact.Report: "a", artifact.Dataset: "{}", artifact.OpsResult: grounded, artifact.ActionLog: grounded, artifact.CodeDiff: grounded,
	} {
		for _, value := range []string{"", "strict", "warn", `{"severity":"warn"}`} {
			result := judge(kind, file, value, true)
			require.False(t, result.Passed, "%s %s", kind, value)
			require.NotContains(t, result.Detail, "WARN")
		}
	}
	require.Empty(t, asked, "nobody is asked about what is no bundle")
}
