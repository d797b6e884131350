// The conformance vectors, every one of them.

package artifact_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/contracts"
	"countersign/contracts/artifact"
	"countersign/contracts/figures"

	"github.com/stretchr/testify/require"
)

func readVectors[V any](t testing.TB, area string) []V {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "vectors", area+".json"))
	require.NoError(t, err)
	var file struct {
		Area  string `json:"area"`
		About string `json:"about"`
		Cases []V    `json:"cases"`
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&file))
	require.Equal(t, area, file.Area)
	require.NotEmpty(t, file.Cases)
	return file.Cases
}

type canonicalVector struct {
	ID      string        `json:"id"`
	Kind    artifact.Kind `json:"kind"`
	FileHex string        `json:"file_hex"`
	Expect  struct {
		Outcome      string `json:"outcome"`
		ContentHash  string `json:"content_hash"`
		CanonicalHex string `json:"canonical_hex"`
	} `json:"expect"`
}

func (v canonicalVector) file(t testing.TB) string {
	t.Helper()
	file, err := hex.DecodeString(v.FileHex)
	require.NoError(t, err)
	return string(file)
}

// canonicalise returns the canonical bytes of a file and what is said about them.
func canonicalise(kind artifact.Kind, file string) (string, artifact.Canonical, error) {
	var out bytes.Buffer
	canonical, err := artifact.Canonicalise(kind, strings.NewReader(file), &out)
	return out.String(), canonical, err
}

func TestCanonicalVectors(t *testing.T) {
	t.Parallel()
	for _, v := range readVectors[canonicalVector](t, "canonical") {
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			out, canonical, err := canonicalise(v.Kind, v.file(t))
			if v.Expect.Outcome == "reject" {
				require.Equal(t, artifact.CodeRejected, contracts.CodeOf(err), "%v", err)
				var rejection *artifact.Rejection
				require.ErrorAs(t, err, &rejection)
				require.Positive(t, rejection.Line)
				require.NotEmpty(t, rejection.Reason)
				return
			}
			require.Equal(t, "ok", v.Expect.Outcome)
			require.NoError(t, err)
			require.Equal(t, v.Expect.CanonicalHex, hex.EncodeToString([]byte(out)))
			require.Equal(t, v.Expect.ContentHash, canonical.ContentHash)
			require.EqualValues(t, len(out), canonical.Bytes)

			again, same, err := canonicalise(v.Kind, out)
			require.NoError(t, err)
			require.Equal(t, out, again)
			require.Equal(t, canonical, same)
		})
	}
}

type criterionVector struct {
	ID       string                 `json:"id"`
	Kind     artifact.Kind          `json:"kind"`
	FileText string                 `json:"file_text"`
	Type     artifact.CriterionType `json:"type"`
	Value    string                 `json:"value"`
	Expect   struct {
		Passed bool `json:"passed"`
	} `json:"expect"`
}

func TestCriteriaVectors(t *testing.T) {
	t.Parallel()
	for _, v := range readVectors[criterionVector](t, "criteria") {
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			result := judgeOne(t, v.Kind, v.FileText, v.Type, v.Value)
			require.Equal(t, v.Expect.Passed, result.Passed, result.Detail)
			require.Equal(t, v.Type, result.Type)
			require.NotEmpty(t, result.Detail)
		})
	}
}

// judgeOne evaluates one criterion on the canonical form of a file. All anchors resolve.
func judgeOne(t testing.TB, kind artifact.Kind, file string, of artifact.CriterionType, value string) artifact.Result {
	t.Helper()
	out, _, err := canonicalise(kind, file)
	require.NoError(t, err)
	resolve := func(a figures.Anchor) figures.Resolution { return figures.Traced(a, 1) }
	results, err := artifact.Evaluate(kind, strings.NewReader(out), []artifact.Criterion{{Type: of, Value: value}}, resolve)
	require.NoError(t, err)
	require.Len(t, results, 1)
	return results[0]
}

type specVector struct {
	ID     string `json:"id"`
	Input  string `json:"input"`
	Expect struct {
		Outcome string         `json:"outcome"`
		Spec    *artifact.Spec `json:"spec"`
		Field   string         `json:"field"`
	} `json:"expect"`
}

func TestSpecVectors(t *testing.T) {
	t.Parallel()
	for _, v := range readVectors[specVector](t, "artifact_spec") {
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			spec, err := artifact.ParseSpec([]byte(v.Input))
			if v.Expect.Outcome == "refused" {
				requireRefused(t, err, v.Expect.Field)
				return
			}
			require.Equal(t, "ok", v.Expect.Outcome)
			require.NoError(t, err)
			if v.Expect.Spec != nil {
				require.Equal(t, *v.Expect.Spec, spec)
			}
			requireRoundTrip(t, spec)
		})
	}
}

// requireRefused wants a refusal at field, at any field when that is "".
func requireRefused(t testing.TB, err error, field string) *contracts.Error {
	t.Helper()
	var refusal *contracts.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, contracts.CodeInvalid, refusal.Code)
	if field != "" {
		require.Equal(t, field, refusal.Path)
	}
	require.NotEmpty(t, refusal.Detail)
	return refusal
}

// requireRoundTrip wants the JSON of a spec to hold the four keys and to read as the same spec.
func requireRoundTrip(t testing.TB, spec artifact.Spec) {
	t.Helper()
	written, err := json.Marshal(spec)
	require.NoError(t, err)
	var keys map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(written, &keys))
	require.Len(t, keys, 4)
	require.NotEqual(t, "null", string(keys["criteria"]))
	again, err := artifact.ParseSpec(written)
	require.NoError(t, err)
	require.Equal(t, spec, again)
}
