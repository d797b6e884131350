// The twelve rules that must always hold, each by a test that names it. See docs/workflow.md.

package api_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/api/apitest"
	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/workflow"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

const soon = 20 * time.Second // a bound for what should take a moment

// sound holds the stack's database to every invariant.
func sound(t *testing.T, s *apitest.Stack) {
	t.Helper()
	findings, err := s.Store.Fsck(t.Context())
	require.NoError(t, err)
	require.Empty(t, findings)
}

// stopWorkers stops all of them.
func stopWorkers(s *apitest.Stack) {
	for _, w := range s.Workers {
		w.Stop()
	}
}

// closes waits until Temporal has closed the revision's workflow.
func closes(t *testing.T, s *apitest.Stack, workflowID string) {
	t.Helper()
	eventually(t, "the workflow closes", func() bool {
		closed, err := s.Gateway.Closed(t.Context(), workflowID)
		return err == nil && closed
	})
}

// elsewhere is a second project that the node works for, with a task.
func elsewhere(t *testing.T, s *apitest.Stack) (workflow.WriteContext, workflow.Task) {
	t.Helper()
	other, err := s.Store.CreateProject(t.Context(), s.Owner.User, workflow.CreateProject{Name: "other", Repository: "r"})
	require.NoError(t, err)
	_, err = s.Store.PatchNode(t.Context(), s.Owner.User, s.Node.ID, workflow.PatchNode{Projects: &[]string{s.Project.ID, other.ID}})
	require.NoError(t, err)
	there := s.WriteContext()
	there.ProjectID = &other.ID
	task, err := s.Store.CreateTask(t.Context(), s.Owner.User, workflow.CreateTask{WriteContext: there, Title: "t", Goal: "g"})
	require.NoError(t, err)
	return there, task
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	require.Eventually(t, f, soon, 20*time.Millisecond, what)
}

func TestRule01Frozen(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	d := s.DispatchTask()
	require.Equal(t, canonjson.Digest(d.Contract), d.ContractDigest, "anyone can recompute the digest from the answer")
	patch := workflow.PatchTask{WriteContext: s.WriteContext(), ExpectedVersion: 1, Title: ptr("A nicer title"), Labels: &[]string{"new"}}
	task := apitest.Into[workflow.Task](t, http.StatusOK, s.Operator("PATCH", "/v1/tasks/"+d.TaskID, patch))
	require.Equal(t, 2, task.Version, "a cosmetic edit is always possible")
	patch = workflow.PatchTask{WriteContext: s.WriteContext(), ExpectedVersion: 2, Goal: ptr("Something else.")}
	apitest.Refused(t, http.StatusConflict, contracts.CodeManagedByWorkflow, s.Operator("PATCH", "/v1/tasks/"+d.TaskID, patch))
	status := workflow.TaskCancelled
	patch = workflow.PatchTask{WriteContext: s.WriteContext(), ExpectedVersion: 2, Status: &status}
	apitest.Refused(t, http.StatusConflict, contracts.CodeManagedByWorkflow, s.Operator("PATCH", "/v1/tasks/"+d.TaskID, patch))
	s.Work(candidate)
	after := s.Detail(d.TaskID)
	require.Equal(t, string(d.Contract), string(after.Contract))

	// A contract that was changed behind the server's back is signed for by nobody.
	_, err := s.Pool.Exec(t.Context(), `UPDATE revisions SET contract = replace(convert_from(contract, 'UTF8'), 'It builds.', 'It breaks.')::bytea`)
	require.NoError(t, err)
	h := s.Claim().Run()
	e := h.Completed(candidate)
	e.Verdict = h.Verdict()
	apitest.Refused(t, http.StatusInternalServerError, contracts.CodeInternal, h.Event(e))
	apitest.Refused(t, http.StatusNotFound, contracts.CodeNotFound, s.Operator("GET", "/v1/tasks/"+d.TaskID+"/receipt", nil))
}

