// Steps on a real PostgreSQL: atomic, replayable, decided by the database's clock.

package store_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/workflow"
	"countersign/store"
	"countersign/store/storetest"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

const (
	lease    = 90 * time.Second
	deadline = 15 * time.Minute
)

// driver plays one revision through the store as API and workflow would, without Temporal.
type driver struct {
	*storetest.Scene
	t     *testing.T
	id    string
	state workflow.State
	held  workflow.Fence
	exec  string
	sent  int
}

func newDriver(t *testing.T, lease, deadline time.Duration) *driver {
	t.Helper()
	s := storetest.NewScene(t)
	d, err := s.Dispatch(t, s.Spec(s.AddTask(t)), lease, deadline)
	require.NoError(t, err)
	run := &driver{Scene: s, t: t, id: d.WorkflowID}
	run.reload()
	return run
}

// reload builds the state from the recorded steps, as a workflow that adopts the revision does.
func (d *driver) reload() {
	d.t.Helper()
	a, err := d.Store.Adopt(d.t.Context(), d.id, "run")
	require.NoError(d.t, err)
	d.state = a.State
	for _, step := range a.Steps {
		d.state = workflow.Apply(d.state, step)
	}
	if d.state.Active != nil {
		d.exec = d.state.Active.ExecutionID
	}
}

func (d *driver) commit(c workflow.Command) store.Outcome {
	d.t.Helper()
	out, err := d.Store.Commit(d.t.Context(), d.id, d.state.Sequence+1, c)
	require.NoError(d.t, err)
	if out.Step != nil && out.Step.First == d.state.Sequence+1 {
		d.state = workflow.Apply(d.state, *out.Step)
	}
	return out
}

func (d *driver) claim() store.Outcome {
	d.t.Helper()
	d.exec = d.OfferedExecution(d.t)
	out := d.commit(workflow.Command{Kind: workflow.CommandClaim, ExecutionID: d.exec, ClaimID: uuid.NewString(), Actor: d.Node.ID})
	require.NotNil(d.t, out.Step)
	d.held = workflow.Fence{LeaseID: out.Step.Active.LeaseID, FencingToken: out.Step.Active.FencingToken}
	d.sent = 0
	return out
}

// event sends the next event of the claimed attempt.
func (d *driver) event(e workflow.Event) store.Outcome {
	d.t.Helper()
	d.sent++
	e.Fence, e.Sequence = d.held, d.sent
	return d.commit(d.command(e))
}

func (d *driver) command(e workflow.Event) workflow.Command {
	d.t.Helper()
	require.NoError(d.t, workflow.Validate(&e))
	body, err := canonjson.Marshal(e)
	require.NoError(d.t, err)
	digest := canonjson.Digest(body)
	require.NoError(d.t, d.Store.StageEvent(d.t.Context(), digest, body))
	return workflow.Command{Kind: workflow.CommandEvent, ExecutionID: d.exec, Sequence: e.Sequence, BodySHA256: digest, Actor: d.Node.ID}
}

func ptr[T any](v T) *T { return &v }

var (
	candidate = strings.Repeat("c0", 20)
	session   = func() *string { return ptr(uuid.NewString()) }
)

// runTo takes a claimed attempt to running and returns its provider session.
func (d *driver) runTo() *string {
	d.t.Helper()
	s := session()
	require.NotNil(d.t, d.event(workflow.Event{State: workflow.EventPreparing}).Step)
	require.NotNil(d.t, d.event(workflow.Event{State: workflow.EventRunning, ProviderSessionID: s}).Step)
	return s
}

func completed(s *string, commit string) workflow.Event {
	return workflow.Event{
		State: workflow.EventCompleted, ProviderSessionID: s, ExitCode: ptr(0), ResultCommit: &commit,
		EvidencePath: ptr("evidence/run.json"), CleanWorkspace: ptr(true),
	}
}

// work runs one work attempt to its candidate.
func (d *driver) work(commit string) {
	d.t.Helper()
	d.claim()
	out := d.event(completed(d.runTo(), commit))
	require.Equal(d.t, workflow.PhaseAwaitingVerification, out.Step.Phase)
}

// verdict is a valid one for the live verification, failing the criteria named.
func (d *driver) verdict(failing ...string) *workflow.Verdict {
	v := &workflow.Verdict{
		ContractDigest: d.state.ContractDigest, CandidateCommit: d.state.CandidateCommit,
		WorkerExecutionID: d.state.WorkerExecutionID, VerifierExecutionID: d.exec,
	}
	for _, id := range []string{"builds", "tests"} {
		outcome := workflow.CriterionPass
		for _, f := range failing {
			if f == id {
				outcome = workflow.CriterionFail
			}
		}
		v.Results = append(v.Results, workflow.VerdictResult{CriterionID: id, Outcome: outcome, EvidencePath: "evidence/" + id + ".json", Feedback: "Seen."})
	}
	return v
}

