// What is left of a revision when a process dies at the worst moment, and how it goes on.

package api_test

import (
	"net/http"
	"testing"
	"time"

	"countersign/activities"
	"countersign/api/apitest"
	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/workflow"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// committed is a command that reached PostgreSQL and whose workflow task was lost: what a worker, an
// API and a Temporal that all died right after COMMIT leave behind.
func committed(t *testing.T, s *apitest.Stack, workflowID string, c workflow.Command) workflow.Step {
	t.Helper()
	out, err := s.Store.CommitNext(t.Context(), workflowID, c)
	require.NoError(t, err)
	require.NotNil(t, out.Step, "%v", out.Refusal)
	return *out.Step
}

// forgetful are the ways in which a run may not know what was committed. The revision is dispatched,
// then committed on, and the run is brought to where it knows nothing of it.
var forgetful = map[string]struct {
	dispatch func(t *testing.T, s *apitest.Stack) workflow.Detail
	forget   func(t *testing.T, s *apitest.Stack, workflowID string)
}{
	"running": {
		func(_ *testing.T, s *apitest.Stack) workflow.Detail { return s.DispatchTask() },
		func(*testing.T, *apitest.Stack, string) {},
	},
	"never started": {
		func(t *testing.T, s *apitest.Stack) workflow.Detail {
			d, err := s.Dispatch(t, s.Spec(s.AddTask(t)), 90*time.Second, 15*time.Minute)
			require.NoError(t, err)
			return apitest.Into[workflow.Detail](t, http.StatusOK, s.Operator("GET", "/v1/workflows/"+d.WorkflowID, nil))
		},
		func(*testing.T, *apitest.Stack, string) {},
	},
	"reset": {
		func(_ *testing.T, s *apitest.Stack) workflow.Detail { return s.DispatchTask() },
		reset,
	},
}

func deleteWorkflow(t *testing.T, s *apitest.Stack, id string) {
	t.Helper()
	_, err := s.Temporal.WorkflowService().DeleteWorkflowExecution(t.Context(), &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: client.DefaultNamespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: activities.TemporalID(id)},
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool { // the server takes about half a minute
		_, err := s.Temporal.DescribeWorkflow(t.Context(), activities.TemporalID(id), "")
		return err != nil
	}, 2*time.Minute, 100*time.Millisecond)
}

// reset takes the workflow back to its first task, as the UI's reset does.
func reset(t *testing.T, s *apitest.Stack, id string) {
	t.Helper()
	eventually(t, "the first task completes", func() bool {
		_, err := s.Temporal.ResetWorkflowExecution(t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
			Namespace: client.DefaultNamespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: activities.TemporalID(id)},
			Reason: "test", WorkflowTaskFinishEventId: 4, RequestId: uuid.NewString(),
			ResetReapplyExcludeTypes: []enumspb.ResetReapplyExcludeType{enumspb.RESET_REAPPLY_EXCLUDE_TYPE_UPDATE},
		})
		if err != nil {
			t.Log(err)
		}
		return err == nil
	})
}

func TestACommittedClaimWhoseTaskWasLostIsFoldedIn(t *testing.T) {
	t.Parallel()
	for way, lose := range forgetful {
		for name, next := range map[string]func(t *testing.T, s *apitest.Stack, h *apitest.Held){
			"renew": func(t *testing.T, _ *apitest.Stack, h *apitest.Held) {
				r := apitest.Into[workflow.RenewAnswer](t, http.StatusOK, renew(h))
				require.Equal(t, 90*time.Second, r.LeaseExpiresAt.Sub(r.ServerTime))
			},
			"next event": func(t *testing.T, _ *apitest.Stack, h *apitest.Held) {
				require.Equal(t, http.StatusOK, preparing(h).Status)
				h.Sequence--
			},
			"rival claim": func(t *testing.T, _ *apitest.Stack, h *apitest.Held) {
				apitest.Refused(t, http.StatusConflict, contracts.CodeAlreadyClaimed, h.Post("claim", workflow.ClaimRequest{ClaimID: uuid.NewString()}))
			},
		} {
			t.Run(way+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := apitest.New(t, apitest.Options{NoRelay: true})
				d := lose.dispatch(t, s)
				claimID := uuid.NewString()
				committed(t, s, d.WorkflowID, workflow.Command{
					Kind: workflow.CommandClaim, ExecutionID: d.ActiveAttempt.ExecutionID, ClaimID: claimID, Actor: s.Node.ID,
				})
				lose.forget(t, s, d.WorkflowID)
				h := s.Hold(d.ActiveAttempt.ExecutionID, claimID)
				next(t, s, h)
				if name != "next event" {
					require.Equal(t, http.StatusOK, preparing(h).Status)
				} else {
					h.Sequence++
				}
				require.Equal(t, http.StatusOK, renew(h).Status)
				require.Equal(t, http.StatusOK, h.Event(workflow.Event{State: workflow.EventRunning, ProviderSessionID: &h.Session}).Status)
				require.Equal(t, http.StatusOK, h.Event(h.Completed(candidate)).Status)
				s.Verify()
				after := s.Detail(d.TaskID)
				require.Equal(t, workflow.PhaseAccepted, after.Phase)
				require.Len(t, after.Attempts, 2, "nothing is doubled")
				sound(t, s)
			})
		}
	}
}

