// Whatever comes in, it is judged without a panic and by the laws of the contract.

package completion_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"countersign/contracts"
	"countersign/contracts/completion"

	"github.com/stretchr/testify/require"
)

func requireViolation(t *testing.T, v *contracts.Error) {
	t.Helper()
	require.Equal(t, contracts.CodeContractViolation, v.Code)
	require.True(t, v.Path == "$" || strings.HasPrefix(v.Path, "$."), v.Path)
	require.True(t, utf8.ValidString(v.Path))
	require.True(t, utf8.ValidString(v.Detail))
	require.NotEmpty(t, v.Detail)
}

func FuzzParse(f *testing.F) {
	for _, c := range readVectors[completionVector](f, "completion") {
		f.Add([]byte(c.Input))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, v := completion.Parse(data)
		c, notDone := completion.ParseCompletion(data)
		r, notRefused := completion.ParseRefusal(data)
		if v != nil {
			require.Nil(t, p)
			requireViolation(t, v)
			require.NotNil(t, notDone)
			require.NotNil(t, notRefused)
			return
		}
		require.True(t, json.Valid(data))
		requireSettled(t, p)
		switch p.Outcome() {
		case completion.OutcomeCompletion:
			require.Nil(t, notDone)
			require.Equal(t, p, c)
			require.Equal(t, "$.kind", notRefused.Path)
		case completion.OutcomeRefusal:
			require.Nil(t, notRefused)
			require.Equal(t, p, r)
			require.Equal(t, "$.kind", notDone.Path)
			require.NotEmpty(t, completion.BlockedReason(r.Kind))
			require.Len(t, completion.FollowUps("T", r), len(r.ProposedSplit))
		default:
			require.Fail(t, "neither shape", p.Outcome())
		}
		// Spread over lines it is the same payload.
		var spread strings.Builder
		enc := json.NewEncoder(&spread)
		enc.SetEscapeHTML(false)
		enc.SetIndent("\t", " ")
		require.NoError(t, enc.Encode(json.RawMessage(data)))
		again, v := completion.Parse([]byte(spread.String()))
		require.Nil(t, v)
		require.Equal(t, p, again)
	})
}

func FuzzSummary(f *testing.F) {
	for _, c := range readVectors[completionVector](f, "completion") {
		f.Add(c.Input)
		f.Add("\u00a0\x1c\n" + c.Input)
	}
	f.Fuzz(func(t *testing.T, text string) {
		result, v := completion.ParseSummary(text)
		switch result.Outcome {
		case completion.OutcomeProse:
			require.Nil(t, v)
			require.Equal(t, completion.Result{Outcome: completion.OutcomeProse, Prose: text}, result)
			require.False(t, strings.HasPrefix(strings.TrimSpace(text), "{"))
		case completion.OutcomeViolation:
			requireViolation(t, v)
			require.Equal(t, completion.Result{Outcome: completion.OutcomeViolation}, result)
			require.Contains(t, text, "{")
			if v.Path == "$" {
				require.Contains(t, v.Detail, "begin prose with a word")
			}
		default:
			require.Nil(t, v)
			require.Equal(t, result.Outcome, result.Payload.Outcome())
			require.Empty(t, result.Prose)
			p, v := completion.Parse([]byte(text))
			require.Nil(t, v)
			require.Equal(t, p, result.Payload)
		}
	})
}
