// The worker dispatch capability contract in the life cycle, stage by stage, over HTTP.

package api_test

import (
	"testing"

	"countersign/api/apitest"
	"countersign/contracts/capability"
	"countersign/contracts/workflow"

	"github.com/stretchr/testify/require"
)

// TestBoundLife goes from dispatch over a correction to a receipt.
func TestBoundLife(t *testing.T) {
	t.Parallel()
	b := newBound(t, apitest.Options{})
	b.work()
	require.Equal(t, workflow.PhaseOffered, b.end(b.verifier(), judged(b.held, "tests")).WorkflowPhase)
	b.work()
	require.Equal(t, workflow.PhaseAccepted, b.end(b.verifier(), judged(b.held)).WorkflowPhase)
	d := b.now()
	require.Len(t, d.Attempts, 4)
	for _, a := range d.Attempts {
		r := a.WorkerDispatch
		require.Equal(t, workflow.StageSettle, r.Stage)
		require.Equal(t, capability.ActionSettle, r.Action)
		require.Equal(t, capability.StatusSucceeded, *r.Outcome.Status)
		require.Equal(t, capability.ModeDispatched, r.Outcome.ExecutionMode)
		require.Equal(t, capability.GateClosed, r.IndependenceGate)
		require.Equal(t, "2.0", r.SessionIdentity.ToolVersion)
		require.Contains(t, r.Outcome.AuthorizationReceipts, "decision/7")
	}
	require.Equal(t, workflow.StageSettle, d.WorkerDispatch.Stage)
	b.sound()
}
