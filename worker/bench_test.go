// How many whole life cycles a second: through Temporal, and as transactions alone.

package worker_test

import (
	"context"
	"log/slog"
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

// BenchmarkLifeCycle takes tasks from dispatch to acceptance, eight at a time: seven commands each.
// Compare its two results with each other; both depend on the machine.
func BenchmarkLifeCycle(b *testing.B) {
	b.Run("transactions alone", func(b *testing.B) {
		s := storetest.NewScene(b)
		lifeCycles(b, s, func(id string, c workflow.Command) (store.Outcome, error) {
			return s.Store.CommitNext(b.Context(), id, c)
		})
	})
	b.Run("through Temporal", func(b *testing.B) {
		s := storetest.NewScene(b)
		c, err := client.Dial(client.Options{HostPort: localstack.TemporalAddress(b), Logger: slog.New(slog.DiscardHandler)})
		require.NoError(b, err)
		b.Cleanup(c.Close)
		g := &workflows.Gateway{
			Temporal: activities.Temporal{Client: c, Namespace: client.DefaultNamespace}, Store: s.Store,
			TaskQueue: "bench-" + uuid.NewString(), Log: slog.New(slog.DiscardHandler),
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() {
			done <- worker.Run(ctx, worker.Options{Store: s.Store, Temporal: g.Temporal, TaskQueue: g.TaskQueue, Log: slog.New(slog.DiscardHandler)})
		}()
		b.Cleanup(func() { cancel(); require.NoError(b, <-done) })
		lifeCycles(b, s, func(id string, c workflow.Command) (store.Outcome, error) { return g.Do(b.Context(), id, c) })
	})
}

func lifeCycles(b *testing.B, s *storetest.Scene, do func(string, workflow.Command) (store.Outcome, error)) {
	b.ResetTimer()
	start := time.Now()
	b.SetParallelism(4)
	b.RunParallel(func(pb *testing.PB) {
		node, _ := s.AddNode(b)
		for pb.Next() {
			lifeCycle(b, s, node, do)
		}
	})
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "cycles/s")
}

func lifeCycle(b *testing.B, s *storetest.Scene, node workflow.Node, do func(string, workflow.Command) (store.Outcome, error)) {
	spec := s.Spec(s.AddTask(b))
	spec.BridgeID = node.ID
	d, err := s.Dispatch(b, spec, 90*time.Second, 15*time.Minute)
	require.NoError(b, err)
	work := d.WorkflowID
	var worked string
	for _, purpose := range []workflow.Purpose{workflow.PurposeWork, workflow.PurposeVerify} {
		offers, err := s.Store.Offers(b.Context(), node.ID)
		require.NoError(b, err)
		out, err := do(work, workflow.Command{Kind: workflow.CommandClaim, ExecutionID: offers[0].ExecutionID, ClaimID: "c", Actor: node.ID})
		require.NoError(b, err)
		a := out.Step.Active
		session := uuid.NewString()
		send := func(sequence int, e workflow.Event) store.Outcome {
			e.Fence, e.Sequence = workflow.Fence{LeaseID: a.LeaseID, FencingToken: a.FencingToken}, sequence
			digest, body := canonjson.BodyDigest(marshal(b, e))
			require.NoError(b, s.Store.StageEvent(b.Context(), digest, body))
			out, err := do(work, workflow.Command{Kind: workflow.CommandEvent, ExecutionID: a.ExecutionID, Sequence: sequence, BodySHA256: digest, Actor: node.ID})
			require.NoError(b, err)
			return out
		}
		send(1, workflow.Event{State: workflow.EventPreparing})
		send(2, workflow.Event{State: workflow.EventRunning, ProviderSessionID: &session})
		end := workflow.Event{
			State: workflow.EventCompleted, ProviderSessionID: &session, ExitCode: ptr(0), ResultCommit: &storetest.BaseCommit,
			EvidencePath: ptr("e/run.json"), CleanWorkspace: ptr(true),
		}
		if purpose == workflow.PurposeWork {
			worked = a.ExecutionID
			send(3, end)
			continue
		}
		detail, err := s.Store.Detail(b.Context(), s.Owner, work, 0, 1)
		require.NoError(b, err)
		end.Verdict = &workflow.Verdict{
			ContractDigest: detail.ContractDigest, CandidateCommit: storetest.BaseCommit, WorkerExecutionID: worked, VerifierExecutionID: a.ExecutionID,
		}
		for _, c := range spec.Criteria {
			end.Verdict.Results = append(end.Verdict.Results, workflow.VerdictResult{CriterionID: c.ID, Outcome: workflow.CriterionPass, EvidencePath: "e/run.json", Feedback: "Seen."})
		}
		require.Equal(b, workflow.PhaseAccepted, send(3, end).Step.Phase)
	}
}

func marshal(b *testing.B, v any) []byte {
	b.Helper()
	data, err := canonjson.Marshal(v)
	require.NoError(b, err)
	return data
}
