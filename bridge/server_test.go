// A scripted server: one revision, the bridge routes, and the rules of claims, fences and sequences.

package bridge

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

const testToken = "node-token-canary-4711"

// server plays one revision through.
type server struct {
	t    *testing.T
	http *httptest.Server

	mu       sync.Mutex
	plan     workflow.Plan // what every attempt's plan starts from
	verifier workflow.Profile
	lease    time.Duration
	deadline time.Duration
	budget   int

	phase     workflow.Phase
	reason    workflow.Reason
	attempts  []*fakeAttempt
	candidate string
	worker    string
	feedback  []workflow.CriterionFeedback
	sessions  map[string]bool
	fences    int64
	changed   chan struct{} // closed and renewed at every change
	calls     []fakeCall
	// fault, when set, may answer a call itself; verb is the path's last element.
	fault func(w http.ResponseWriter, r *http.Request, verb string, body []byte) bool
}

type fakeCall struct {
	verb string
	body string
	at   time.Time
}

type fakeAttempt struct {
	id, claim string
	purpose   workflow.Purpose
	number    int
	base      string
	phase     workflow.AttemptPhase
	fence     workflow.Fence
	claimed   time.Time
	expires   time.Time
	deadline  time.Time
	session   string
	last      int
	recorded  map[int]recordedEvent
	events    []workflow.Event
	stopped   time.Time
	reason    string
}

type recordedEvent struct {
	body   string
	status int
	answer any
}

