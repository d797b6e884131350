// A revision is followed to its end through pages, outages and a successor.

package follow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"countersign/api/client"
	"countersign/cmd/countersign/internal/term"
	"countersign/contracts"
	"countersign/contracts/capability"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

// fake answers from a list of states, one a question; the last one stays.
type fake struct {
	answers []answer
	asked   int
}

type answer struct {
	entries int
	phase   workflow.Phase
	err     error
}

func (f *fake) Workflow(ctx context.Context, _ string, after, limit int) (workflow.Detail, error) {
	return f.WorkflowByID(ctx, "w1", after, limit)
}

func (f *fake) WorkflowByID(_ context.Context, id string, after, limit int) (workflow.Detail, error) {
	if id != "w1" {
		return workflow.Detail{}, fmt.Errorf("asked for %s", id)
	}
	a := f.answers[min(f.asked, len(f.answers)-1)]
	d := workflow.Detail{WorkflowID: "w1", Phase: a.phase}
	for n := after + 1; n <= a.entries && len(d.History) < limit; n++ {
		d.History = append(d.History, workflow.HistoryEntry{Sequence: n, Kind: workflow.EntryRunning, Data: jsontext.Value(`{}`)})
	}
	if len(d.History) < limit {
		f.asked++ // a full page is followed by the next of the same state
	}
	return d, a.err
}

type recorder struct {
	entries []int
	away    int
}

func (r *recorder) Entry(_ *workflow.Detail, e workflow.HistoryEntry) {
	r.entries = append(r.entries, e.Sequence)
}
func (r *recorder) State(*workflow.Detail)    {}
func (r *recorder) Away(error, time.Duration) { r.away++ }

var errDown = fmt.Errorf("%w: connection refused", client.ErrUnreachable)

func TestUntilShowsEveryEntryOnce(t *testing.T) {
	t.Parallel()
	source := &fake{answers: []answer{
		{entries: 3, phase: workflow.PhaseRunning},
		{entries: 3, phase: workflow.PhaseRunning},
		{err: errDown},
		{err: contracts.Refuse(contracts.CodeUnavailable, "away")},
		{entries: 250, phase: workflow.PhaseVerifying},
		{entries: 251, phase: workflow.PhaseAccepted},
	}}
	view := &recorder{}
	d, err := Until(t.Context(), source, "t1", time.Minute, view)
	require.NoError(t, err)
	require.Equal(t, workflow.PhaseAccepted, d.Phase)
	require.Len(t, d.History, 251)
	require.Len(t, view.entries, 251)
	for i, n := range view.entries {
		require.Equal(t, i+1, n)
	}
	require.Equal(t, 2, view.away)
}

func TestUntilEndsAtOnceWhereWaitingIsNoUse(t *testing.T) {
	t.Parallel()
	_, err := Until(t.Context(), &fake{answers: []answer{{err: errDown}}}, "t1", time.Minute, Quiet{})
	require.ErrorIs(t, err, client.ErrUnreachable, "a server that is away from the start")

	gone := contracts.Refuse(contracts.CodeNotFound, "no such task")
	_, err = Until(t.Context(), &fake{answers: []answer{{phase: workflow.PhaseOffered}, {err: gone}}}, "t1", time.Minute, Quiet{})
	require.ErrorIs(t, err, gone)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Until(ctx, &fake{answers: []answer{{phase: workflow.PhaseOffered}}}, "t1", time.Minute, Quiet{})
	require.ErrorIs(t, err, context.Canceled)
}

func TestUntilLosesPatience(t *testing.T) {
	t.Parallel()
	view := &recorder{}
	_, err := Until(t.Context(), &fake{answers: []answer{{entries: 1, phase: workflow.PhaseOffered}, {err: errDown}}}, "t1", time.Second, view)
	require.ErrorIs(t, err, ErrAway)
	require.Equal(t, []int{1}, view.entries)
}

func TestLines(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	l := NewLines(term.New(&b))
	id := "e1"
	d := &workflow.Detail{Attempts: []workflow.AttemptView{{ExecutionID: id, Purpose: workflow.PurposeVerify, Number: 2}}}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	l.Entry(d, workflow.HistoryEntry{Sequence: 1, At: at, Kind: workflow.EntryRunning, AttemptID: &id, Data: jsontext.Value(`{}`)})
	l.State(d)
	l.Away(errors.New("no\x1b[2J"), time.Second)
	l.Away(errors.New("no"), 2*time.Second)
	l.State(d)
	l.Entry(d, workflow.HistoryEntry{
		Sequence: 2, At: at.Add(1500 * time.Millisecond), Kind: workflow.EntryVerdict, AttemptID: &id,
		Data: jsontext.Value(`{"outcome":"fail","failed_criteria":["a\u202e","b"],"new":1}`),
	})
	require.Equal(t, `03:04:05.000            running            verify 2
the server does not answer, asking again: no\u001b[2J
the server answers again
03:04:06.500    +1.50s  verdict            verify 2 fail, failed: a\u202e, b
`, b.String())
}

