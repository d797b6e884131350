// Whatever outsiders send: no panic, no second meaning, no disagreement with another RFC 8785.

package artifact_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/iotest"

	"countersign/contracts"
	"countersign/contracts/artifact"
	"countersign/contracts/figures"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"
)

func FuzzCanonicalise(f *testing.F) {
	kinds := artifact.Kinds()
	for _, v := range readVectors[canonicalVector](f, "canonical") {
		if file := v.file(f); len(file) < 2000 {
			for i, kind := range kinds {
				if kind == v.Kind {
					f.Add(byte(i), []byte(file))
				}
			}
		}
	}
	f.Add(byte(3), []byte("{\"\\\"\":1,\"\U0001f600\":-0.0e5,\"\uffff\":[{\"b\":1,\"a\":1e21}]}\r{\"\\u0000\":\"\\ud83d\\ude00\"}"))
	f.Fuzz(func(t *testing.T, which byte, file []byte) {
		kind := kinds[int(which)%len(kinds)]
		given := bytes.Clone(file)
		out, canonical, err := canonicalise(kind, string(file))
		var slow bytes.Buffer
		same, slowErr := artifact.Canonicalise(kind, iotest.OneByteReader(bytes.NewReader(file)), &slow)
		require.Equal(t, given, file)
		require.Equal(t, err, slowErr)
		if err != nil {
			require.Equal(t, artifact.CodeRejected, contracts.CodeOf(err))
			require.Zero(t, canonical)
			return
		}
		require.Equal(t, canonical, same)
		require.Equal(t, out, slow.String())

		again, twice, err := canonicalise(kind, out)
		require.NoError(t, err, "canonical bytes are accepted")
		require.Equal(t, out, again)
		require.Equal(t, canonical, twice)

		switch {
		case kind.InRows():
			rows := strings.FieldsFunc(string(file), func(r rune) bool { return r == '\n' || r == '\r' })
			var want []string
			for _, row := range rows {
				if strings.Trim(row, " \t") != "" {
					want = append(want, row)
				}
			}
			require.EqualValues(t, len(want), canonical.Rows)
			if len(want) > 0 {
				for i, row := range strings.Split(out, "\n") {
					requireJCS(t, want[i], row)
				}
			}
		case kind == artifact.OpsResult:
			requireJCS(t, string(file), out)
		case kind == artifact.Report && figures.IsBundle(file):
			requireJCS(t, out, out)
			_, err := figures.ParseBundle(file)
			require.NoError(t, err)
		default:
			require.Equal(t, strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(file)), out)
		}

		// Criteria can be judged on it, and a document is what it was.
		results, err := artifact.Evaluate(kind, strings.NewReader(out), []artifact.Criterion{
			{Type: artifact.HashStable, Value: canonical.ContentHash},
			{Type: artifact.SchemaValid, Value: "true"},
			{Type: artifact.CriteriaMatch, Value: `[{"path":"","op":"exists"}]`},
		}, nil)
		require.NoError(t, err)
		hasDocument := kind.InRows() || kind == artifact.OpsResult || kind == artifact.Report && figures.IsBundle(file)
		require.True(t, results[0].Passed)
		require.Equal(t, hasDocument, results[1].Passed, results[1].Detail)
		require.Equal(t, hasDocument, results[2].Passed, results[2].Detail)
	})
}

// requireJCS wants the other implementation to agree, where it accepts the object at all.
func requireJCS(t *testing.T, object, canonical string) {
	t.Helper()
	want, err := jcs.Transform([]byte(object))
	if err == nil {
		require.Equal(t, string(want), canonical)
	}
	require.True(t, json.Valid([]byte(canonical)))
}

func FuzzParseSpec(f *testing.F) {
	for _, v := range readVectors[specVector](f, "artifact_spec") {
		f.Add([]byte(v.Input))
	}
	for _, seed := range []string{
		"kind: report\noutput_path: reports/weekly.md\ncriteria:\n  - type: hash_stable\n    value: 'sha256:...'\n",
		"---\nkind: dataset # c\noutput_path: |-\n  x\ncanonicalisation: ~\n...\n", "{kind: &a report, <<: *a}", "? [a, b]\n: !!str x", "%YAML 1.1\n---\nkind: yes",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		given := bytes.Clone(input)
		spec, err := artifact.ParseSpec(input)
		require.Equal(t, given, input)
		if err != nil {
			refusal := requireRefused(t, err, "")
			require.True(t, strings.HasPrefix(refusal.Path, "artifact_spec"))
			require.Zero(t, spec)
			return
		}
		require.True(t, spec.Kind.Known())
		require.Equal(t, spec.Kind == artifact.CodeDiff, spec.OutputPath == "")
		requireRoundTrip(t, spec)
	})
}

func FuzzPredicatesAndSchemas(f *testing.F) {
	for _, v := range readVectors[criterionVector](f, "criteria") {
		f.Add(v.FileText, v.Value)
	}
	f.Fuzz(func(t *testing.T, file, value string) {
		out, _, err := canonicalise(artifact.OpsResult, file)
		if err != nil {
			return
		}
		var criteria []artifact.Criterion
		for _, of := range artifact.CriterionTypes() {
			criteria = append(criteria, artifact.Criterion{Type: of, Value: value})
		}
		results, err := artifact.Evaluate(artifact.OpsResult, strings.NewReader(out), criteria, nil)
		require.NoError(t, err)
		again, err := artifact.Evaluate(artifact.OpsResult, strings.NewReader(out), criteria, nil)
		require.NoError(t, err)
		require.Equal(t, results, again)
		require.NotContains(t, results[1].Detail, "the validator gave up")
	})
}