func TestACommittedResultWhoseTaskWasLostIsFoldedIn(t *testing.T) {
	t.Parallel()
	for way, lose := range forgetful {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t, apitest.Options{NoRelay: true})
			d := lose.dispatch(t, s)
			claimID := uuid.NewString()
			commit := func(c workflow.Command) { committed(t, s, d.WorkflowID, c) }
			commit(workflow.Command{Kind: workflow.CommandClaim, ExecutionID: d.ActiveAttempt.ExecutionID, ClaimID: claimID, Actor: s.Node.ID})
			h := s.Hold(d.ActiveAttempt.ExecutionID, claimID)
			send := func(e workflow.Event) {
				h.Sequence++
				e.Fence, e.Sequence = h.Fence(), h.Sequence
				body, err := canonjson.Marshal(e)
				require.NoError(t, err)
				digest := canonjson.Digest(body)
				require.NoError(t, s.Store.StageEvent(t.Context(), digest, body))
				commit(workflow.Command{Kind: workflow.CommandEvent, ExecutionID: h.ExecutionID, Sequence: e.Sequence, BodySHA256: digest, Actor: s.Node.ID})
			}
			send(workflow.Event{State: workflow.EventPreparing})
			send(workflow.Event{State: workflow.EventRunning, ProviderSessionID: &h.Session})
			send(h.Completed(candidate))
			lose.forget(t, s, d.WorkflowID)
			h.Sequence--
			require.Equal(t, http.StatusOK, h.Event(h.Completed(candidate)).Status, "the node's repetition gets the recorded answer")
			s.Verify()
			require.Equal(t, workflow.PhaseAccepted, s.Detail(d.TaskID).Phase)
			closes(t, s, d.WorkflowID)
			sound(t, s)
		})
	}
}

func TestACommittedEndWhoseTaskWasLostClosesTheWorkflow(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	d := s.DispatchTask()
	s.Claim()
	committed(t, s, d.WorkflowID, workflow.Command{Kind: workflow.CommandCancel, Actor: "owner"})
	require.Equal(t, workflow.PhaseCancelled, s.Detail(d.TaskID).Phase)
	closes(t, s, d.WorkflowID)
	sound(t, s)
}

func TestAnExpiryWhoseActivityNeverStartedIsSwept(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Lease: 500 * time.Millisecond})
	d := s.DispatchTask()
	for _, w := range s.Workers {
		w.Stop()
	}
	committed(t, s, d.WorkflowID, workflow.Command{
		Kind: workflow.CommandClaim, ExecutionID: d.ActiveAttempt.ExecutionID, ClaimID: "c", Actor: s.Node.ID,
	})
	for _, w := range s.Workers {
		w.Start()
	}
	eventually(t, "blocked", func() bool { return s.Detail(d.TaskID).Phase == workflow.PhaseBlocked })
	require.Equal(t, workflow.ReasonLeaseExpired, *s.Detail(d.TaskID).Reason)
	sound(t, s)
}

func TestALostStartIsRelayed(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Workers: 2})
	d, err := s.Dispatch(t, s.Spec(s.AddTask(t)), 90*time.Second, 15*time.Minute) // committed, never started
	require.NoError(t, err)
	eventually(t, "started by the relay", func() bool {
		live, err := s.Gateway.Live(t.Context(), d.WorkflowID)
		return err == nil && live.Phase == workflow.PhaseOffered
	})
	s.Work(candidate)
	s.Verify()
	sound(t, s)
}

