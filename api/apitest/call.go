// Calls to a stack, checked for the status they should have.

package apitest

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// Answer is what came back.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Code is the problem's code, "" for a success.
func (a Answer) Code() contracts.Code {
	var p struct {
		Code contracts.Code `json:"code"`
	}
	if a.Status < 400 || json.Unmarshal(a.Body, &p) != nil {
		return ""
	}
	return p.Code
}

// patience is how long Call repeats what is unavailable, as every client should: a loaded machine may
// be slower than a call's limit.
const patience = 30 * time.Second

// Call sends a request to the server at base and repeats it while the answer is 503; body is sent as
// it is when it is bytes, as JSON otherwise, and not at all when nil.
func Call(t testing.TB, method, base, path, token string, body any) Answer {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		a, err := Try(t, method, base, path, token, body)
		require.NoError(t, err)
		if a.Status != http.StatusServiceUnavailable || time.Now().After(end) {
			return a
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Once sends a request a single time, for answers that are to be 503.
func Once(t testing.TB, method, base, path, token string, body any) Answer {
	t.Helper()
	a, err := Try(t, method, base, path, token, body)
	require.NoError(t, err)
	return a
}

// CallWith is Once with raw bytes and headers.
func CallWith(t testing.TB, method, base, path, token string, header http.Header, body io.Reader) Answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, base+path, body)
	require.NoError(t, err)
	for name := range header {
		r.Header[name] = header[name]
	}
	a, err := send(r, token)
	require.NoError(t, err)
	return a
}

// Try sends one request once, to a server that may be away or unavailable.
func Try(t testing.TB, method, base, path, token string, body any) (Answer, error) {
	t.Helper()
	var content io.Reader
	switch b := body.(type) {
	case nil:
	case []byte:
		content = bytes.NewReader(b)
	default:
		data, err := json.Marshal(b)
		require.NoError(t, err)
		content = bytes.NewReader(data)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, base+path, content)
	require.NoError(t, err)
	if content != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return send(r, token)
}

func send(r *http.Request, token string) (Answer, error) {
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return Answer{resp.StatusCode, resp.Header, data}, err
}

// Into reads an answer of the wanted status into T.
func Into[T any](t testing.TB, status int, a Answer) T {
	t.Helper()
	require.Equal(t, status, a.Status, "%s", a.Body)
	var v T
	require.NoError(t, json.Unmarshal(a.Body, &v), "%s", a.Body)
	return v
}

// Refused holds an answer to a refusal's status and code.
func Refused(t testing.TB, status int, code contracts.Code, a Answer) {
	t.Helper()
	require.Equal(t, status, a.Status, "%s", a.Body)
	require.Equal(t, code, a.Code(), "%s", a.Body)
}

// base is the server that the next call goes to.
func (s *Stack) base() string {
	if os.Getenv("COUNTERSIGN_TEST_PAIRS") == "" || len(s.URLs) < 2 {
		return s.URL
	}
	return s.URLs[int(s.calls.Add(1))%len(s.URLs)]
}

// Operator calls as the scene's owner.
func (s *Stack) Operator(method, path string, body any) Answer {
	s.t.Helper()
	return Call(s.t, method, s.base(), path, s.OwnerToken, body)
}

// Bridge calls as the scene's node.
func (s *Stack) Bridge(method, path string, body any) Answer {
	s.t.Helper()
	return Call(s.t, method, s.base(), path, s.NodeToken, body)
}

// DispatchTask makes a task and dispatches it over HTTP.
func (s *Stack) DispatchTask() workflow.Detail {
	s.t.Helper()
	return s.DispatchSpec(s.Spec(s.AddTask(s.t)))
}

// DispatchSpec dispatches a spec over HTTP.
func (s *Stack) DispatchSpec(spec workflow.Spec) workflow.Detail {
	s.t.Helper()
	return Into[workflow.Detail](s.t, http.StatusCreated, s.Operator("POST", "/v1/workflows",
		workflow.DispatchRequest{Spec: spec, WriteContext: s.WriteContext()}))
}

// Detail is the current revision of a task as the operator reads it.
func (s *Stack) Detail(taskID string) workflow.Detail {
	s.t.Helper()
	return Into[workflow.Detail](s.t, http.StatusOK, s.Operator("GET", "/v1/tasks/"+taskID+"/workflow?limit=100", nil))
}

// Control sends a control action for the task's current version.
func (s *Stack) Control(taskID string, action workflow.ControlAction) Answer {
	s.t.Helper()
	task := Into[workflow.Task](s.t, http.StatusOK, s.Operator("GET", "/v1/tasks/"+taskID, nil))
	return s.Operator("POST", "/v1/tasks/"+taskID+"/workflow/control",
		workflow.ControlRequest{ExpectedVersion: task.Version, Action: action, WriteContext: s.WriteContext()})
}

// Held is a claimed attempt as its node plays it.
type Held struct {
	workflow.ClaimAnswer
	Session  string // of the provider
	Sequence int    // of the last event sent
	s        *Stack
}

// Claim claims what is offered to the scene's node.
func (s *Stack) Claim() *Held {
	s.t.Helper()
	offers := Into[workflow.OfferList](s.t, http.StatusOK, s.Bridge("GET", "/bridge/v1/executions?wait=10", nil))
	require.Len(s.t, offers.Executions, 1)
	return s.Hold(offers.Executions[0].ExecutionID, uuid.NewString())
}