// verify runs one verification to its verdict.
func (d *driver) verify(failing ...string) store.Outcome {
	d.t.Helper()
	d.claim()
	e := completed(d.runTo(), d.state.CandidateCommit)
	e.Verdict = d.verdict(failing...)
	return d.event(e)
}

// same holds the machine's memory to what the rows say.
func (d *driver) same() {
	d.t.Helper()
	have := d.state
	d.reload()
	require.Equal(d.t, d.state, have)
	detail, err := d.Store.Detail(d.t.Context(), d.Owner, d.id, 0, 100)
	require.NoError(d.t, err)
	require.Equal(d.t, have.Phase, detail.Phase)
	require.Len(d.t, detail.History, have.Sequence)
	require.Equal(d.t, have.Active == nil, detail.ActiveAttempt == nil)
}

func TestWholeLifeToAcceptance(t *testing.T) {
	t.Parallel()
	d := newDriver(t, lease, deadline)
	d.work(candidate)
	d.same()
	out := d.verify()
	require.Equal(t, workflow.PhaseAccepted, out.Step.Phase)
	d.same()

	task, err := d.Store.Task(t.Context(), d.Owner.User, d.state.TaskID)
	require.NoError(t, err)
	require.Equal(t, workflow.TaskDone, task.Status)
	require.Equal(t, 2, task.Version)
	receipt, err := d.Store.TaskReceipt(t.Context(), d.Owner, d.state.TaskID)
	require.NoError(t, err)
	require.Equal(t, d.state.ReceiptID, receipt.ReceiptID)
	require.Equal(t, candidate, *receipt.CandidateCommit)

	detail, err := d.Store.TaskDetail(t.Context(), d.Owner, d.state.TaskID, 0, 100)
	require.NoError(t, err)
	require.Equal(t, canonjson.Digest(detail.Contract), detail.ContractDigest)
	kinds := []workflow.EntryKind{}
	for _, h := range detail.History {
		kinds = append(kinds, h.Kind)
	}
	require.Equal(t, []workflow.EntryKind{"dispatched", "offered", "claimed", "preparing", "running", "completed", "offered",
		"claimed", "preparing", "running", "completed", "verdict", "accepted"}, kinds)
}

func TestCorrectionWithinTheBudget(t *testing.T) {
	t.Parallel()
	d := newDriver(t, lease, deadline)
	d.work(candidate)
	out := d.verify("tests")
	require.Equal(t, workflow.PhaseOffered, out.Step.Phase)
	require.True(t, out.Step.Has(workflow.EntryChangesRequested))
	require.Equal(t, candidate, out.Step.Active.BaseCommit, "a correction starts at the rejected candidate")
	d.same()
	d.claim()
	plan, _, err := d.Store.Plan(t.Context(), d.exec)
	require.NoError(t, err)
	require.Equal(t, candidate, plan.BaseCommit)
	require.Len(t, plan.Workflow.Feedback, 2)
	second := strings.Repeat("d1", 20)
	d.event(completed(d.runTo(), second))
	require.Equal(t, second, d.state.CandidateCommit)
	out = d.verify("builds")
	require.Equal(t, workflow.PhaseBlocked, out.Step.Phase)
	require.Equal(t, workflow.ReasonWorkBudgetExhausted, out.Step.Reason)
	d.same()
}

func TestTwinCommandsMakeOneStep(t *testing.T) {
	t.Parallel()
	d := newDriver(t, lease, deadline)
	exec := d.OfferedExecution(t)
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		seen = map[string]int{}
	)
	for i := range 12 {
		wg.Go(func() {
			claim := "same"
			if i%2 == 1 {
				claim = uuid.NewString()
			}
			out, err := d.Store.CommitNext(t.Context(), d.id, workflow.Command{Kind: workflow.CommandClaim, ExecutionID: exec, ClaimID: claim, Actor: d.Node.ID})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				t.Errorf("claim: %v", err)
			case out.Step != nil:
				seen[out.Step.Active.LeaseID]++
			default:
				seen[string(out.Refusal.Code)]++
			}
		})
	}
	wg.Wait()
	require.Len(t, seen, 2, "%v", seen)
	require.Contains(t, seen, string(contracts.CodeAlreadyClaimed))
	d.reload()
	require.Equal(t, 3, d.state.Sequence)
}

func TestCommitAtATakenPlaceReturnsWhatIsThere(t *testing.T) {
	t.Parallel()
	d := newDriver(t, lease, deadline)
	n := d.state.Sequence + 1
	d.claim()
	out, err := d.Store.Commit(t.Context(), d.id, n, workflow.Command{Kind: workflow.CommandCancel, Actor: "owner"})
	require.NoError(t, err)
	require.Len(t, out.Behind, 1)
	require.True(t, out.Behind[0].Has(workflow.EntryClaimed))
	_, err = d.Store.Commit(t.Context(), d.id, n+5, workflow.Command{Kind: workflow.CommandCancel, Actor: "owner"})
	require.ErrorIs(t, err, store.ErrHistoryGap)
	d.same()
}

