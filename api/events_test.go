// Every row of the events table and of control, over HTTP.

package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"countersign/api/apitest"
	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// TestEventsThatAreRefusedHaveNoEffect sends what may not come at each stage, sees the code, nothing
// recorded and no sequence used up: the right event still goes through with the same sequence.
func TestEventsThatAreRefusedHaveNoEffect(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	d := s.DispatchTask()
	h := s.Claim()
	session := ptr(h.Session)
	raw := func(fields string) []byte {
		return fmt.Appendf(nil, `{"lease_id":%q,"fencing_token":%d,"sequence":%d%s}`, h.LeaseID, h.FencingToken, h.Sequence+1, fields)
	}
	refused := func(status int, code contracts.Code, path string, body any) {
		t.Helper()
		before := s.Detail(d.TaskID)
		if e, ok := body.(workflow.Event); ok {
			e.Fence = h.Fence()
			if e.Sequence == 0 {
				e.Sequence = h.Sequence + 1
			}
			body = e
		}
		a := h.Post("events", body)
		apitest.Refused(t, status, code, a)
		if path != "" {
			require.Contains(t, string(a.Body), fmt.Sprintf(`"path":%q`, path))
		}
		require.Equal(t, before, s.Detail(d.TaskID))
	}
	invalid := func(path string, fields string) {
		t.Helper()
		refused(http.StatusUnprocessableEntity, contracts.CodeInvalid, path, raw(fields))
	}
	const completed = `,"state":"completed","provider_session_id":"p","exit_code":0`

	refused(http.StatusConflict, contracts.CodeSequenceGap, "", workflow.Event{Sequence: 2, State: workflow.EventPreparing})
	refused(http.StatusTooManyRequests, contracts.CodeRateLimited, "", workflow.Event{Sequence: 65, State: workflow.EventPreparing})
	refused(http.StatusConflict, contracts.CodeStateConflict, "", workflow.Event{State: workflow.EventRunning, ProviderSessionID: session})
	refused(http.StatusConflict, contracts.CodeStateConflict, "", func() workflow.Event { e := h.Completed(candidate); return e }())
	refused(http.StatusBadRequest, contracts.CodeMalformedJSON, "", []byte(`{"lease_id":`))
	invalid("$.state", `,"state":"paused"`)
	invalid("$.sequence", `,"state":"preparing","sequence":1`)
	invalid("$.colour", `,"state":"preparing","colour":"red"`)
	invalid("$.State", `,"state":"preparing","State":"running"`)
	invalid("$.exit_code", `,"state":"completed","provider_session_id":"p","exit_code":1`)
	invalid("$.exit_code", `,"state":"completed","provider_session_id":"p"`)
	invalid("$.exit_code", `,"state":"completed","provider_session_id":"p","exit_code":"0"`)
	invalid("$.provider_session_id", `,"state":"running"`)
	invalid("$.provider_session_id", `,"state":"running","provider_session_id":" "`)
	invalid("$.provider_session_id", `,"state":"completed","exit_code":0`)
	invalid("$.result_commit", completed+`,"result_commit":"`+strings.Repeat("C0", 20)+`"`)
	invalid("$.result_commit", completed+`,"result_commit":"`+strings.Repeat("0", 40)+`"`)
	invalid("$.result_commit", completed+`,"result_commit":"abc"`)
	for _, path := range []string{"/etc/passwd", "../up", "a/../b", "a//b", `a\\b`, ".git/config", "a\\u0000b", "."} {
		invalid("$.evidence_path", completed+`,"evidence_path":"`+path+`"`)
	}
	invalid("$.reason", `,"state":"failed"`)
	invalid("$.reason", `,"state":"failed","reason":"`+strings.Repeat("x", 2001)+`"`)
	invalid("$.verdict", `,"state":"preparing","verdict":null,"verdict":null`)

	preparing(h)
	refused(http.StatusConflict, contracts.CodeSequenceConflict, "", workflow.Event{Sequence: 1, State: workflow.EventFailed, Reason: ptr("x")})
	refused(http.StatusConflict, contracts.CodeStateConflict, "", workflow.Event{State: workflow.EventPreparing})
	require.Equal(t, http.StatusOK, h.Event(workflow.Event{State: workflow.EventRunning, ProviderSessionID: session}).Status)
	e := h.Completed(candidate)
	e.ProviderSessionID = ptr("another")
	refused(http.StatusConflict, contracts.CodeSessionMismatch, "", e)
	e = h.Completed(candidate)
	e.Verdict = &workflow.Verdict{ContractDigest: d.ContractDigest, CandidateCommit: candidate, WorkerExecutionID: h.ExecutionID, VerifierExecutionID: h.ExecutionID}
	refused(http.StatusUnprocessableEntity, contracts.CodeInvalid, "$.verdict", e)
	require.Equal(t, http.StatusOK, h.Event(h.Completed(candidate)).Status)
	sound(t, s)

	h = s.Claim().Run()
	e = h.Completed(candidate)
	e.ResultSummary = ptr("I say it is fine.")
	refused(http.StatusUnprocessableEntity, contracts.CodeInvalid, "$.result_summary", e)
	e = h.Completed(candidate)
	e.Completion = []byte(`{"summary":"fine"}`)
	refused(http.StatusUnprocessableEntity, contracts.CodeInvalid, "$.completion", e)
	refused(http.StatusUnprocessableEntity, contracts.CodeInvalid, "$.refusal", workflow.Event{State: workflow.EventFailed, Refusal: []byte(`{"kind":"underspecified"}`)})
	sound(t, s)
}

