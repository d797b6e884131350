// Time-outs of the attempt's activity, injected in Temporal's test environment: it never times out a
// pending asynchronous activity itself. The commits run on a real PostgreSQL.

package workflows_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"countersign/activities"
	contract "countersign/contracts/workflow"
	"countersign/store"
	"countersign/store/storetest"
	"countersign/workflows"

	"github.com/google/uuid"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// callback takes an update's outcome in the test environment.
type callback struct {
	t    *testing.T
	done func(store.Outcome)
}

func (c callback) Accept()          {}
func (c callback) Reject(err error) { require.NoError(c.t, err) }
func (c callback) Complete(v any, err error) {
	require.NoError(c.t, err)
	c.done(v.(store.Outcome))
}

func TestTimeOuts(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]enums.TimeoutType{
		"heartbeat":         enums.TIMEOUT_TYPE_HEARTBEAT,
		"start to close":    enums.TIMEOUT_TYPE_START_TO_CLOSE,
		"schedule to close": enums.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE,
		"schedule to start": enums.TIMEOUT_TYPE_SCHEDULE_TO_START,
	} {
		for state, lease := range map[string]time.Duration{"expired": 20 * time.Millisecond, "not expired": 90 * time.Second} {
			t.Run(name+"/"+state, func(t *testing.T) {
				t.Parallel()
				s := storetest.NewScene(t)
				d, err := s.Dispatch(t, s.Spec(s.AddTask(t)), lease, 15*time.Minute)
				require.NoError(t, err)
				var suite testsuite.WorkflowTestSuite
				suite.SetLogger(slog.New(slog.DiscardHandler))
				env := suite.NewTestWorkflowEnvironment()
				client := &mocks.Client{} // completing the attempt's activity has nothing to complete here
				client.On("CompleteActivityByID", mock.Anything, mock.Anything, mock.Anything, mock.Anything, mock.Anything, mock.Anything, mock.Anything).Return(nil).Maybe()
				a := &activities.Activities{Store: s.Store, Temporal: activities.Temporal{Client: client, Namespace: "default"}, Log: slog.New(slog.DiscardHandler)}
				for name, f := range map[string]any{
					activities.NameWork: a.Work, activities.NameVerify: a.Verify, activities.NameCommit: a.Commit,
					activities.NameAdopt: a.Adopt, activities.NameSteps: a.Steps,
				} {
					env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
				}
				env.RegisterWorkflowWithOptions(workflows.RevisionWorkflow, workflow.RegisterOptions{Name: workflows.TypeRevision})
				armed := 0
				env.OnActivity(activities.NameWork, mock.Anything, mock.Anything).Return(
					func(_ context.Context, _ activities.AttemptInput) (contract.Ended, error) {
						armed++
						if armed > 1 {
							return contract.Ended{}, activity.ErrResultPending
						}
						waitExpired(t, s, lease)
						return contract.Ended{}, temporal.NewTimeoutError(kind, nil)
					})
				env.RegisterDelayedCallback(func() {
					env.UpdateWorkflow(workflows.UpdateClaim, uuid.NewString(), callback{t, func(out store.Outcome) {
						require.NotNil(t, out.Step)
					}}, contract.Command{Kind: contract.CommandClaim, ExecutionID: s.OfferedExecution(t), ClaimID: "c", Actor: s.Node.ID})
				}, time.Millisecond)
				// A revision that was armed again goes on; a cancel ends the test's wait for it.
				env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)
				env.ExecuteWorkflow(workflows.TypeRevision, workflows.Input{WorkflowID: d.WorkflowID})
				require.True(t, env.IsWorkflowCompleted())
				detail, err := s.Store.Detail(t.Context(), s.Owner, d.WorkflowID, 0, 100)
				require.NoError(t, err)
				kinds := []contract.EntryKind{}
				for _, h := range detail.History {
					kinds = append(kinds, h.Kind)
				}
				if state == "expired" {
					require.Equal(t, []contract.EntryKind{"dispatched", "offered", "claimed", "interrupted", "blocked"}, kinds)
					require.Equal(t, contract.ReasonLeaseExpired, *detail.Reason)
					return
				}
				require.Equal(t, []contract.EntryKind{"dispatched", "offered", "claimed", "rearmed", "cancelled"}, kinds)
				require.Equal(t, 2, armed)
			})
		}
	}
}

func waitExpired(t *testing.T, s *storetest.Scene, lease time.Duration) {
	t.Helper()
	if lease > time.Second {
		return
	}
	require.Eventually(t, func() bool {
		list, err := s.Store.ExpiredExecutions(t.Context(), 0, 10)
		return err == nil && len(list) == 1
	}, 20*time.Second, 5*time.Millisecond)
}
