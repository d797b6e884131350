// The conformance vectors, every one of them.

package completion_test

import (
	"os"
	"path/filepath"
	"testing"

	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/completion"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

// completionVector is one case of completion.json; what expect leaves out is not compared.
type completionVector struct {
	ID     string `json:"id"`
	Mode   string `json:"mode"`
	Input  string `json:"input"`
	Expect struct {
		Outcome    completion.Outcome `json:"outcome"`
		Path       string             `json:"path,omitzero"`
		Normalised jsontext.Value     `json:"normalised,omitzero"`
	} `json:"expect"`
}

type followUpVector struct {
	ID            string   `json:"id"`
	ParentTaskID  string   `json:"parent_task_id"`
	ProposedSplit []string `json:"proposed_split"`
	Expect        []struct {
		TaskID string `json:"task_id"`
		Title  string `json:"title"`
	} `json:"expect"`
}

func readVectors[V any](t testing.TB, area string) []V {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "vectors", area+".json"))
	require.NoError(t, err)
	var file struct {
		Area  string `json:"area"`
		About string `json:"about"`
		Cases []V    `json:"cases"`
	}
	require.NoError(t, canonjson.Decode(data, &file))
	require.Equal(t, area, file.Area)
	require.NotEmpty(t, file.Cases)
	return file.Cases
}

// judge reads an input in a vector's mode and returns its outcome, payload and violation.
func judge(t testing.TB, mode, input string) (completion.Outcome, completion.Payload, *contracts.Error) {
	t.Helper()
	switch mode {
	case "payload":
		p, v := completion.Parse([]byte(input))
		if v != nil {
			require.Nil(t, p)
			return completion.OutcomeViolation, nil, v
		}
		return p.Outcome(), p, nil
	case "text":
		result, v := completion.ParseSummary(input)
		return result.Outcome, result.Payload, v
	}
	require.Fail(t, "unknown mode", mode)
	return "", nil, nil
}

func TestCompletionVectors(t *testing.T) {
	t.Parallel()
	for _, c := range readVectors[completionVector](t, "completion") {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			outcome, payload, v := judge(t, c.Mode, c.Input)
			require.Equal(t, c.Expect.Outcome, outcome, "%v", v)
			if outcome == completion.OutcomeViolation {
				require.Equal(t, contracts.CodeContractViolation, v.Code)
				require.NotEmpty(t, v.Detail)
				if c.Expect.Path != "" {
					require.Equal(t, c.Expect.Path, v.Path)
				}
				return
			}
			require.Nil(t, v)
			if c.Expect.Normalised != nil {
				want, err := canonjson.Canonical(c.Expect.Normalised)
				require.NoError(t, err)
				got, v := completion.Normalise(payload)
				require.Nil(t, v)
				require.Equal(t, string(want), string(got))
			}
		})
	}
}

func TestFollowUpVectors(t *testing.T) {
	t.Parallel()
	for _, c := range readVectors[followUpVector](t, "followups") {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			got := completion.FollowUps(c.ParentTaskID, completion.Refusal{
				Kind: completion.KindScopeExceeded, Detail: "d", ProposedSplit: c.ProposedSplit,
			})
			require.Len(t, got, len(c.Expect))
			for i, want := range c.Expect {
				require.Equal(t, completion.FollowUp{ID: want.TaskID, Title: want.Title, Goal: c.ProposedSplit[i]}, got[i])
			}
		})
	}
}
