// The machine under random commands: whatever comes, its invariants hold.

package workflow_test

import (
	"fmt"
	"testing"
	"time"

	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// world plays database and nodes around the machine.
type world struct {
	state    workflow.State
	now      time.Time
	fresh    int
	attempts map[string]*workflow.Attempt // every attempt ever, as its row would be
	contract workflow.Contract
	sessions map[string]bool
	tampered bool // the contract's bytes are not the frozen ones any more
	// Of a contract with a worker_dispatch: the recorded events of every attempt, what dresses the next
	// one up, and what must be true of a step besides.
	reported map[string][]workflow.ReportedEvent
	dress    func(*rapid.T, *workflow.Attempt, *workflow.Event)
	holds    func(require.TestingT, workflow.State, workflow.Decision)
}

func newWorld(budget int) *world {
	w := &world{
		now:      time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		attempts: map[string]*workflow.Attempt{}, sessions: map[string]bool{},
		contract: workflow.Contract{Criteria: []workflow.Criterion{{ID: "a"}, {ID: "b"}}},
	}
	w.state = workflow.State{WorkflowID: "w", ContractDigest: "d", MaxWorkAttempts: budget}
	first := &workflow.Attempt{ExecutionID: "x0", Purpose: workflow.PurposeWork, Number: 1, Phase: workflow.AttemptOffered, BaseCommit: "base"}
	w.attempts[first.ExecutionID] = first
	w.state = workflow.Apply(w.state, workflow.Step{
		First: 1, Kinds: []workflow.EntryKind{workflow.EntryDispatched, workflow.EntryOffered}, Phase: workflow.PhaseOffered, WorkAttempts: 1, Active: first,
	})
	return w
}

// do decides a command as Commit does and applies what comes of it.
func (w *world) do(t require.TestingT, c workflow.Command, e *workflow.Event) workflow.Decision {
	w.fresh++
	f := workflow.Facts{
		Now: w.now, Event: e, Contract: &w.contract, ContractIntact: !w.tampered, Lease: 90 * time.Second, Deadline: 15 * time.Minute,
		Fresh: workflow.Fresh{
			LeaseID: fmt.Sprint("l", w.fresh), FencingToken: int64(w.fresh), SessionID: fmt.Sprint("s", w.fresh),
			ExecutionID: fmt.Sprint("x", w.fresh), ReceiptID: fmt.Sprint("r", w.fresh),
		},
	}
	if a := w.attempts[c.ExecutionID]; a != nil {
		row := *a
		f.Subject = &row
	}
	if e != nil && e.ProviderSessionID != nil {
		f.SessionSeen = w.sessions[*e.ProviderSessionID]
	}
	before := w.state
	if before.Active != nil {
		f.Reported = w.reported[before.Active.ExecutionID]
	}
	d := workflow.Decide(w.state, c, f)
	require.False(t, d.Refusal != nil && d.Step != nil)
	if d.Step == nil {
		return d
	}
	w.check(t, before, d)
	if w.holds != nil {
		w.holds(t, before, d)
	}
	if d.EventRecorded && w.reported != nil {
		w.reported[c.ExecutionID] = append(w.reported[c.ExecutionID], workflow.ReportedEvent{Event: *e, At: w.now})
	}
	w.state = workflow.Apply(w.state, *d.Step)
	if ended := d.Step.Ended; ended != nil {
		a := w.attempts[ended.ExecutionID]
		a.Phase, a.Reason = ended.Phase, ended.Reason
		if e != nil {
			a.LastEvent = e.Sequence
		}
	}
	if a := d.Step.Active; a != nil {
		row := *a
		w.attempts[a.ExecutionID] = &row
		w.sessions[a.ProviderSessionID] = true
	}
	return d
}

// check holds a step to what must be true of every step.
func (w *world) check(t require.TestingT, before workflow.State, d workflow.Decision) {
	step := d.Step
	require.NotEmpty(t, step.Kinds)
	require.Len(t, d.Entries, len(step.Kinds))
	require.Equal(t, before.Sequence+1, step.First)
	require.False(t, before.Phase.Final(), "nothing follows a final phase")
	require.Equal(t, step.Phase.Final(), step.Active == nil, "an attempt is open exactly while the revision is active")
	require.Equal(t, step.Phase == workflow.PhaseBlocked, step.Reason != "")
	require.LessOrEqual(t, step.WorkAttempts, before.MaxWorkAttempts)
	require.Equal(t, step.Phase == workflow.PhaseAccepted, step.ReceiptID != "")
	require.Equal(t, step.Phase == workflow.PhaseAccepted, d.Accepted != nil)
	if step.Phase == workflow.PhaseAccepted {
		require.Equal(t, workflow.PurposeVerify, before.Active.Purpose, "only a verifier's verdict accepts")
		require.Equal(t, before.CandidateCommit, d.Accepted.CandidateCommit)
	}
	if step.Has(workflow.EntryChangesRequested) {
		require.NotEmpty(t, step.FailedCriteria)
	}
	if a := step.Active; a != nil && a.Claimed() {
		require.False(t, a.LeaseExpiresAt.After(a.DeadlineAt))
		require.Equal(t, 15*time.Minute, a.DeadlineAt.Sub(a.ClaimedAt))
	}
}

func TestTheMachineKeepsItsInvariants(t *testing.T) {
	t.Parallel()
	// A walk that never gets to a verdict shows little: walk until both verdicts were seen.
	accepted, corrected := 0, 0
	for tries := 0; tries < 100 && (accepted == 0 || corrected == 0); tries++ {
		rapid.Check(t, func(t *rapid.T) { walk(t, &accepted, &corrected) })
	}
	require.NotZero(t, accepted)
	require.NotZero(t, corrected)
}

func walk(t *rapid.T, accepted, corrected *int) {
	w := newWorld(rapid.IntRange(1, 2).Draw(t, "budget"))
	w.walk(t)
	if w.state.Phase == workflow.PhaseAccepted {
		*accepted++
	}
	if w.state.WorkAttempts == 2 {
		*corrected++
	}
}

// walk gives the world random commands.
func (w *world) walk(t *rapid.T) {
	for range rapid.IntRange(20, 150).Draw(t, "steps") {
		w.now = w.now.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 0, 1, 1, 1, 2, 5}).Draw(t, "seconds")) * time.Second)
		if rapid.IntRange(0, 49).Draw(t, "late") == 0 {
			w.now = w.now.Add(rapid.SampledFrom([]time.Duration{89 * time.Second, 90 * time.Second, 15 * time.Minute}).Draw(t, "by"))
		}
		id := rapid.SampledFrom(w.ids()).Draw(t, "execution")
		switch rapid.SampledFrom([]string{"claim", "claim", "event", "event", "event", "event", "event", "event", "renew", "settle", "expire", "cancel", "reconcile", "block"}).Draw(t, "command") {
		case "claim":
			w.do(t, workflow.Command{Kind: workflow.CommandClaim, ExecutionID: id, ClaimID: "c"}, nil)
		case "event":
			w.event(t, id)
		case "renew":
			if a := w.state.Active; a.Live() && !a.Expired(w.now) {
				renewed := *a
				renewed.LeaseExpiresAt = w.now.Add(90 * time.Second)
				if renewed.LeaseExpiresAt.After(a.DeadlineAt) {
					renewed.LeaseExpiresAt = a.DeadlineAt
				}
				w.state.Active, w.attempts[a.ExecutionID] = &renewed, &renewed
			}
		case "settle":
			activity := w.attempts[id].ActivityID
			d := w.do(t, workflow.Command{Kind: workflow.CommandSettle, ExecutionID: id, ActivityID: activity}, nil)
			if d.Step != nil && d.Step.Active != nil {
				require.NotEqual(t, activity, d.Step.Active.ActivityID)
			}
		case "expire":
			w.do(t, workflow.Command{Kind: workflow.CommandExpire, ExecutionID: id, ActivityID: w.attempts[id].ActivityID}, nil)
		case "cancel":
			if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
				w.do(t, workflow.Command{Kind: workflow.CommandCancel}, nil)
			}
		case "reconcile":
			w.do(t, workflow.Command{Kind: workflow.CommandReconcile, ExecutionID: id}, nil)
		case "block":
			if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
				w.do(t, workflow.Command{Kind: workflow.CommandBlock, ExecutionID: id, Reason: workflow.ReasonNodeRevoked}, nil)
			}
		}
	}
}