func TestARefusalLeavesNoTrace(t *testing.T) {
	t.Parallel()
	d := newDriver(t, lease, deadline)
	out := d.commit(workflow.Command{Kind: workflow.CommandReconcile, Actor: "owner"})
	require.Equal(t, contracts.CodeNothingToReconcile, out.Refusal.Code)
	d.claim()
	out = d.commit(workflow.Command{Kind: workflow.CommandReconcile, Actor: "owner"})
	require.Equal(t, contracts.CodeLeaseActive, out.Refusal.Code)
	d.same()
}

func TestAnExpiryIsRecordedUnderTheCallThatRanIntoIt(t *testing.T) {
	t.Parallel()
	d := newDriver(t, 50*time.Millisecond, deadline)
	d.claim()
	d.waitExpired()
	c := d.command(workflow.Event{Fence: d.held, Sequence: 1, State: workflow.EventPreparing})
	out := d.commit(c)
	require.Equal(t, contracts.CodeLeaseExpired, out.Step.Answer.Refusal.Code)
	require.Equal(t, workflow.ReasonLeaseExpired, d.state.Reason)
	again, found, err := d.Store.Recorded(t.Context(), d.id, c)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, out.Step.Answer, again.Answer)
	_, ok, err := d.Store.Renew(t.Context(), d.exec, d.held)
	require.NoError(t, err)
	require.False(t, ok, "a dead lease is never raised")
	d.same()
}

func (d *driver) waitExpired() {
	d.t.Helper()
	require.Eventually(d.t, func() bool {
		list, err := d.Store.ExpiredExecutions(d.t.Context(), 0, 10)
		return err == nil && len(list) == 1
	}, 10*time.Second, 10*time.Millisecond)
}

func TestSettlementArmsAgainWhatIsNotExpired(t *testing.T) {
	t.Parallel()
	d := newDriver(t, lease, deadline)
	d.claim()
	settle := workflow.Command{Kind: workflow.CommandSettle, ExecutionID: d.exec, ActivityID: d.exec, Actor: "temporal"}
	out := d.commit(settle)
	require.True(t, out.Step.Has(workflow.EntryRearmed))
	require.Equal(t, d.exec+"/2", d.state.Active.ActivityID)
	require.Nil(t, d.commit(workflow.Command{Kind: workflow.CommandExpire, ExecutionID: d.exec, ActivityID: d.exec + "/2", Actor: "sweeper"}).Step)
	require.NotNil(t, d.commit(settle).Step, "a replay returns the stored step")
	d.same()
}

func TestTheDeadlineIsNotMovedByRenewals(t *testing.T) {
	t.Parallel()
	d := newDriver(t, 300*time.Millisecond, 500*time.Millisecond)
	out := d.claim()
	end := out.Step.Active.DeadlineAt
	require.Equal(t, 500*time.Millisecond, end.Sub(out.Step.Active.ClaimedAt))
	require.Equal(t, 300*time.Millisecond, out.Step.Active.LeaseExpiresAt.Sub(out.Step.Active.ClaimedAt))
	require.Eventually(t, func() bool {
		r, ok, err := d.Store.Renew(t.Context(), d.exec, d.held)
		require.NoError(t, err)
		if ok {
			require.False(t, r.LeaseExpiresAt.After(end))
			require.True(t, r.DeadlineAt.Equal(end))
		}
		return !ok
	}, 10*time.Second, 20*time.Millisecond)
	out = d.commit(workflow.Command{Kind: workflow.CommandExpire, ExecutionID: d.exec, ActivityID: d.exec, Actor: "sweeper"})
	require.Equal(t, workflow.ReasonDeadlineExceeded, out.Step.Reason)
	d.same()
}

func TestANodeHasOneSlot(t *testing.T) {
	t.Parallel()
	s := storetest.NewScene(t)
	_, err := s.Dispatch(t, s.Spec(s.AddTask(t)), lease, deadline)
	require.NoError(t, err)
	_, err = s.Dispatch(t, s.Spec(s.AddTask(t)), lease, deadline)
	require.Equal(t, contracts.CodeNodeBusy, contracts.CodeOf(err))
}

func TestTwinDispatchesMakeOneRevision(t *testing.T) {
	t.Parallel()
	s := storetest.NewScene(t)
	spec := s.Spec(s.AddTask(t))
	var wg sync.WaitGroup
	ids := make([]string, 12)
	for i := range ids {
		wg.Go(func() {
			d, err := s.Dispatch(t, spec, lease, deadline)
			if err != nil {
				t.Errorf("dispatch: %v", err)
			}
			ids[i] = d.WorkflowID
		})
	}
	wg.Wait()
	for _, id := range ids {
		require.Equal(t, ids[0], id)
	}
	spec.Prompt = "Something else."
	_, err := s.Dispatch(t, spec, lease, deadline)
	require.Equal(t, contracts.CodeIdempotencyConflict, contracts.CodeOf(err))
}