// Hold claims an execution under the given claim id.
func (s *Stack) Hold(executionID, claimID string) *Held {
	s.t.Helper()
	a := s.Bridge("POST", "/bridge/v1/executions/"+executionID+"/claim", workflow.ClaimRequest{ClaimID: claimID})
	return &Held{ClaimAnswer: Into[workflow.ClaimAnswer](s.t, http.StatusOK, a), Session: uuid.NewString(), s: s}
}

// Fence is the proof of the held lease.
func (h *Held) Fence() workflow.Fence {
	return workflow.Fence{LeaseID: h.LeaseID, FencingToken: h.FencingToken}
}

// Post sends a body to one of the execution's routes: renew, events, stopped, claim.
func (h *Held) Post(route string, body any) Answer {
	h.s.t.Helper()
	return h.s.Bridge("POST", "/bridge/v1/executions/"+h.ExecutionID+"/"+route, body)
}

// TryPost is Post once, whatever the answer.
func (h *Held) TryPost(route string, body any) Answer {
	h.s.t.Helper()
	return Once(h.s.t, "POST", h.s.URL, "/bridge/v1/executions/"+h.ExecutionID+"/"+route, h.s.NodeToken, body)
}

// Event sends the next event and returns the answer, whatever it is.
func (h *Held) Event(e workflow.Event) Answer {
	h.s.t.Helper()
	h.Sequence++
	e.Fence, e.Sequence = h.Fence(), h.Sequence
	return h.Post("events", e)
}

// FenceHeader is the proof of the held lease for routes of raw bytes.
func (h *Held) FenceHeader() http.Header {
	return http.Header{"X-Lease-Id": {h.LeaseID}, "X-Fencing-Token": {strconv.FormatInt(h.FencingToken, 10)}}
}

// Upload hands in a deliverable.
func (h *Held) Upload(data string) Answer {
	h.s.t.Helper()
	return CallWith(h.s.t, "PUT", h.s.base(), "/bridge/v1/executions/"+h.ExecutionID+"/artifact", h.s.NodeToken, h.FenceHeader(), strings.NewReader(data))
}

// Candidate reads the artifact to verify or to correct.
func (h *Held) Candidate() Answer {
	h.s.t.Helper()
	return CallWith(h.s.t, "GET", h.s.base(), "/bridge/v1/executions/"+h.ExecutionID+"/candidate", h.s.NodeToken, h.FenceHeader(), nil)
}

// Run takes the attempt to running.
func (h *Held) Run() *Held {
	h.s.t.Helper()
	Into[workflow.EventAnswer](h.s.t, http.StatusOK, h.Event(workflow.Event{State: workflow.EventPreparing}))
	Into[workflow.EventAnswer](h.s.t, http.StatusOK, h.Event(workflow.Event{State: workflow.EventRunning, ProviderSessionID: &h.Session}))
	return h
}

// Completed is the attempt's terminal event with all that a result needs.
func (h *Held) Completed(commit string) workflow.Event {
	zero, clean, evidence := 0, true, "evidence/run.json"
	return workflow.Event{
		State: workflow.EventCompleted, ProviderSessionID: &h.Session, ExitCode: &zero, ResultCommit: &commit,
		EvidencePath: &evidence, CleanWorkspace: &clean,
	}
}

// Produced is Completed for a task that produces an artifact.
func (h *Held) Produced(contentHash string) workflow.Event {
	e := h.Completed("")
	e.ResultCommit, e.CleanWorkspace, e.ArtifactHash = nil, nil, &contentHash
	return e
}

// Verdict is a valid one for this verification, failing the criteria named.
func (h *Held) Verdict(failing ...string) *workflow.Verdict {
	w := h.Plan.Workflow
	v := &workflow.Verdict{
		ContractDigest:    w.ContractDigest,
		WorkerExecutionID: *w.WorkerExecutionID, VerifierExecutionID: h.ExecutionID,
	}
	if w.CandidateHash != nil {
		v.CandidateHash = *w.CandidateHash
	} else {
		v.CandidateCommit = *w.CandidateCommit
	}
	for _, c := range w.Criteria {
		outcome := workflow.CriterionPass
		for _, id := range failing {
			if id == c.ID {
				outcome = workflow.CriterionFail
			}
		}
		v.Results = append(v.Results, workflow.VerdictResult{
			CriterionID: c.ID, Outcome: outcome, EvidencePath: "evidence/" + c.ID + ".json", Feedback: "Looked at " + c.ID + ".",
		})
	}
	return v
}

// Work claims the offer and completes it with a candidate.
func (s *Stack) Work(commit string) workflow.EventAnswer {
	s.t.Helper()
	h := s.Claim().Run()
	return Into[workflow.EventAnswer](s.t, http.StatusOK, h.Event(h.Completed(commit)))
}

// Verify claims the verification and hands in a verdict, failing the criteria named.
func (s *Stack) Verify(failing ...string) workflow.EventAnswer {
	s.t.Helper()
	h := s.Claim().Run()
	e := h.Completed(*h.Plan.Workflow.CandidateCommit)
	e.Verdict = h.Verdict(failing...)
	return Into[workflow.EventAnswer](s.t, http.StatusOK, h.Event(e))
}