func TestRule02OnePerNode(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	there, task := elsewhere(t, s)
	var (
		wg       sync.WaitGroup
		statuses = make(chan int, 2)
	)
	for _, r := range []workflow.DispatchRequest{
		{Spec: s.Spec(s.AddTask(t)), WriteContext: s.WriteContext()}, {Spec: s.Spec(task), WriteContext: there},
	} {
		wg.Go(func() { statuses <- s.Operator("POST", "/v1/workflows", r).Status })
	}
	wg.Wait()
	require.ElementsMatch(t, []int{http.StatusCreated, http.StatusConflict}, []int{<-statuses, <-statuses})
	_, err := s.Pool.Exec(t.Context(), `INSERT INTO executions (id, kind, ordinal, task_id, project_id, node_id, purpose, number, state, phase, base_commit)
		VALUES ('x', 'ordinary', 1, $1, $2, $3, 'work', 1, 'offered', 'offered', 'b')`, task.ID, task.ProjectID, s.Node.ID)
	require.ErrorContains(t, err, "executions_node_slot", "every kind of execution counts")
	sound(t, s)
}

// TestRule03AtomicSteps breaks the last write of each step that is more than one, and sees that none
// of it happened; then mends it, and sees that all of it happens once.
func TestRule03AtomicSteps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		table, when string
		act         func(s *apitest.Stack) func() apitest.Answer
		before      workflow.Phase
		after       workflow.Phase
		status      int // of the call that goes through
	}{
		"worker result and verifier offer": {
			"executions", "NEW.purpose = 'verify'", func(s *apitest.Stack) func() apitest.Answer {
				h := s.Claim().Run()
				e := h.Completed(candidate)
				return again(h, e)
			}, workflow.PhaseRunning, workflow.PhaseAwaitingVerification, http.StatusOK,
		},
		"failed criterion and correction offer": {
			"executions", "NEW.number = 2", func(s *apitest.Stack) func() apitest.Answer {
				s.Work(candidate)
				h := s.Claim().Run()
				e := h.Completed(candidate)
				e.Verdict = h.Verdict("tests")
				return again(h, e)
			}, workflow.PhaseVerifying, workflow.PhaseOffered, http.StatusOK,
		},
		"all-pass verdict, receipt and task": {
			"receipts", "true", func(s *apitest.Stack) func() apitest.Answer {
				s.Work(candidate)
				h := s.Claim().Run()
				e := h.Completed(candidate)
				e.Verdict = h.Verdict()
				return again(h, e)
			}, workflow.PhaseVerifying, workflow.PhaseAccepted, http.StatusOK,
		},
		"contract violation and free slot": {
			"ledger", "true", func(s *apitest.Stack) func() apitest.Answer {
				h := s.Claim().Run()
				e := h.Completed(candidate)
				e.Completion = []byte(`{"summary":""}`)
				return again(h, e)
			}, workflow.PhaseRunning, workflow.PhaseBlocked, http.StatusUnprocessableEntity,
		},
		"refusal and follow-ups": {
			"tasks", "NEW.parent_task_id IS NOT NULL", func(s *apitest.Stack) func() apitest.Answer {
				return again(s.Claim().Run(), workflow.Event{State: workflow.EventFailed, Refusal: []byte(split)})
			}, workflow.PhaseRunning, workflow.PhaseBlocked, http.StatusOK,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t, apitest.Options{})
			d := s.DispatchTask()
			call := c.act(s)
			_, err := s.Pool.Exec(t.Context(), `CREATE FUNCTION break_it() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'broken'; END $$;
				CREATE TRIGGER break_it BEFORE INSERT ON `+c.table+` FOR EACH ROW WHEN (`+c.when+`) EXECUTE FUNCTION break_it()`)
			require.NoError(t, err)
			before := s.Detail(d.TaskID)
			require.Equal(t, c.before, before.Phase)
			apitest.Refused(t, http.StatusServiceUnavailable, contracts.CodeUnavailable, call())
			require.Equal(t, before, s.Detail(d.TaskID), "nothing of a step that failed is there")
			sound(t, s)
			_, err = s.Pool.Exec(t.Context(), `DROP FUNCTION break_it CASCADE`)
			require.NoError(t, err)
			eventually(t, "the same call goes through once the database does", func() bool { return call().Status == c.status })
			require.Equal(t, c.after, s.Detail(d.TaskID).Phase)
			sound(t, s)
		})
	}
}