func TestSituation(t *testing.T) {
	t.Parallel()
	in := func(d time.Duration) *time.Time { at := time.Now().Add(d); return &at }
	lease := in(72*time.Second - 500*time.Millisecond)
	for want, a := range map[string]*workflow.AttemptView{
		"":                                      nil,
		"work 1 waits for its node to claim it": {Purpose: workflow.PurposeWork, Number: 1},
		"work 1 running, lease 1:12":            {Purpose: workflow.PurposeWork, Number: 1, Phase: workflow.AttemptRunning, LeaseExpiresAt: lease},
		"work 1 running, lease 1:12 to the deadline":    {Purpose: workflow.PurposeWork, Number: 1, Phase: workflow.AttemptRunning, LeaseExpiresAt: lease, DeadlineAt: lease},
		"verify 2 claimed, lease 0:00":                  {Purpose: workflow.PurposeVerify, Number: 2, Phase: workflow.AttemptClaimed, LeaseExpiresAt: in(-time.Second)},
		"work 1 has lost its lease and will be settled": {Purpose: workflow.PurposeWork, Number: 1, LeaseExpiresAt: in(-time.Second), LeaseExpired: true},
	} {
		require.Equal(t, want, Situation(&workflow.Detail{ActiveAttempt: a}))
	}
}

func TestDispatches(t *testing.T) {
	t.Parallel()
	require.Empty(t, Dispatches(&workflow.Detail{Attempts: []workflow.AttemptView{{}}}))
	record := func(action capability.Action, change func(*workflow.DispatchRecord)) workflow.AttemptView {
		r := &workflow.DispatchRecord{Result: capability.Result{Action: action, IndependenceGate: capability.GateOpen, ClaimsDenied: capability.Claims()}}
		r.Outcome.ExecutionMode = capability.ModeInline
		if change != nil {
			change(r)
		}
		return workflow.AttemptView{Purpose: workflow.PurposeWork, Number: 1, WorkerDispatch: r}
	}
	for _, a := range []workflow.AttemptView{
		record("attempt_dispatch", nil), record("wait", nil), record("fallback", nil), record("block", nil), record("settle", nil), record("new\x1b", nil),
		record("settle", func(r *workflow.DispatchRecord) { r.Outcome.Status = new(capability.StatusFailed) }),
	} {
		lines := Dispatches(&workflow.Detail{Attempts: []workflow.AttemptView{a}})
		require.Len(t, lines, 1)
		require.NotContains(t, lines[0], "independen", "what did not settle well says nothing of it")
		require.NotContains(t, lines[0], "\x1b")
	}
	waiting := record("wait", nil)
	require.Equal(t, []string{"work 1: it waits for capacity"}, Dispatches(&workflow.Detail{Attempts: []workflow.AttemptView{waiting}}))
	waiting.EndedAt = new(time.Now())
	require.Equal(t, []string{"work 1: it ended before its worker was called"}, Dispatches(&workflow.Detail{Attempts: []workflow.AttemptView{waiting}}))
	open := record("settle", func(r *workflow.DispatchRecord) {
		r.ResultPromotable, r.ClaimsDenied = true, []capability.Claim{"independent", "\x1b"}
		r.Outcome.ReasonCodes = []capability.ReasonCode{"isolation_degraded_inherited", "of_tomorrow\x1b"}
	})
	require.Equal(t, []string{
		`work 1: its worker was called; independence gate open; not to be claimed: independent, \u001b`,
		"the next attempt was not offered",
		"  isolation_degraded_inherited: An isolated worker was preferred, and this one is not provably isolated. Use the result without claiming independence, or repeat the work with an isolated worker.",
		`  of_tomorrow\u001b`,
	}, Dispatches(&workflow.Detail{
		Attempts: []workflow.AttemptView{open}, WorkerDispatch: &workflow.DispatchSummary{Stage: workflow.StageOffer, ReasonCodes: open.WorkerDispatch.Outcome.ReasonCodes},
	}))
}