// TestAResultWithoutItsAttestationBlocks: absent, null and false are the same.
func TestAResultWithoutItsAttestationBlocks(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(e *workflow.Event){
		"no commit":   func(e *workflow.Event) { e.ResultCommit = nil },
		"no evidence": func(e *workflow.Event) { e.EvidencePath = nil },
		"no word":     func(e *workflow.Event) { e.CleanWorkspace = nil },
		"not clean":   func(e *workflow.Event) { e.CleanWorkspace = ptr(false) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t, apitest.Options{})
			d := s.DispatchTask()
			h := s.Claim().Run()
			e := h.Completed(candidate)
			spoil(&e)
			a := apitest.Into[workflow.EventAnswer](t, http.StatusOK, h.Event(e))
			require.Equal(t, workflow.ReasonEvidenceMissing, a.Reason)
			require.Equal(t, workflow.PhaseBlocked, s.Detail(d.TaskID).Phase)
			require.Empty(t, apitest.Into[workflow.OfferList](t, http.StatusOK, s.Bridge("GET", "/bridge/v1/executions", nil)).Executions)
			sound(t, s)
		})
	}
}

func TestANodeMayGiveUpRightAfterTheClaim(t *testing.T) {
	t.Parallel()
	for state, reason := range map[workflow.EventState]workflow.Reason{
		workflow.EventFailed: workflow.ReasonAttemptFailed, workflow.EventInterrupted: workflow.ReasonAttemptInterrupted,
	} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t, apitest.Options{})
			d := s.DispatchTask()
			h := s.Claim()
			a := apitest.Into[workflow.EventAnswer](t, http.StatusOK, h.Event(workflow.Event{State: state, Reason: ptr("No disk.")}))
			require.Equal(t, workflow.PhaseBlocked, a.WorkflowPhase)
			require.Equal(t, reason, a.Reason)
			require.Equal(t, reason, *s.Detail(d.TaskID).Attempts[0].Reason)
			stopped := apitest.Into[workflow.StoppedAnswer](t, http.StatusOK, h.Post("stopped", h.Fence()))
			again := apitest.Into[workflow.StoppedAnswer](t, http.StatusOK, h.Post("stopped", h.Fence()))
			require.Equal(t, stopped, again)
			require.Equal(t, stopped.NodeStoppedAt, *s.Detail(d.TaskID).Attempts[0].NodeStoppedAt)
			s.DispatchTask() // the slot is free
			sound(t, s)
		})
	}
}

// TestCancelInEachPhase takes a revision to each live phase, cancels it there, and dispatches again.
func TestCancelInEachPhase(t *testing.T) {
	t.Parallel()
	claim := func(s *apitest.Stack) *apitest.Held { return s.Claim() }
	for phase, reach := range map[workflow.Phase]func(s *apitest.Stack) *apitest.Held{
		workflow.PhaseOffered:   func(*apitest.Stack) *apitest.Held { return nil },
		workflow.PhaseClaimed:   claim,
		workflow.PhasePreparing: func(s *apitest.Stack) *apitest.Held { h := s.Claim(); preparing(h); return h },
		workflow.PhaseRunning:   func(s *apitest.Stack) *apitest.Held { return s.Claim().Run() },
		workflow.PhaseAwaitingVerification: func(s *apitest.Stack) *apitest.Held {
			s.Work(candidate)
			return nil
		},
		workflow.PhaseVerifying: func(s *apitest.Stack) *apitest.Held { s.Work(candidate); return s.Claim().Run() },
		"correction": func(s *apitest.Stack) *apitest.Held {
			s.Work(candidate)
			s.Verify("tests")
			return nil
		},
	} {
		t.Run(string(phase), func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t, apitest.Options{})
			task := s.AddTask(t)
			d := s.DispatchSpec(s.Spec(task))
			h := reach(s)
			after := apitest.Into[workflow.Detail](t, http.StatusOK, s.Control(task.ID, workflow.ControlCancel))
			require.Equal(t, workflow.PhaseCancelled, after.Phase)
			require.Equal(t, workflow.OutcomeCancelled, *after.Attempts[len(after.Attempts)-1].Outcome)
			if h != nil { // the lease is dead at once; the node need not be told first
				for _, a := range []apitest.Answer{renew(h), h.Event(workflow.Event{State: workflow.EventFailed, Reason: ptr("late")})} {
					apitest.Refused(t, http.StatusConflict, contracts.CodeExecutionTerminal, a)
					require.Contains(t, string(a.Body), `"reason":"cancelled"`)
				}
			}
			require.Empty(t, apitest.Into[workflow.OfferList](t, http.StatusOK, s.Bridge("GET", "/bridge/v1/executions", nil)).Executions)
			again := apitest.Into[workflow.Detail](t, http.StatusOK, s.Control(task.ID, workflow.ControlCancel))
			require.Equal(t, after.History, again.History, "a cancel of the cancelled is answered unchanged")
			closes(t, s, d.WorkflowID)
			require.Equal(t, 2, s.DispatchSpec(s.Spec(task)).Revision)
			sound(t, s)
		})
	}
}