// again sends the same event whenever it is called, once each time.
func again(h *apitest.Held, e workflow.Event) func() apitest.Answer {
	h.Sequence++
	e.Fence, e.Sequence = h.Fence(), h.Sequence
	return func() apitest.Answer { return h.TryPost("events", e) }
}

func TestRule05Lease(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	s.DispatchTask()
	h := s.Claim()
	require.Equal(t, 90.0, h.LeaseSeconds)
	require.Equal(t, 90*time.Second, h.LeaseExpiresAt.Sub(h.ServerTime))
	require.Equal(t, 900*time.Second, h.DeadlineAt.Sub(h.ServerTime))
	r := apitest.Into[workflow.RenewAnswer](t, http.StatusOK, h.Post("renew", h.Fence()))
	require.Equal(t, 90*time.Second, r.LeaseExpiresAt.Sub(r.ServerTime))
	require.Equal(t, h.DeadlineAt, r.DeadlineAt, "a renewal does not move the deadline")
	require.True(t, r.LeaseExpiresAt.After(h.LeaseExpiresAt))
}

func TestRule05LostLease(t *testing.T) {
	t.Parallel()
	for name, noSweeper := range map[string]bool{"by Temporal": true, "with the sweeper": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t, apitest.Options{Lease: time.Second, NoSweeper: noSweeper})
			d := s.DispatchTask()
			h := s.Claim()
			eventually(t, "blocked without a call", func() bool { return s.Detail(d.TaskID).Phase == workflow.PhaseBlocked })
			after := s.Detail(d.TaskID)
			require.Equal(t, workflow.ReasonLeaseExpired, *after.Reason)
			require.Equal(t, workflow.AttemptInterrupted, after.Attempts[0].Phase)
			require.Less(t, after.Attempts[0].EndedAt.Sub(h.LeaseExpiresAt), 5*time.Second)
			a := h.Post("renew", h.Fence())
			apitest.Refused(t, http.StatusConflict, contracts.CodeExecutionTerminal, a)
			require.Contains(t, string(a.Body), `"reason":"lease_expired"`)
			sound(t, s)
		})
	}
}

func TestRule05LateCallsRecordTheExpiry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lease, deadline time.Duration
		code            contracts.Code
		call            func(h *apitest.Held) apitest.Answer
	}{
		"renew":                {200 * time.Millisecond, time.Minute, contracts.CodeLeaseExpired, renew},
		"event":                {200 * time.Millisecond, time.Minute, contracts.CodeLeaseExpired, preparing},
		"renew after deadline": {time.Second, 200 * time.Millisecond, contracts.CodeDeadlineExceeded, renew},
		"event after deadline": {time.Second, 200 * time.Millisecond, contracts.CodeDeadlineExceeded, preparing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t, apitest.Options{Lease: c.lease, Deadline: c.deadline, NoSweeper: true})
			d := s.DispatchTask()
			h := s.Claim()
			eventually(t, "reads show that the lease is over", func() bool {
				now := s.Detail(d.TaskID)
				return now.ActiveAttempt != nil && now.ActiveAttempt.LeaseExpired || now.Phase == workflow.PhaseBlocked
			})
			a := c.call(h)
			after := s.Detail(d.TaskID)
			require.Equal(t, workflow.PhaseBlocked, after.Phase, "the call that ran into it recorded it")
			require.EqualValues(t, c.code, *after.Reason)
			if a.Code() != contracts.CodeExecutionTerminal { // Temporal may have been first
				apitest.Refused(t, http.StatusConflict, c.code, a)
			}
			sound(t, s)
		})
	}
}

func renew(h *apitest.Held) apitest.Answer { return h.Post("renew", h.Fence()) }

func preparing(h *apitest.Held) apitest.Answer {
	return h.Event(workflow.Event{State: workflow.EventPreparing})
}