func newServer(t *testing.T) *server {
	s := &server{
		t: t, lease: 90 * time.Second, deadline: 15 * time.Minute, budget: 2,
		phase: workflow.PhaseOffered, sessions: map[string]bool{}, changed: make(chan struct{}),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /bridge/v1/executions", s.handle("offers", s.offers))
	mux.HandleFunc("POST /bridge/v1/executions/{id}/claim", s.handle("claim", s.claim))
	mux.HandleFunc("POST /bridge/v1/executions/{id}/renew", s.handle("renew", s.renew))
	mux.HandleFunc("POST /bridge/v1/executions/{id}/events", s.handle("events", s.event))
	mux.HandleFunc("POST /bridge/v1/executions/{id}/stopped", s.handle("stopped", s.stopped))
	s.http = httptest.NewServer(mux)
	t.Cleanup(func() {
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

// answer is what a handler gives back.
type fakeAnswer struct {
	status int
	body   any
}

func ok(body any) fakeAnswer { return fakeAnswer{http.StatusOK, body} }

func refused(status int, code contracts.Code) fakeAnswer {
	return fakeAnswer{status, map[string]any{"type": "about:blank", "title": string(code), "status": status, "code": code, "detail": "scripted"}}
}

func invalid(err error) fakeAnswer {
	a := refused(http.StatusUnprocessableEntity, contracts.CodeOf(err))
	a.body.(map[string]any)["detail"] = err.Error()
	return a
}

func (s *server) handle(verb string, do func(r *http.Request, body []byte) fakeAnswer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer "+testToken {
			write(w, refused(http.StatusUnauthorized, contracts.CodeUnauthenticated))
			return
		}
		s.mu.Lock()
		s.calls = append(s.calls, fakeCall{verb, string(body), time.Now()})
		fault := s.fault
		s.mu.Unlock()
		if fault != nil && fault(w, r, verb, body) {
			return
		}
		write(w, do(r, body))
	}
}

func write(w http.ResponseWriter, a fakeAnswer) {
	data, err := json.Marshal(a.body)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	if a.status >= 400 {
		w.Header().Set("Content-Type", "application/problem+json")
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(data)
}

func (s *server) offers(r *http.Request, _ []byte) fakeAnswer {
	seconds, err := strconv.Atoi(r.URL.Query().Get("wait"))
	if err != nil || seconds < 0 || seconds > 30 {
		return refused(http.StatusUnprocessableEntity, contracts.CodeInvalid)
	}
	timer := time.NewTimer(time.Duration(seconds) * time.Second)
	defer timer.Stop()
	for {
		s.mu.Lock()
		list := workflow.OfferList{Executions: []workflow.Offer{}}
		for _, a := range s.attempts {
			if a.phase == workflow.AttemptOffered {
				list.Executions = append(list.Executions, workflow.Offer{ExecutionID: a.id, TaskID: s.plan.TaskID, WorkflowID: s.plan.Workflow.WorkflowID, Purpose: a.purpose, OfferedAt: time.Now()})
			}
		}
		changed := s.changed
		s.mu.Unlock()
		if len(list.Executions) > 0 {
			return ok(list)
		}
		select {
		case <-changed:
		case <-timer.C:
			return ok(list)
		case <-r.Context().Done():
			return ok(list)
		}
	}
}

// find is called with the lock held.
func (s *server) find(r *http.Request) *fakeAttempt {
	for _, a := range s.attempts {
		if a.id == r.PathValue("id") {
			return a
		}
	}
	return nil
}

func (s *server) claim(r *http.Request, body []byte) fakeAnswer {
	var req workflow.ClaimRequest
	if err := workflow.Decode(body, &req); err != nil {
		return invalid(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.find(r)
	switch {
	case a == nil:
		return refused(http.StatusNotFound, contracts.CodeNotFound)
	case a.claim == req.ClaimID && time.Now().Before(a.expires) && !a.phase.Final():
	case a.phase.Final():
		return s.terminal(a)
	case a.claim != "":
		return refused(http.StatusConflict, contracts.CodeAlreadyClaimed)
	default:
		s.fences++
		a.claim, a.claimed = req.ClaimID, time.Now()
		a.fence = workflow.Fence{LeaseID: uuid.NewString(), FencingToken: s.fences}
		a.deadline = a.claimed.Add(s.deadline)
		a.extend(s.lease)
		a.phase = workflow.AttemptClaimed
		if a.purpose == workflow.PurposeWork {
			s.phase = workflow.PhaseClaimed
		}
		s.touch()
	}
	plan := s.plan
	plan.ExecutionID, plan.SessionID, plan.BaseCommit = a.id, uuid.NewString(), a.base
	plan.Workflow.Purpose, plan.Workflow.Number = a.purpose, a.number
	if a.purpose == workflow.PurposeVerify {
		plan.Profile = s.verifier
	}
	if s.candidate != "" {
		candidate, worker := s.candidate, s.worker
		plan.Workflow.CandidateCommit, plan.Workflow.WorkerExecutionID = &candidate, &worker
	}
	if a.purpose == workflow.PurposeWork {
		plan.Workflow.Feedback = s.feedback
	}
	return ok(workflow.ClaimAnswer{
		ExecutionID: a.id, LeaseID: a.fence.LeaseID, FencingToken: a.fence.FencingToken,
		LeaseSeconds: s.lease.Seconds(), LeaseExpiresAt: a.expires, DeadlineAt: a.deadline, ServerTime: time.Now(), Plan: plan,
	})
}

func (a *fakeAttempt) extend(lease time.Duration) {
	a.expires = time.Now().Add(lease)
	if a.expires.After(a.deadline) {
		a.expires = a.deadline
	}
}

func (s *server) terminal(a *fakeAttempt) fakeAnswer {
	answer := refused(http.StatusConflict, contracts.CodeExecutionTerminal)
	answer.body.(map[string]any)["reason"] = a.reason
	return answer
}

// guard is the order of checks of every call with a fence; nil means go on.
func (s *server) guard(a *fakeAttempt, f workflow.Fence) *fakeAnswer {
	var no fakeAnswer
	switch {
	case a == nil:
		no = refused(http.StatusNotFound, contracts.CodeNotFound)
	case a.claim == "" || f != a.fence:
		no = refused(http.StatusConflict, contracts.CodeFenced)
	case a.phase.Final():
		no = s.terminal(a)
	case !time.Now().Before(a.expires):
		code := contracts.CodeLeaseExpired
		if a.expires.Equal(a.deadline) {
			code = contracts.CodeDeadlineExceeded
		}
		s.end(a, workflow.AttemptInterrupted, string(code))
		s.block(workflow.Reason(code))
		no = refused(http.StatusConflict, code)
	default:
		return nil
	}
	return &no
}

func (s *server) renew(r *http.Request, body []byte) fakeAnswer {
	var f workflow.Fence
	if err := workflow.Decode(body, &f); err != nil {
		return invalid(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.find(r)
	if no := s.guard(a, f); no != nil {
		return *no
	}
	a.extend(s.lease)
	return ok(workflow.RenewAnswer{LeaseExpiresAt: a.expires, DeadlineAt: a.deadline, ServerTime: time.Now()})
}

func (s *server) stopped(r *http.Request, body []byte) fakeAnswer {
	var f workflow.Fence
	if err := workflow.Decode(body, &f); err != nil {
		return invalid(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.find(r)
	switch {
	case a == nil:
		return refused(http.StatusNotFound, contracts.CodeNotFound)
	case a.claim == "" || f != a.fence:
		return refused(http.StatusConflict, contracts.CodeFenced)
	case !a.phase.Final():
		if no := s.guard(a, f); no == nil {
			return refused(http.StatusConflict, contracts.CodeStateConflict)
		}
	}
	if a.stopped.IsZero() {
		a.stopped = time.Now()
		s.touch()
	}
	return ok(workflow.StoppedAnswer{ExecutionID: a.id, NodeStoppedAt: a.stopped})
}

func (s *server) event(r *http.Request, body []byte) fakeAnswer {
	var e workflow.Event
	if err := workflow.Decode(body, &e); err != nil {
		return invalid(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.find(r)
	if a != nil {
		if seen, ok := a.recorded[e.Sequence]; ok && seen.body == string(body) {
			return fakeAnswer{seen.status, seen.answer}
		}
	}
	if no := s.guard(a, e.Fence); no != nil {
		return *no
	}
	switch {
	case e.Sequence <= a.last:
		return refused(http.StatusConflict, contracts.CodeSequenceConflict)
	case e.Sequence > a.last+1:
		return refused(http.StatusConflict, contracts.CodeSequenceGap)
	}
	verify := a.purpose == workflow.PurposeVerify
	if (e.Verdict != nil && !verify) || (verify && (e.Completion != nil || e.ResultSummary != nil || e.Refusal != nil)) {
		return refused(http.StatusUnprocessableEntity, contracts.CodeInvalid)
	}
	after := map[workflow.EventState]workflow.AttemptPhase{
		workflow.EventPreparing: workflow.AttemptClaimed, workflow.EventRunning: workflow.AttemptPreparing, workflow.EventCompleted: workflow.AttemptRunning,
	}
	if want, ok := after[e.State]; ok && a.phase != want {
		return refused(http.StatusConflict, contracts.CodeStateConflict)
	}
	if e.ProviderSessionID != nil {
		if e.State == workflow.EventRunning && s.sessions[*e.ProviderSessionID] {
			return refused(http.StatusConflict, contracts.CodeSessionReused)
		}
		if e.State != workflow.EventRunning && *e.ProviderSessionID != a.session {
			return refused(http.StatusConflict, contracts.CodeSessionMismatch)
		}
	}
	s.apply(a, &e)
	a.last = e.Sequence
	a.events = append(a.events, e)
	answer := workflow.EventAnswer{Sequence: e.Sequence, Phase: a.phase, WorkflowPhase: s.phase, Reason: s.reason}
	a.recorded[e.Sequence] = recordedEvent{string(bytes.Clone(body)), http.StatusOK, answer}
	s.touch()
	return ok(answer)
}

func (s *server) apply(a *fakeAttempt, e *workflow.Event) {
	switch e.State {
	case workflow.EventPreparing:
		a.phase = workflow.AttemptPreparing
		if a.purpose == workflow.PurposeWork {
			s.phase = workflow.PhasePreparing
		}
	case workflow.EventRunning:
		a.phase, a.session = workflow.AttemptRunning, *e.ProviderSessionID
		s.sessions[a.session] = true
		if s.phase = workflow.PhaseRunning; a.purpose == workflow.PurposeVerify {
			s.phase = workflow.PhaseVerifying
		}
	case workflow.EventFailed:
		s.end(a, workflow.AttemptFailed, said(e))
		s.block(workflow.ReasonAttemptFailed)
	case workflow.EventInterrupted:
		s.end(a, workflow.AttemptInterrupted, said(e))
		s.block(workflow.ReasonAttemptInterrupted)
	case workflow.EventCompleted:
		s.end(a, workflow.AttemptCompleted, "")
		s.complete(a, e)
	}
}

func said(e *workflow.Event) string {
	if e.Reason == nil {
		return "refused"
	}
	return *e.Reason
}

func (s *server) complete(a *fakeAttempt, e *workflow.Event) {
	if e.ResultCommit == nil || e.EvidencePath == nil || e.CleanWorkspace == nil || !*e.CleanWorkspace {
		s.block(workflow.ReasonEvidenceMissing)
		return
	}
	if a.purpose == workflow.PurposeWork {
		s.candidate, s.worker = *e.ResultCommit, a.id
		s.phase = workflow.PhaseAwaitingVerification
		s.offer(workflow.PurposeVerify, a.number, s.candidate)
		return
	}
	v := e.Verdict
	switch {
	case v == nil:
		s.block(workflow.ReasonVerdictMissing)
		return
	case v.ContractDigest != s.plan.Workflow.ContractDigest || v.CandidateCommit != s.candidate || *e.ResultCommit != s.candidate ||
		v.WorkerExecutionID != s.worker || v.VerifierExecutionID != a.id || len(v.Results) != len(s.plan.Workflow.Criteria):
		s.block(workflow.ReasonVerdictInvalid)
		return
	}
	s.feedback = nil
	pass := true
	for _, r := range v.Results {
		pass = pass && r.Outcome == workflow.CriterionPass
		s.feedback = append(s.feedback, workflow.CriterionFeedback{CriterionID: r.CriterionID, Outcome: r.Outcome, EvidencePath: r.EvidencePath, Feedback: r.Feedback})
	}
	switch {
	case pass:
		s.phase = workflow.PhaseAccepted
	case a.number < s.budget:
		s.phase = workflow.PhaseOffered
		s.offer(workflow.PurposeWork, a.number+1, s.candidate)
	default:
		s.block(workflow.ReasonWorkBudgetExhausted)
	}
}

func (s *server) end(a *fakeAttempt, phase workflow.AttemptPhase, reason string) {
	a.phase, a.reason = phase, reason
	s.touch()
}

func (s *server) block(reason workflow.Reason) { s.phase, s.reason = workflow.PhaseBlocked, reason }

func (s *server) offer(p workflow.Purpose, number int, base string) {
	s.attempts = append(s.attempts, &fakeAttempt{
		id: uuid.NewString(), purpose: p, number: number, base: base,
		phase: workflow.AttemptOffered, recorded: map[int]recordedEvent{},
	})
	s.touch()
}

func (s *server) touch() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// dispatch freezes a revision and offers its first attempt.
func (s *server) dispatch(d dispatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := sha256.Sum256([]byte(s.t.Name()))
	criteria := d.criteria
	if criteria == nil {
		criteria = []workflow.Criterion{{ID: "tests", Description: "The tests pass.", Method: "Run them."}, {ID: "docs", Description: "It is described.", Method: "Read."}}
	}
	s.plan = workflow.Plan{
		TaskID: uuid.NewString(), Goal: "Write a note.", Repository: "example", Workspace: d.workspace, Branch: d.branch, Prompt: d.prompt,
		Profile: workflow.Profile{ProfileID: "worker", Version: workflow.StringVersion("1"), Runtime: workflow.RuntimeSynthetic, Instructions: "Work.", AllowWorkspaceWrites: !d.readOnly},
		Workflow: workflow.PlanWorkflow{
			WorkflowID: uuid.NewString(), Revision: 1, ContractDigest: hex.EncodeToString(sum[:]), Criteria: criteria,
			FrozenBaseCommit: d.base, Feedback: []workflow.CriterionFeedback{},
		},
	}
	if d.artifact != "" {
		s.plan.ArtifactSpec = jsontext.Value(d.artifact)
	}
	if d.runtime != "" {
		s.plan.Profile.Runtime = d.runtime
	}
	s.verifier = workflow.Profile{ProfileID: "verifier", Version: workflow.StringVersion("1"), Runtime: workflow.RuntimeSynthetic, Instructions: "Verify."}
	s.phase, s.reason, s.candidate, s.worker, s.feedback = workflow.PhaseOffered, "", "", "", []workflow.CriterionFeedback{}
	s.offer(workflow.PurposeWork, 1, d.base)
}

type dispatch struct {
	workspace, branch, base, prompt string
	readOnly                        bool
	criteria                        []workflow.Criterion
	runtime                         workflow.Runtime
	artifact                        string
}

// cancel ends the active attempt and the revision as an operator would.
func (s *server) cancel() {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.attempts[len(s.attempts)-1]
	s.end(a, workflow.AttemptCancelled, "cancelled")
	s.phase = workflow.PhaseCancelled
}

// setFault changes how calls are disturbed.
func (s *server) setFault(f func(w http.ResponseWriter, r *http.Request, verb string, body []byte) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// await polls until the condition holds, with the server locked.
func (s *server) await(what string, condition func() bool) {
	s.t.Helper()
	deadline := time.Now().Add(waitBound)
	for {
		s.mu.Lock()
		done, changed := condition(), s.changed
		state := s.describe()
		s.mu.Unlock()
		if done {
			return
		}
		if time.Now().After(deadline) {
			require.FailNow(s.t, "waited in vain for "+what, state)
		}
		select {
		case <-changed:
		case <-time.After(20 * time.Millisecond):
		}
	}
}

const waitBound = 60 * time.Second

// describe is for messages; the lock is held.
func (s *server) describe() string {
	var b strings.Builder
	b.WriteString("phase " + string(s.phase) + " " + string(s.reason))
	for _, a := range s.attempts {
		b.WriteString("\n" + string(a.purpose) + " " + string(a.phase) + " " + a.reason)
	}
	return b.String()
}

// phaseIs waits for a phase of the revision.
func (s *server) phaseIs(p workflow.Phase) {
	s.t.Helper()
	s.await("phase "+string(p), func() bool { return s.phase == p })
}

// settled waits until the revision is final and the node has said its tree is gone.
func (s *server) settled(p workflow.Phase) {
	s.t.Helper()
	s.await("settled "+string(p), func() bool { return s.phase.Final() && !s.attempts[len(s.attempts)-1].stopped.IsZero() })
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Equal(s.t, p, s.phase, s.describe())
}

// attempt is a copy of the nth attempt.
func (s *server) attempt(n int) fakeAttempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Greater(s.t, len(s.attempts), n, s.describe())
	return *s.attempts[n]
}

// called lists the calls of a verb.
func (s *server) called(verb string) []fakeCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []fakeCall
	for _, c := range s.calls {
		if c.verb == verb {
			found = append(found, c)
		}
	}
	return found
}
