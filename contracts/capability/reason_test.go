// The codes are the seed's, and each has its words.

package capability_test

import (
	"testing"

	"countersign/contracts/capability"

	"github.com/stretchr/testify/require"
)

func TestReasonCodesInTheSeedsOrder(t *testing.T) {
	t.Parallel()
	require.Equal(t, []capability.ReasonCode{
		"dispatch_authorization_missing", "subagent_capability_missing", "worker_capability_unproven", "worker_data_authorization_missing",
		"worker_mutation_unproven", "worker_mutation_scope_violated", "isolation_requirement_unmet", "isolation_degraded_inherited",
		"model_override_unsupported", "model_override_unknown", "parallelism_unproven_serialized", "dispatch_backpressure_exhausted",
		"worker_dispatch_failed", "worker_output_invalid",
	}, capability.ReasonCodes())
	capability.ReasonCodes()[0] = "changed"
	require.Equal(t, capability.DispatchAuthorizationMissing, capability.ReasonCodes()[0])
}

func TestEveryCodeIsExplained(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, code := range capability.ReasonCodes() {
		e, ok := capability.Explain(code)
		require.True(t, ok)
		for _, text := range []string{e.Sentence, e.Remedy} {
			require.Regexp(t, `^[A-Z][^_]*\.$`, text)
			require.False(t, seen[text], text)
			seen[text] = true
		}
	}
	for _, word := range []capability.ReasonCode{"", "worker_dispatch", "WORKER_OUTPUT_INVALID"} {
		e, ok := capability.Explain(word)
		require.False(t, ok)
		require.Zero(t, e)
	}
}