func TestRule05TheDeadlineIsNotExtended(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Lease: 2 * time.Second, Deadline: 3 * time.Second})
	d := s.DispatchTask()
	h := s.Claim()
	eventually(t, "renewals end at the deadline", func() bool {
		a := h.Post("renew", h.Fence())
		if a.Status == http.StatusOK {
			r := apitest.Into[workflow.RenewAnswer](t, http.StatusOK, a)
			require.False(t, r.LeaseExpiresAt.After(h.DeadlineAt))
		}
		return a.Status != http.StatusOK
	})
	eventually(t, "blocked", func() bool { return s.Detail(d.TaskID).Phase == workflow.PhaseBlocked })
	after := s.Detail(d.TaskID)
	require.Equal(t, workflow.ReasonDeadlineExceeded, *after.Reason)
	require.Less(t, after.Attempts[0].EndedAt.Sub(h.DeadlineAt), 5*time.Second)
	sound(t, s)
}

func TestRule06Fencing(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	d := s.DispatchTask()
	offered := d.ActiveAttempt.ExecutionID
	unclaimed := workflow.Fence{LeaseID: uuid.NewString(), FencingToken: 1}
	for _, route := range []string{"renew", "stopped"} {
		apitest.Refused(t, http.StatusConflict, contracts.CodeFenced, s.Bridge("POST", "/bridge/v1/executions/"+offered+"/"+route, unclaimed))
	}
	apitest.Refused(t, http.StatusConflict, contracts.CodeFenced, s.Bridge("POST", "/bridge/v1/executions/"+offered+"/events",
		workflow.Event{Fence: unclaimed, Sequence: 1, State: workflow.EventPreparing}))
	h := s.Claim()
	before := s.Detail(d.TaskID)
	for _, held := range []workflow.Fence{
		{LeaseID: h.LeaseID, FencingToken: h.FencingToken + 1},
		{LeaseID: uuid.NewString(), FencingToken: h.FencingToken},
	} {
		apitest.Refused(t, http.StatusConflict, contracts.CodeFenced, h.Post("renew", held))
		apitest.Refused(t, http.StatusConflict, contracts.CodeFenced, h.Post("stopped", held))
		apitest.Refused(t, http.StatusConflict, contracts.CodeFenced, h.Post("events", workflow.Event{Fence: held, Sequence: 1, State: workflow.EventPreparing}))
	}
	require.Equal(t, before, s.Detail(d.TaskID))
	first := h.FencingToken
	h.Run()
	require.Equal(t, http.StatusOK, h.Event(h.Completed(candidate)).Status)
	require.Greater(t, s.Claim().FencingToken, first, "tokens grow with every claim")
}

func TestRule07Replay(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{APIs: 2})
	request := workflow.DispatchRequest{Spec: s.Spec(s.AddTask(t)), WriteContext: s.WriteContext()}
	first := apitest.Into[workflow.Detail](t, http.StatusCreated, s.Operator("POST", "/v1/workflows", request))
	h := s.Claim().Run()
	claim := workflow.ClaimRequest{ClaimID: uuid.NewString()}
	apitest.Refused(t, http.StatusConflict, contracts.CodeAlreadyClaimed, h.Post("claim", claim))
	completed := h.Completed(candidate)
	send := again(h, completed)
	answer := send()
	require.Equal(t, http.StatusOK, answer.Status)
	require.Equal(t, string(answer.Body), string(send().Body))
	v := s.Claim()
	v.Run()
	e := v.Completed(candidate)
	e.Verdict = v.Verdict()
	verdict := again(v, e)
	accepted := verdict()
	require.Equal(t, http.StatusOK, accepted.Status)
	before := s.Detail(first.TaskID)
	for _, url := range s.URLs { // also after the end, and from another API process
		s.URL = url
		require.Equal(t, string(answer.Body), string(send().Body))
		require.Equal(t, string(accepted.Body), string(verdict().Body))
		replay := apitest.Into[workflow.Detail](t, http.StatusOK, s.Operator("POST", "/v1/workflows", request))
		require.Equal(t, first.WorkflowID, replay.WorkflowID)
	}
	require.Equal(t, before, s.Detail(first.TaskID))
	sound(t, s)
}

