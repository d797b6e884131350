// The handed conformance vectors, every unambiguous one.

package capability_test

import (
	"encoding/json"
	"os"
	"testing"

	"countersign/contracts/capability"

	"github.com/stretchr/testify/require"
)

type vector struct {
	ID        string          `json:"id"`
	Ambiguous bool            `json:"ambiguous"`
	Input     json.RawMessage `json:"input"`
	Expect    map[string]any  `json:"expect"`
}

func vectors(t testing.TB) []vector {
	t.Helper()
	data, err := os.ReadFile("../../testdata/vectors/worker_dispatch.json")
	require.NoError(t, err)
	var file struct {
		Count   int      `json:"count"`
		Vectors []vector `json:"vectors"`
	}
	require.NoError(t, json.Unmarshal(data, &file))
	require.Len(t, file.Vectors, file.Count)
	return file.Vectors
}

func TestVectors(t *testing.T) {
	t.Parallel()
	ran := 0
	for _, v := range vectors(t) {
		in, err := capability.Decode(v.Input)
		require.NoError(t, err, v.ID)
		got := generic(t, capability.Evaluate(in))
		if !v.Ambiguous {
			requireExpected(t, v.ID, v.Expect, got)
			ran++
		}
	}
	require.Equal(t, 68, ran)
}

// The readings that the ambiguous vectors leave open are settled, and as these two give them.
func TestAmbiguousVectorsAsSettled(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t) {
		if v.Ambiguous {
			in, err := capability.Decode(v.Input)
			require.NoError(t, err, v.ID)
			requireExpected(t, v.ID, v.Expect, generic(t, capability.Evaluate(in)))
		}
	}
}

// generic is a result as a client reads it.
func generic(t testing.TB, r capability.Result) map[string]any {
	t.Helper()
	data, err := json.Marshal(r)
	require.NoError(t, err)
	var out map[string]any
	require.NoError(t, json.Unmarshal(data, &out))
	return out
}

// requireExpected compares only the keys that a vector lists.
func requireExpected(t *testing.T, id string, want, got map[string]any) {
	t.Helper()
	outcome := got["outcome"].(map[string]any)
	for key, value := range want {
		switch key {
		case "outcome":
			for name, v := range value.(map[string]any) {
				if name == "reason_codes" {
					require.ElementsMatch(t, v, outcome[name], "%s %s", id, name)
					continue
				}
				require.Equal(t, v, outcome[name], "%s %s", id, name)
			}
		case "outcome_any":
			for name, v := range value.(map[string]any) {
				require.Contains(t, v, outcome[name], "%s %s", id, name)
			}
		case "reason_codes_include":
			require.Subset(t, outcome["reason_codes"], value, id)
		default:
			require.Contains(t, got, key, id)
			require.Equal(t, value, got[key], "%s %s", id, key)
		}
	}
}
