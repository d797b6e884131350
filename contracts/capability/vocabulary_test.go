// The lists of the results' vocabularies leave no word out.

package capability_test

import (
	"testing"

	"countersign/contracts/capability"

	"github.com/stretchr/testify/require"
)

func TestVocabulariesAreWhole(t *testing.T) {
	t.Parallel()
	actions, statuses, gates, reasons := map[capability.Action]bool{}, map[capability.Status]bool{}, map[capability.Gate]bool{}, map[capability.ReasonCode]bool{}
	inputs := []capability.Input{}
	for _, v := range vectors(t) {
		in, err := capability.Decode([]byte(v.Input))
		require.NoError(t, err)
		inputs = append(inputs, in)
	}
	for _, in := range inputs {
		r := capability.Evaluate(in)
		actions[r.Action], gates[r.IndependenceGate] = true, true
		if r.Outcome.Status != nil {
			statuses[*r.Outcome.Status] = true
		}
		for _, code := range r.Outcome.ReasonCodes {
			reasons[code] = true
		}
	}
	require.Len(t, actions, len(capability.Action("").Values()))
	require.Len(t, statuses, len(capability.Status("").Values()))
	require.Len(t, gates, len(capability.Gate("").Values()))
	require.Len(t, reasons, len(capability.ReasonCode("").Values()))
	for _, a := range capability.Action("").Values() {
		require.True(t, actions[a], a)
	}
	for _, s := range capability.Status("").Values() {
		require.True(t, statuses[s], s)
	}
	for _, c := range capability.ReasonCode("").Values() {
		require.True(t, reasons[c], c)
	}
}