func TestRule07TheSameClaimIsTheSameLease(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{APIs: 2})
	d := s.DispatchTask()
	execution := d.ActiveAttempt.ExecutionID
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		seen = map[string]int{}
	)
	same := uuid.NewString()
	for i := range 12 {
		wg.Go(func() {
			id := same
			if i%3 == 0 {
				id = uuid.NewString()
			}
			a := apitest.Call(t, "POST", s.URLs[i%2], "/bridge/v1/executions/"+execution+"/claim", s.NodeToken, workflow.ClaimRequest{ClaimID: id})
			mu.Lock()
			defer mu.Unlock()
			if a.Status == http.StatusOK {
				seen[apitest.Into[workflow.ClaimAnswer](t, http.StatusOK, a).LeaseID]++
				return
			}
			seen[string(a.Code())]++
		})
	}
	wg.Wait()
	require.Len(t, seen, 2, "one lease, and refusals: %v", seen)
	require.NotZero(t, seen[string(contracts.CodeAlreadyClaimed)])
	sound(t, s)
}

func TestRule08Separation(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	spec := s.Spec(s.AddTask(t))
	bad := spec
	bad.Verifier.ProfileID = bad.Profile.ProfileID
	apitest.Refused(t, http.StatusUnprocessableEntity, contracts.CodeInvalid,
		s.Operator("POST", "/v1/workflows", workflow.DispatchRequest{Spec: bad, WriteContext: s.WriteContext()}))
	bad = spec
	bad.Verifier.AllowWorkspaceWrites = true
	apitest.Refused(t, http.StatusUnprocessableEntity, contracts.CodeInvalid,
		s.Operator("POST", "/v1/workflows", workflow.DispatchRequest{Spec: bad, WriteContext: s.WriteContext()}))
	s.DispatchSpec(spec)
	w := s.Claim().Run()
	e := w.Completed(candidate)
	e.Verdict = &workflow.Verdict{
		ContractDigest: w.Plan.Workflow.ContractDigest, CandidateCommit: candidate, WorkerExecutionID: w.ExecutionID, VerifierExecutionID: w.ExecutionID,
	}
	apitest.Refused(t, http.StatusUnprocessableEntity, contracts.CodeInvalid, w.Event(e))
	w.Sequence--
	require.Equal(t, http.StatusOK, w.Event(w.Completed(candidate)).Status)
	v := s.Claim()
	require.NotEqual(t, w.Plan.SessionID, v.Plan.SessionID)
	require.Equal(t, "verifier", v.Plan.Profile.ProfileID)
	preparing(v)
	apitest.Refused(t, http.StatusConflict, contracts.CodeSessionReused,
		v.Event(workflow.Event{State: workflow.EventRunning, ProviderSessionID: &w.Session}))
}

