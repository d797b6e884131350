// The gauges on a real database.

package worker_test

import (
	"testing"
	"time"

	"countersign/contracts/workflow"
	"countersign/store"
	"countersign/store/storetest"

	"github.com/stretchr/testify/require"
)

func TestGaugesCountWhatIsOpen(t *testing.T) {
	t.Parallel()
	s := storetest.NewScene(t)
	g, err := s.Store.Gauges(t.Context())
	require.NoError(t, err)
	require.Equal(t, store.Gauges{Active: map[workflow.Phase]int64{}}, g)
	d, err := s.Dispatch(t, s.Spec(s.AddTask(t)), 10*time.Millisecond, time.Minute)
	require.NoError(t, err)
	g, err = s.Store.Gauges(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[workflow.Phase]int64{workflow.PhaseOffered: 1}, g.Active)
	require.EqualValues(t, 1, g.Offered)
	require.EqualValues(t, 1, g.OutboxWaiting)
	require.NoError(t, s.Store.StartSent(t.Context(), d.WorkflowID))
	_, err = s.Store.CommitNext(t.Context(), d.WorkflowID, workflow.Command{Kind: workflow.CommandClaim, ExecutionID: s.OfferedExecution(t), ClaimID: "c", Actor: s.Node.ID})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		g, err = s.Store.Gauges(t.Context())
		return err == nil && g.Expired == 1
	}, 10*time.Second, 10*time.Millisecond)
	require.EqualValues(t, 1, g.Live)
	require.Zero(t, g.OutboxWaiting)
	require.Zero(t, g.OutboxOldest)
}