func TestAWorkerThatComesBackGoesOn(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	d := s.DispatchTask()
	h := s.Claim()
	preparing(h)
	for _, w := range s.Workers {
		w.Stop()
	}
	require.Equal(t, http.StatusOK, renew(h).Status, "a renewal needs no worker")
	for _, w := range s.Workers {
		w.Start()
	}
	require.Equal(t, http.StatusOK, h.Event(workflow.Event{State: workflow.EventRunning, ProviderSessionID: &h.Session}).Status)
	require.Equal(t, http.StatusOK, h.Event(h.Completed(candidate)).Status)
	s.Verify()
	require.Equal(t, workflow.PhaseAccepted, s.Detail(d.TaskID).Phase)
}

func TestACancellationInTemporalIsACancel(t *testing.T) {
	t.Parallel()
	for name, claimed := range map[string]bool{"offered": false, "claimed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t, apitest.Options{})
			d := s.DispatchTask()
			if claimed {
				s.Claim()
			}
			require.NoError(t, s.Temporal.CancelWorkflow(t.Context(), activities.TemporalID(d.WorkflowID), ""))
			eventually(t, "cancelled", func() bool { return s.Detail(d.TaskID).Phase == workflow.PhaseCancelled })
			history := s.Detail(d.TaskID).History
			require.Contains(t, string(history[len(history)-1].Data), "temporal-ui")
			sound(t, s)
		})
	}
}

// TestACancellationWhileACommitWaits: a commit that has begun is never cancelled.
func TestACancellationWhileACommitWaits(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	d := s.DispatchTask()
	tx, err := s.Pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `SELECT FROM tasks WHERE id = $1 FOR UPDATE`, d.TaskID)
	require.NoError(t, err)
	claimed := make(chan apitest.Answer, 1)
	go func() {
		claimed <- apitest.Call(t, "POST", s.URL, "/bridge/v1/executions/"+d.ActiveAttempt.ExecutionID+"/claim", s.NodeToken, workflow.ClaimRequest{ClaimID: "c"})
	}()
	eventually(t, "the claim's commit waits for the lock", func() bool {
		var waiting int
		require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting))
		return waiting > 0
	})
	require.NoError(t, s.Temporal.CancelWorkflow(t.Context(), activities.TemporalID(d.WorkflowID), ""))
	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, http.StatusOK, (<-claimed).Status)
	eventually(t, "then cancelled", func() bool { return s.Detail(d.TaskID).Phase == workflow.PhaseCancelled })
	kinds := []workflow.EntryKind{}
	for _, h := range s.Detail(d.TaskID).History {
		kinds = append(kinds, h.Kind)
	}
	require.Equal(t, []workflow.EntryKind{"dispatched", "offered", "claimed", "cancelled"}, kinds)
	closes(t, s, d.WorkflowID)
	sound(t, s)
}

func TestATerminatedWorkflowIsLost(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	task := s.AddTask(t)
	d := s.DispatchSpec(s.Spec(task))
	require.NoError(t, s.Temporal.TerminateWorkflow(t.Context(), activities.TemporalID(d.WorkflowID), "", "test"))
	eventually(t, "blocked", func() bool { return s.Detail(task.ID).Phase == workflow.PhaseBlocked })
	require.Equal(t, workflow.ReasonOrchestrationLost, *s.Detail(task.ID).Reason)
	s.DispatchSpec(s.Spec(task))
	sound(t, s)
}

// TestDispatchAfterTheWorkflowIsForgotten: the key is PostgreSQL's, for ever.
func TestDispatchAfterTheWorkflowIsForgotten(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	request := workflow.DispatchRequest{Spec: s.Spec(s.AddTask(t)), WriteContext: s.WriteContext()}
	first := apitest.Into[workflow.Detail](t, http.StatusCreated, s.Operator("POST", "/v1/workflows", request))
	s.Work(candidate)
	s.Verify()
	closes(t, s, first.WorkflowID)
	deleteWorkflow(t, s, first.WorkflowID)
	replay := apitest.Into[workflow.Detail](t, http.StatusOK, s.Operator("POST", "/v1/workflows", request))
	require.Equal(t, first.WorkflowID, replay.WorkflowID)
	require.Equal(t, workflow.PhaseAccepted, replay.Phase)
	apitest.Refused(t, http.StatusConflict, contracts.CodeNotRunning, s.Operator("GET", "/v1/workflows/"+first.WorkflowID+"/live", nil))
	closed, err := s.Gateway.Closed(t.Context(), first.WorkflowID)
	require.NoError(t, err)
	require.True(t, closed, "no new workflow was started")
}