func TestRule09Verdict(t *testing.T) {
	t.Parallel()
	other := strings.Repeat("dd", 20)
	for name, c := range map[string]struct {
		spoil  func(e *workflow.Event)
		reason workflow.Reason
	}{
		"other digest":        {func(e *workflow.Event) { e.Verdict.ContractDigest = strings.Repeat("ab", 32) }, workflow.ReasonVerdictInvalid},
		"other candidate":     {func(e *workflow.Event) { e.Verdict.CandidateCommit = other }, workflow.ReasonVerdictInvalid},
		"other worker":        {func(e *workflow.Event) { e.Verdict.WorkerExecutionID = uuid.NewString() }, workflow.ReasonVerdictInvalid},
		"other verifier":      {func(e *workflow.Event) { e.Verdict.VerifierExecutionID = uuid.NewString() }, workflow.ReasonVerdictInvalid},
		"other result commit": {func(e *workflow.Event) { e.ResultCommit = &other }, workflow.ReasonVerdictInvalid},
		"criterion missing":   {func(e *workflow.Event) { e.Verdict.Results = e.Verdict.Results[:1] }, workflow.ReasonVerdictInvalid},
		"criterion twice":     {func(e *workflow.Event) { e.Verdict.Results[1] = e.Verdict.Results[0] }, workflow.ReasonVerdictInvalid},
		"criterion too many":  {func(e *workflow.Event) { e.Verdict.Results = append(e.Verdict.Results, e.Verdict.Results[0]) }, workflow.ReasonVerdictInvalid},
		"criterion unknown":   {func(e *workflow.Event) { e.Verdict.Results[0].CriterionID = "other" }, workflow.ReasonVerdictInvalid},
		"outcome unknown":     {func(e *workflow.Event) { e.Verdict.Results[0].Outcome = "maybe" }, workflow.ReasonVerdictInvalid},
		"outcome PASS":        {func(e *workflow.Event) { e.Verdict.Results[0].Outcome = "PASS" }, workflow.ReasonVerdictInvalid},
		"feedback blank":      {func(e *workflow.Event) { e.Verdict.Results[0].Feedback = " \u2003" }, workflow.ReasonVerdictInvalid},
		"no verdict":          {func(e *workflow.Event) { e.Verdict = nil }, workflow.ReasonVerdictMissing},
		"no evidence":         {func(e *workflow.Event) { e.EvidencePath = nil }, workflow.ReasonEvidenceMissing},
		"copies differ": {func(e *workflow.Event) {
			e.Verdict.Results[0].Description, e.Verdict.Results[0].Method, e.Verdict.Results[0].Polarity = "It breaks.", "rm -rf /", "negative"
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t, apitest.Options{})
			d := s.DispatchTask()
			s.Work(candidate)
			h := s.Claim().Run()
			e := h.Completed(candidate)
			e.Verdict = h.Verdict()
			c.spoil(&e)
			a := apitest.Into[workflow.EventAnswer](t, http.StatusOK, h.Event(e))
			after := s.Detail(d.TaskID)
			if c.reason == "" {
				require.Equal(t, workflow.PhaseAccepted, after.Phase)
				return
			}
			require.Equal(t, workflow.PhaseBlocked, a.WorkflowPhase)
			require.Equal(t, c.reason, *after.Reason)
			for _, h := range after.History {
				require.NotEqual(t, workflow.EntryChangesRequested, h.Kind, "no substantive failure is made up")
			}
			apitest.Refused(t, http.StatusNotFound, contracts.CodeNotFound, s.Operator("GET", "/v1/tasks/"+d.TaskID+"/receipt", nil))
			sound(t, s)
		})
	}
}

func TestRule10ReadsNeverWrite(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Lease: 300 * time.Millisecond})
	d := s.DispatchTask()
	s.Claim()
	for _, w := range s.Workers {
		w.Stop() // nobody settles: the last phase goes stale
	}
	eventually(t, "stale", func() bool { return s.Detail(d.TaskID).ActiveAttempt.LeaseExpired })
	before := writes(t, s)
	for range 3 {
		stale := s.Detail(d.TaskID)
		require.Equal(t, workflow.PhaseClaimed, stale.Phase)
		require.True(t, stale.ActiveAttempt.LeaseExpired)
		require.NotNil(t, stale.ActiveAttempt.DeadlineAt)
		task := apitest.Into[workflow.Task](t, http.StatusOK, s.Operator("GET", "/v1/tasks/"+d.TaskID, nil))
		require.True(t, task.Workflow.LeaseExpired)
		list := apitest.Into[workflow.TaskList](t, http.StatusOK, s.Operator("GET", "/v1/tasks?project_id="+s.Project.ID, nil))
		require.True(t, list.Tasks[0].Workflow.LeaseExpired)
		require.Equal(t, http.StatusOK, s.Bridge("GET", "/bridge/v1/tasks/"+d.TaskID+"/workflow", nil).Status)
		require.Equal(t, http.StatusOK, s.Bridge("GET", "/bridge/v1/executions", nil).Status)
	}
	require.Equal(t, before, writes(t, s))
}