func (w *world) ids() (ids []string) {
	for i := 0; i <= w.fresh; i++ {
		if id := fmt.Sprint("x", i); w.attempts[id] != nil {
			ids = append(ids, id)
		}
	}
	// The active attempt is the likely one.
	if a := w.state.Active; a != nil {
		ids = append(ids, a.ExecutionID, a.ExecutionID, a.ExecutionID, a.ExecutionID)
	}
	return ids
}

// event sends what the attempt's node would send next, or something near it.
func (w *world) event(t *rapid.T, id string) {
	a := w.attempts[id]
	e := &workflow.Event{
		Fence:    workflow.Fence{LeaseID: a.LeaseID, FencingToken: a.FencingToken},
		Sequence: a.LastEvent + rapid.SampledFrom([]int{1, 1, 1, 1, 1, 1, 0, 2}).Draw(t, "sequence"),
	}
	session := "p" + id
	switch a.Phase {
	case workflow.AttemptClaimed:
		e.State = workflow.EventPreparing
	case workflow.AttemptPreparing:
		e.State, e.ProviderSessionID = workflow.EventRunning, &session
	default:
		e.State, e.ProviderSessionID, e.ExitCode = workflow.EventCompleted, &session, ptr(0)
		e.ResultCommit, e.EvidencePath, e.CleanWorkspace = ptr("commit"+fmt.Sprint(a.Number)), ptr("e"), ptr(rapid.IntRange(0, 9).Draw(t, "clean") > 0)
		if a.Purpose == workflow.PurposeVerify {
			e.ResultCommit = ptr(w.state.CandidateCommit)
			e.Verdict = &workflow.Verdict{
				ContractDigest: "d", CandidateCommit: w.state.CandidateCommit, WorkerExecutionID: w.state.WorkerExecutionID, VerifierExecutionID: id,
				Results: []workflow.VerdictResult{
					{CriterionID: "a", Outcome: rapid.SampledFrom([]string{"pass", "pass", "fail"}).Draw(t, "a"), Feedback: "f"},
					{CriterionID: rapid.SampledFrom([]string{"b", "b", "b", "b", "c"}).Draw(t, "id"), Outcome: "pass", Feedback: "f"},
				},
			}
		}
	}
	if w.dress != nil {
		w.dress(t, a, e)
	}
	before, last := w.state, a.LastEvent
	d := w.do(t, workflow.Command{Kind: workflow.CommandEvent, ExecutionID: id, Sequence: e.Sequence}, e)
	if d.Step == nil {
		require.NotNil(t, d.Refusal)
		require.Equal(t, before, w.state)
		return
	}
	if d.Step.Answer.Refusal != nil {
		require.Contains(t, []contracts.Code{contracts.CodeLeaseExpired, contracts.CodeDeadlineExceeded}, d.Step.Answer.Refusal.Code)
		require.Equal(t, workflow.PhaseBlocked, d.Step.Phase)
		return
	}
	require.Equal(t, last+1, e.Sequence)
	require.NotNil(t, d.Step.Answer.Event)
}

func TestInputHashIgnoresWhatIsNoInput(t *testing.T) {
	t.Parallel()
	c := workflow.Command{Kind: workflow.CommandCancel, Actor: "a", ExpectedVersion: 1}
	same := c
	same.ExpectedVersion = 2
	require.Equal(t, c.InputHash(), same.InputHash())
	other := c
	other.Actor = "b"
	require.NotEqual(t, c.InputHash(), other.InputHash())
}
