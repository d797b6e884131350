// The worker on a real PostgreSQL and a real Temporal, driven through the gateway.

package worker_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"countersign/activities"
	"countersign/contracts/canonjson"
	"countersign/contracts/workflow"
	"countersign/store"
	"countersign/store/storetest"
	"countersign/tools/localstack"
	"countersign/worker"
	"countersign/workflows"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
)

// rig is a scene with a gateway and a worker that can be stopped and started.
type rig struct {
	*storetest.Scene
	t       *testing.T
	client  client.Client
	gateway *workflows.Gateway
	stop    func()
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{Scene: storetest.NewScene(t), t: t}
	var err error
	r.client, err = client.Dial(client.Options{HostPort: localstack.TemporalAddress(t), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(r.client.Close)
	r.gateway = &workflows.Gateway{Temporal: activities.Temporal{Client: r.client, Namespace: client.DefaultNamespace}, Store: r.Store, TaskQueue: "test-" + uuid.NewString(), Log: slog.New(slog.DiscardHandler)}
	r.startWorker()
	t.Cleanup(func() { r.stop() })
	return r
}

func (r *rig) startWorker() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- worker.Run(ctx, worker.Options{
			Store: r.Store, Temporal: r.gateway.Temporal, TaskQueue: r.gateway.TaskQueue, Log: slog.New(slog.DiscardHandler),
			SweepEvery: 200 * time.Millisecond, RelayEvery: 100 * time.Millisecond, LostAfter: time.Second, CloseAfter: time.Second,
		})
	}()
	r.stop = func() {
		cancel()
		require.NoError(r.t, <-done)
		r.stop = func() {}
	}
}

func (r *rig) dispatch(lease, deadline time.Duration) store.Dispatched {
	r.t.Helper()
	d, err := r.Dispatch(r.t, r.Spec(r.AddTask(r.t)), lease, deadline)
	require.NoError(r.t, err)
	return d
}

func (r *rig) do(workflowID string, c workflow.Command) store.Outcome {
	r.t.Helper()
	out, err := r.gateway.Do(r.t.Context(), workflowID, c)
	require.NoError(r.t, err)
	return out
}

func (r *rig) claim(workflowID string) *workflow.Attempt {
	r.t.Helper()
	out := r.do(workflowID, workflow.Command{Kind: workflow.CommandClaim, ExecutionID: r.OfferedExecution(r.t), ClaimID: uuid.NewString(), Actor: r.Node.ID})
	require.NotNil(r.t, out.Step, "%v", out.Refusal)
	return out.Step.Active
}

func (r *rig) event(workflowID string, a *workflow.Attempt, sequence int, e workflow.Event) store.Outcome {
	r.t.Helper()
	e.Fence, e.Sequence = workflow.Fence{LeaseID: a.LeaseID, FencingToken: a.FencingToken}, sequence
	require.NoError(r.t, workflow.Validate(&e))
	body, err := canonjson.Marshal(e)
	require.NoError(r.t, err)
	digest := canonjson.Digest(body)
	require.NoError(r.t, r.Store.StageEvent(r.t.Context(), digest, body))
	return r.do(workflowID, workflow.Command{Kind: workflow.CommandEvent, ExecutionID: a.ExecutionID, Sequence: sequence, BodySHA256: digest, Actor: r.Node.ID})
}

func (r *rig) detail(workflowID string) workflow.Detail {
	r.t.Helper()
	d, err := r.Store.Detail(r.t.Context(), r.Owner, workflowID, 0, 100)
	require.NoError(r.t, err)
	return d
}

func ptr[T any](v T) *T { return &v }

func (r *rig) run(workflowID string, commit string, verdict func(*workflow.Attempt) *workflow.Verdict) store.Outcome {
	r.t.Helper()
	a := r.claim(workflowID)
	session := uuid.NewString()
	r.event(workflowID, a, 1, workflow.Event{State: workflow.EventPreparing})
	r.event(workflowID, a, 2, workflow.Event{State: workflow.EventRunning, ProviderSessionID: &session})
	e := workflow.Event{
		State: workflow.EventCompleted, ProviderSessionID: &session, ExitCode: ptr(0), ResultCommit: &commit,
		EvidencePath: ptr("evidence/run.json"), CleanWorkspace: ptr(true),
	}
	if verdict != nil {
		e.Verdict = verdict(a)
	}
	return r.event(workflowID, a, 3, e)
}

// verdict judges the candidate of a revision, failing the criteria named.
func (r *rig) verdict(workflowID string, failing ...string) func(*workflow.Attempt) *workflow.Verdict {
	return func(a *workflow.Attempt) *workflow.Verdict {
		d := r.detail(workflowID)
		v := &workflow.Verdict{
			ContractDigest: d.ContractDigest, CandidateCommit: *d.CandidateCommit,
			WorkerExecutionID: d.Attempts[len(d.Attempts)-2].ExecutionID, VerifierExecutionID: a.ExecutionID,
		}
		for _, id := range []string{"builds", "tests"} {
			outcome := workflow.CriterionPass
			if slices.Contains(failing, id) {
				outcome = workflow.CriterionFail
			}
			v.Results = append(v.Results, workflow.VerdictResult{CriterionID: id, Outcome: outcome, EvidencePath: "evidence/run.json", Feedback: "Seen."})
		}
		return v
	}
}

func TestARevisionRunsToItsReceipt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := r.dispatch(90*time.Second, 15*time.Minute)
	require.NoError(t, r.gateway.Start(t.Context(), d.Start))
	out := r.run(d.WorkflowID, storetest.BaseCommit, nil)
	require.Equal(t, workflow.PhaseAwaitingVerification, out.Step.Phase)
	live, err := r.gateway.Live(t.Context(), d.WorkflowID)
	require.NoError(t, err)
	require.Equal(t, workflow.PhaseAwaitingVerification, live.Phase)
	out = r.run(d.WorkflowID, storetest.BaseCommit, r.verdict(d.WorkflowID))
	require.Equal(t, workflow.PhaseAccepted, out.Step.Phase)
	require.NoError(t, r.client.GetWorkflow(t.Context(), "revision/"+d.WorkflowID, "").Get(t.Context(), nil))
}

func TestALostLeaseBlocksWithoutACall(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := r.dispatch(time.Second, 15*time.Minute)
	a := r.claim(d.WorkflowID)
	require.Eventually(t, func() bool { return r.detail(d.WorkflowID).Phase == workflow.PhaseBlocked }, 15*time.Second, 20*time.Millisecond)
	detail := r.detail(d.WorkflowID)
	require.Equal(t, workflow.ReasonLeaseExpired, *detail.Reason)
	require.Less(t, detail.Attempts[0].EndedAt.Sub(a.LeaseExpiresAt), 5*time.Second)
}