// writes is the newest transaction that wrote any row of any table.
func writes(t *testing.T, s *apitest.Stack) string {
	t.Helper()
	var all []string
	for _, table := range []string{"tasks", "revisions", "executions", "events", "history", "outbox", "payloads", "tokens", "nodes", "receipts", "idempotency"} {
		var newest string
		require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT coalesce(max(xmin::text::bigint), 0)::text FROM `+table).Scan(&newest))
		all = append(all, table+newest)
	}
	return strings.Join(all, " ")
}

func TestRule11OldRevisionsStayReadable(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	task := s.AddTask(t)
	first := s.DispatchSpec(s.Spec(task))
	h := s.Claim().Run()
	failed := again(h, workflow.Event{State: workflow.EventFailed, Reason: ptr("The compiler is missing.")})
	recorded := failed()
	require.Equal(t, http.StatusOK, recorded.Status)
	second := s.DispatchSpec(s.Spec(task))
	require.Equal(t, 2, second.Revision)
	require.Equal(t, string(recorded.Body), string(failed().Body), "a late event gets the answer that was recorded")
	apitest.Refused(t, http.StatusConflict, contracts.CodeExecutionTerminal, h.Event(workflow.Event{State: workflow.EventInterrupted, Reason: ptr("late")}))
	old := apitest.Into[workflow.Detail](t, http.StatusOK, s.Operator("GET", "/v1/workflows/"+first.WorkflowID+"?limit=100", nil))
	require.Equal(t, workflow.PhaseBlocked, old.Phase)
	require.Equal(t, workflow.ReasonAttemptFailed, *old.Reason)
	require.Equal(t, workflow.OutcomeFailed, *old.Attempts[0].Outcome)
	require.Equal(t, second.WorkflowID, s.Detail(task.ID).WorkflowID)
	sound(t, s)
}

func TestRule12Authority(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		claimed bool
		revoke  func(t *testing.T, s *apitest.Stack)
		reason  workflow.Reason
	}{
		"node revoked with an offer": {false, revokeNode, workflow.ReasonNodeRevoked},
		"node revoked with a lease":  {true, revokeNode, workflow.ReasonNodeRevoked},
		"token revoked with a lease": {true, func(t *testing.T, s *apitest.Stack) {
			var id string
			require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT id FROM tokens WHERE node_id = $1`, s.Node.ID).Scan(&id))
			require.Equal(t, http.StatusOK, s.Operator("POST", "/v1/tokens/"+id+"/revoke", workflow.RevokeToken{}).Status)
		}, workflow.ReasonAuthorityRevoked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t, apitest.Options{})
			d := s.DispatchTask()
			var h *apitest.Held
			if c.claimed {
				h = s.Claim()
			}
			c.revoke(t, s)
			if h != nil {
				require.Contains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, renew(h).Status)
				require.Contains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, preparing(h).Status)
			}
			eventually(t, "blocked without a call from the node", func() bool { return s.Detail(d.TaskID).Phase == workflow.PhaseBlocked })
			require.Equal(t, c.reason, *s.Detail(d.TaskID).Reason)
			sound(t, s)
		})
	}
}

func revokeNode(t *testing.T, s *apitest.Stack) {
	status := workflow.NodeRevoked
	require.Equal(t, http.StatusOK, s.Operator("PATCH", "/v1/nodes/"+s.Node.ID, workflow.PatchNode{Status: &status}).Status)
}

func TestRule12AuthorityOfTheProject(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	there, task := elsewhere(t, s)
	require.Equal(t, http.StatusCreated, s.Operator("POST", "/v1/workflows", workflow.DispatchRequest{Spec: s.Spec(task), WriteContext: there}).Status)
	h := s.Claim()
	require.Equal(t, http.StatusOK, s.Operator("PATCH", "/v1/nodes/"+s.Node.ID, workflow.PatchNode{Projects: &[]string{s.Project.ID}}).Status)
	require.Contains(t, []contracts.Code{contracts.CodeForbidden, contracts.CodeExecutionTerminal}, renew(h).Code())
	eventually(t, "blocked", func() bool { return s.Detail(task.ID).Phase == workflow.PhaseBlocked })
	require.Equal(t, workflow.ReasonAuthorityRevoked, *s.Detail(task.ID).Reason)
}
