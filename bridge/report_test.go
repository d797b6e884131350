// What becomes of events that the server does not take, and plans that no node can.

package bridge

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

// refuseCompleted answers every completed event with a refusal.
func (s *stage) refuseCompleted(status int, code contracts.Code) *atomic.Int32 {
	var refusals atomic.Int32
	s.server.setFault(func(w http.ResponseWriter, _ *http.Request, verb string, body []byte) bool {
		if verb != "events" || !strings.Contains(string(body), `"state":"completed"`) {
			return false
		}
		refusals.Add(1)
		write(w, refused(status, code))
		return true
	})
	return &refusals
}

func TestResultRefused(t *testing.T) {
	s := newStage(t)
	refusals := s.refuseCompleted(http.StatusUnprocessableEntity, contracts.CodeInvalid)
	s.dispatch("Write a note.")
	a := s.ends(workflow.AttemptFailed, "event_refused: invalid")
	require.EqualValues(t, 1, refusals.Load())
	require.Equal(t, 3, a.events[2].Sequence, "a refusal uses up no sequence number")
	require.Empty(t, s.repo.git("for-each-ref", "refs/heads/task"), "no branch for a result that was not taken")
}

func TestContractViolationEndsTheAttempt(t *testing.T) {
	s := newStage(t)
	s.refuseCompleted(http.StatusUnprocessableEntity, contracts.CodeContractViolation)
	s.server.lease = 3 * time.Second
	s.dispatch("Write a note.")
	s.run()
	require.Eventually(t, func() bool { return strings.Contains(s.log.String(), "terminal event was not taken") }, waitBound, tickEvery)
	require.Len(t, s.server.called("events"), 3, "nothing more is said about it")
	s.server.cancel()
	s.server.settled(workflow.PhaseCancelled)
	s.cleared()
	require.Empty(t, s.repo.git("for-each-ref", "refs/heads/task"))
}

// The server is away when the result is handed in and when the node stops; the next start hands in
// the same bytes.
func TestShutdownWithAnUnknownResult(t *testing.T) {
	s := newStage(t)
	s.opts.late = 200 * time.Millisecond
	refusals := s.refuseCompleted(http.StatusServiceUnavailable, contracts.CodeUnavailable)
	s.dispatch("Write a note.")
	s.run()
	require.Eventually(t, func() bool { return refusals.Load() > 0 }, waitBound, tickEvery)
	s.NoError(s.halt())
	require.Contains(t, s.log.String(), "the next start asks again")
	require.Equal(t, workflow.AttemptRunning, s.server.attempt(0).phase)

	s.server.setFault(nil)
	s.opts.late = 0 // as long as usual again, for clearing up
	s.run()
	s.server.settled(workflow.PhaseAccepted)
	s.cleared()
	require.Equal(t, s.server.candidate, s.repo.git("rev-parse", "task/one"))
	bodies := map[string]bool{}
	for _, c := range s.server.called("events") {
		if strings.Contains(c.body, `"result_summary"`) {
			bodies[c.body] = true
		}
	}
	require.Len(t, bodies, 1, "the same bytes every time")
}

func TestCheckPlan(t *testing.T) {
	t.Parallel()
	sha, worker := strings.Repeat("a", 40), "w1"
	good := func() workflow.Plan {
		return workflow.Plan{BaseCommit: sha, Workflow: workflow.PlanWorkflow{
			Purpose: workflow.PurposeVerify, FrozenBaseCommit: sha, ContractDigest: strings.Repeat("b", 64),
			Criteria: []workflow.Criterion{{ID: "tests"}}, CandidateCommit: &sha, WorkerExecutionID: &worker,
		}}
	}
	plan := good()
	require.NoError(t, checkPlan(&plan))
	plan.ArtifactSpec = jsontext.Value(`{"kind":"code_diff"}`)
	require.NoError(t, checkPlan(&plan))
	other := strings.Repeat("c", 40)
	for name, spoil := range map[string]func(*workflow.Plan){
		"purpose":         func(p *workflow.Plan) { p.Workflow.Purpose = "admire" },
		"base":            func(p *workflow.Plan) { p.BaseCommit = "HEAD" },
		"frozen base":     func(p *workflow.Plan) { p.Workflow.FrozenBaseCommit = sha[:39] + "\n" },
		"digest":          func(p *workflow.Plan) { p.Workflow.ContractDigest = "" },
		"criteria":        func(p *workflow.Plan) { p.Workflow.Criteria = nil },
		"candidate":       func(p *workflow.Plan) { p.Workflow.CandidateCommit = nil },
		"other candidate": func(p *workflow.Plan) { p.Workflow.CandidateCommit = &other },
		"worker":          func(p *workflow.Plan) { p.Workflow.WorkerExecutionID = nil },
		"artifact":        func(p *workflow.Plan) { p.ArtifactSpec = jsontext.Value(`["report"]`) },
	} {
		plan := good()
		spoil(&plan)
		require.ErrorContains(t, checkPlan(&plan), "plan_invalid", name)
	}
}

func TestUsableClaim(t *testing.T) {
	t.Parallel()
	at := time.Now()
	good := workflow.ClaimAnswer{
		ExecutionID: "e1", LeaseID: "l", FencingToken: 1, LeaseSeconds: 90, ServerTime: at, LeaseExpiresAt: at.Add(time.Second),
		Plan: workflow.Plan{ExecutionID: "e1"},
	}
	require.NoError(t, usableClaim("e1", &good))
	for name, spoil := range map[string]func(*workflow.ClaimAnswer){
		"execution": func(c *workflow.ClaimAnswer) { c.ExecutionID = "e2" },
		"plan":      func(c *workflow.ClaimAnswer) { c.Plan.ExecutionID = "e2" },
		"lease":     func(c *workflow.ClaimAnswer) { c.LeaseID = "" },
		"fence":     func(c *workflow.ClaimAnswer) { c.FencingToken = 0 },
		"length":    func(c *workflow.ClaimAnswer) { c.LeaseSeconds = 0 },
		"expiry":    func(c *workflow.ClaimAnswer) { c.LeaseExpiresAt = at },
	} {
		c := good
		spoil(&c)
		require.Error(t, usableClaim("e1", &c), name)
	}
}