func TestControl(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	task := s.AddTask(t)
	path := "/v1/tasks/" + task.ID + "/workflow/control"
	request := workflow.ControlRequest{ExpectedVersion: 1, Action: workflow.ControlCancel, WriteContext: s.WriteContext()}
	apitest.Refused(t, http.StatusNotFound, contracts.CodeNotFound, s.Operator("POST", path, request))
	s.DispatchSpec(s.Spec(task))

	bad := request
	bad.WriteContext.InstanceID = uuid.NewString()
	apitest.Refused(t, http.StatusConflict, contracts.CodeWriteContext, s.Operator("POST", path, bad))
	bad = request
	bad.ExpectedVersion = 7
	apitest.Refused(t, http.StatusConflict, contracts.CodeVersionConflict, s.Operator("POST", path, bad))
	bad = request
	bad.WorkflowID = ptr(uuid.NewString())
	apitest.Refused(t, http.StatusConflict, contracts.CodeWorkflowSuperseded, s.Operator("POST", path, bad))
	bad = request
	bad.Action = "pause"
	apitest.Refused(t, http.StatusUnprocessableEntity, contracts.CodeInvalid, s.Operator("POST", path, bad))

	apitest.Refused(t, http.StatusConflict, contracts.CodeNothingToReconcile, s.Control(task.ID, workflow.ControlReconcile))
	h := s.Claim()
	apitest.Refused(t, http.StatusConflict, contracts.CodeLeaseActive, s.Control(task.ID, workflow.ControlReconcile))
	h.Run()
	require.Equal(t, http.StatusOK, h.Event(h.Completed(candidate)).Status)
	apitest.Refused(t, http.StatusConflict, contracts.CodeNothingToReconcile, s.Control(task.ID, workflow.ControlReconcile))
	s.Verify()
	apitest.Refused(t, http.StatusConflict, contracts.CodeWorkflowTerminal, s.Control(task.ID, workflow.ControlCancel))
	require.Equal(t, http.StatusOK, s.Control(task.ID, workflow.ControlReconcile).Status, "reconcile of the final is answered unchanged")
	sound(t, s)
}

func TestReconcileSettlesAnExpiredAttempt(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Lease: 10 * 1e6 * 30, NoSweeper: true})
	d := s.DispatchTask()
	s.Claim()
	eventually(t, "expired", func() bool {
		now := s.Detail(d.TaskID)
		return now.Phase == workflow.PhaseBlocked || now.ActiveAttempt.LeaseExpired
	})
	after := apitest.Into[workflow.Detail](t, http.StatusOK, s.Control(d.TaskID, workflow.ControlReconcile))
	require.Equal(t, workflow.PhaseBlocked, after.Phase)
	require.Equal(t, workflow.ReasonLeaseExpired, *after.Reason)
	blocked := apitest.Into[workflow.Detail](t, http.StatusOK, s.Control(d.TaskID, workflow.ControlReconcile))
	require.Equal(t, after.History, blocked.History)
	apitest.Refused(t, http.StatusConflict, contracts.CodeWorkflowTerminal, s.Control(d.TaskID, workflow.ControlCancel))
	sound(t, s)
}

func TestHistoryPages(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	d := s.DispatchTask()
	_, err := s.Pool.Exec(t.Context(), `INSERT INTO history (workflow_id, sequence, kind) SELECT $1, n, 'rearmed' FROM generate_series(3, 1000) n`, d.WorkflowID)
	require.NoError(t, err)
	for _, limit := range []int{1, 7, 100} {
		after, next := 0, 1
		for {
			page := apitest.Into[workflow.Detail](t, http.StatusOK, s.Operator("GET", fmt.Sprintf("/v1/workflows/%s?after=%d&limit=%d", d.WorkflowID, after, limit), nil))
			for _, h := range page.History {
				require.Equal(t, next, h.Sequence)
				next++
			}
			if len(page.History) == 0 {
				require.Equal(t, after, page.NextAfter)
				break
			}
			after = page.NextAfter
		}
		require.Equal(t, 1001, next, "each sequence once with limit %d", limit)
	}
}
