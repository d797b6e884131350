// The completion contract over HTTP: ordinary tasks, work attempts, ledgers and the inbox.

package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/api/apitest"
	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

// completion is a completion call's body with a raw member, for what no Go value can hold.
func completion(s *apitest.Stack, version int, member string) []byte {
	context, _ := json.Marshal(s.WriteContext())
	return fmt.Appendf(nil, `{"write_context":%s,"expected_version":%d,%s}`, context, version, member)
}

const split = `{"contract":"worker-completion/v1","kind":"scope_exceeded","detail":"Too large.","proposed_split":["Migrate auth","Migrate billing"]}`

func TestCompletingATask(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	for name, c := range map[string]struct {
		member string
		status workflow.TaskStatus
		path   string // of a violation
	}{
		"completion":           {`"payload":{"summary":"Done."}`, workflow.TaskDone, ""},
		"completion as text":   {`"result_summary":"{\"summary\":\"Done.\"}"`, workflow.TaskDone, ""},
		"prose":                {`"result_summary":"All is well."`, workflow.TaskDone, ""},
		"prose with U+0000":    {`"result_summary":"All\u0000well."`, workflow.TaskDone, ""},
		"question":             {`"payload":{"kind":"awaiting_operator","detail":"d","question":"Which key?"}`, workflow.TaskRefused, ""},
		"split":                {`"payload":` + split, workflow.TaskRefused, ""},
		"no summary":           {`"payload":{}`, workflow.TaskFailed, "$.summary"},
		"unknown field":        {`"payload":{"summary":"s","mood":"good"}`, workflow.TaskFailed, "$.mood"},
		"unknown kind":         {`"payload":{"kind":"tired","detail":"d"}`, workflow.TaskFailed, "$.kind"},
		"empty item":           {`"payload":{"kind":"scope_exceeded","detail":"d","proposed_split":["a"," "]}`, workflow.TaskFailed, "$.proposed_split[1]"},
		"duplicate key":        {`"payload":{"summary":"s","summary":"t"}`, workflow.TaskFailed, "$.summary"},
		"case twin":            {`"payload":{"summary":"s","Summary":"t"}`, workflow.TaskFailed, "$.Summary"},
		"lone surrogate":       {`"payload":{"summary":"\ud800"}`, workflow.TaskFailed, "$"},
		"invalid UTF-8":        {"\"payload\":{\"summary\":\"\xff\"}", workflow.TaskFailed, "$"},
		"deep":                 {`"payload":` + deep, workflow.TaskFailed, "$"},
		"no object":            {`"payload":[]`, workflow.TaskFailed, "$"},
		"truncated text":       {`"result_summary":"{\"summary\":\"Do"`, workflow.TaskFailed, "$"},
		"NaN in text":          {`"result_summary":"{\"summary\":NaN}"`, workflow.TaskFailed, "$"},
		"long key with U+0000": {`"payload":{"summary":"s","` + strings.Repeat("k", 5000) + `\u0000":1}`, workflow.TaskFailed, "$." + strings.Repeat("k", 5000) + "\x00"},
		"huge text":            {`"result_summary":"` + strings.Repeat("x", 1<<20-500) + `"`, workflow.TaskDone, ""},
		"huge summary":         {`"payload":{"summary":"` + strings.Repeat("x", 1<<20-500) + `"}`, workflow.TaskFailed, "$.summary"},
	} {
		t.Run(name, func(t *testing.T) {
			task := s.AddTask(t)
			path := "/v1/tasks/" + task.ID + "/complete"
			body := completion(s, 1, c.member)
			first := s.Operator("POST", path, body)
			if c.path != "" {
				apitest.Refused(t, http.StatusUnprocessableEntity, contracts.CodeContractViolation, first)
				var p struct {
					Path     string `json:"path"`
					Contract string `json:"contract"`
				}
				require.NoError(t, json.Unmarshal(first.Body, &p))
				require.Equal(t, c.path, p.Path)
				require.Equal(t, "worker-completion/v1", p.Contract)
			} else {
				require.Equal(t, http.StatusOK, first.Status, "%.300s", first.Body)
			}
			after := apitest.Into[workflow.Task](t, http.StatusOK, s.Operator("GET", "/v1/tasks/"+task.ID, nil))
			require.Equal(t, c.status, after.Status)
			require.Equal(t, 2, after.Version)
			if c.path != "" {
				require.Equal(t, "contract_violation", after.TerminalReason)
			}
			again := s.Operator("POST", path, body)
			require.Equal(t, first.Status, again.Status)
			require.Equal(t, string(first.Body), string(again.Body), "an exact replay gets the recorded answer")
			for _, other := range []string{`"result_summary":"Something else."`, `"payload":{"bad":1}`} {
				apitest.Refused(t, http.StatusConflict, contracts.CodeAlreadyTerminal, s.Operator("POST", path, completion(s, 2, other)))
			}
			require.Equal(t, after, apitest.Into[workflow.Task](t, http.StatusOK, s.Operator("GET", "/v1/tasks/"+task.ID, nil)), "nothing changed")
			l := ledger(t, s, task.ID)
			require.Len(t, l.Entries, 1)
			require.Equal(t, c.path, l.Entries[0].Path)
			require.Nil(t, workflow.VerifyLedger(task.ID, l.Entries, l.Count, l.Head))
		})
	}
	sound(t, s)
}

func ledger(t *testing.T, s *apitest.Stack, taskID string) workflow.Ledger {
	t.Helper()
	return apitest.Into[workflow.Ledger](t, http.StatusOK, s.Operator("GET", "/v1/tasks/"+taskID+"/ledger?limit=100", nil))
}

func TestCompletionsThatChangeNothing(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	task := s.AddTask(t)
	path := "/v1/tasks/" + task.ID + "/complete"
	good := `"payload":{"summary":"s"}`
	apitest.Refused(t, http.StatusUnprocessableEntity, contracts.CodeInvalid, s.Operator("POST", path, completion(s, 1, good+`,"result_summary":"x"`)))
	apitest.Refused(t, http.StatusUnprocessableEntity, contracts.CodeInvalid, s.Operator("POST", path, completion(s, 1, `"payload":null`)))
	apitest.Refused(t, http.StatusBadRequest, contracts.CodeMalformedJSON, s.Operator("POST", path, completion(s, 1, `"payload":{"summary":NaN}`)))
	apitest.Refused(t, http.StatusConflict, contracts.CodeVersionConflict, s.Operator("POST", path, completion(s, 3, good)))
	apitest.Refused(t, http.StatusNotFound, contracts.CodeNotFound, s.Operator("POST", "/v1/tasks/other/complete", completion(s, 1, good)))
	d := s.DispatchSpec(s.Spec(task))
	apitest.Refused(t, http.StatusConflict, contracts.CodeManagedByWorkflow, s.Operator("POST", path, completion(s, 1, good)))
	apitest.Refused(t, http.StatusConflict, contracts.CodeManagedByWorkflow, s.Operator("POST", path, completion(s, 1, `"payload":{}`)))
	require.Equal(t, workflow.PhaseOffered, s.Detail(d.TaskID).Phase)
	require.Equal(t, workflow.TaskOpen, apitest.Into[workflow.Task](t, http.StatusOK, s.Operator("GET", "/v1/tasks/"+task.ID, nil)).Status)

	_, err := s.Pool.Exec(t.Context(), `UPDATE tasks SET artifact_spec = '{"kind":"dataset"}' WHERE id = $1`, s.AddTask(t).ID)
	require.NoError(t, err)
	var artifact string
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT id FROM tasks WHERE artifact_spec IS NOT NULL`).Scan(&artifact))
	a := s.Operator("POST", "/v1/tasks/"+artifact+"/complete", completion(s, 1, good))
	apitest.Refused(t, http.StatusConflict, contracts.CodeArtifactMode, a)
	require.Contains(t, string(a.Body), "dataset requires artifact-mode evaluation")
	sound(t, s)
}

// followUps are the tasks derived from a parent, by title.
func followUps(t *testing.T, s *apitest.Stack, parent string) map[string]workflow.Task {
	t.Helper()
	out := map[string]workflow.Task{}
	list := apitest.Into[workflow.TaskList](t, http.StatusOK, s.Operator("GET", "/v1/tasks?limit=100&project_id="+s.Project.ID, nil))
	for _, task := range list.Tasks {
		if task.ParentTaskID == parent {
			out[task.Title] = task
		}
	}
	return out
}

func TestARefusalDeliveredFiftyTimesSplitsOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{APIs: 2})
	task := s.AddTask(t)
	body := completion(s, 1, `"payload":`+split)
	calls := []func(){}
	for i := range 50 {
		calls = append(calls, func() {
			a := apitest.Call(t, "POST", s.URLs[i%2], "/v1/tasks/"+task.ID+"/complete", s.OwnerToken, body)
			if a.Status != http.StatusOK {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
	}
	together(calls...)
	made := followUps(t, s, task.ID)
	require.Len(t, made, 2)
	require.Equal(t, "Migrate auth", made["Migrate auth"].Goal)
	require.Equal(t, workflow.TaskOpen, made["Migrate auth"].Status)
	require.True(t, strings.HasPrefix(made["Migrate auth"].ID, "fu-"))
	require.Len(t, ledger(t, s, task.ID).Entries, 1)
	sound(t, s)
}

func TestAFollowUpsIdThatIsTakenRefusesTheRefusal(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	first, second := s.AddTask(t), s.AddTask(t)
	require.Equal(t, http.StatusOK, s.Operator("POST", "/v1/tasks/"+first.ID+"/complete", completion(s, 1, `"payload":`+split)).Status)
	// A collision cannot be made by sending; it is made by renaming what stands in the way.
	_, err := s.Pool.Exec(t.Context(), `UPDATE tasks SET derived_from = 'other' WHERE title = 'Migrate billing'`)
	require.NoError(t, err)
	_, err = s.Pool.Exec(t.Context(), `UPDATE tasks SET status = 'open', version = 1 WHERE id = $1`, first.ID)
	require.NoError(t, err)
	_, err = s.Pool.Exec(t.Context(), `UPDATE ledger SET request_sha256 = NULL`)
	require.NoError(t, err)
	apitest.Refused(t, http.StatusConflict, contracts.CodeFollowUpConflict, s.Operator("POST", "/v1/tasks/"+first.ID+"/complete", completion(s, 1, `"payload":`+split)))
	require.Equal(t, workflow.TaskOpen, apitest.Into[workflow.Task](t, http.StatusOK, s.Operator("GET", "/v1/tasks/"+first.ID, nil)).Status)
	require.Equal(t, http.StatusOK, s.Operator("POST", "/v1/tasks/"+second.ID+"/complete", completion(s, 1, `"payload":`+split)).Status, "another parent has other ids")
}

// TestAWorkersPayload: each shape at the terminal event, what it leads to, and its replay.
func TestAWorkersPayload(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state  workflow.EventState
		member string
		reason workflow.Reason // "" goes on to verification
		path   string          // of a violation
		asks   string
	}{
		"completion":              {workflow.EventCompleted, `"completion":{"summary":"Did it."}`, "", "", ""},
		"prose":                   {workflow.EventCompleted, `"result_summary":"Did it."`, "", "", ""},
		"completion as text":      {workflow.EventCompleted, `"result_summary":"{\"summary\":\"Did it.\"}"`, "", "", ""},
		"nothing":                 {workflow.EventCompleted, `"completion":null`, "", "", ""},
		"violation":               {workflow.EventCompleted, `"completion":{"summary":""}`, workflow.ReasonContractViolation, "$.summary", ""},
		"no object":               {workflow.EventCompleted, `"completion":"done"`, workflow.ReasonContractViolation, "$", ""},
		"refusal under completed": {workflow.EventCompleted, `"completion":` + split, workflow.ReasonContractViolation, "$.kind", ""},
		"refusal text completed":  {workflow.EventCompleted, `"result_summary":"{\"kind\":\"underspecified\",\"detail\":\"d\",\"question\":\"q\"}"`, workflow.ReasonContractViolation, "$.kind", ""},
		"duplicate":               {workflow.EventCompleted, `"completion":{"summary":"a","summary":"b"}`, workflow.ReasonContractViolation, "$.summary", ""},
		"completion as refusal":   {workflow.EventFailed, `"refusal":{"summary":"Did it."}`, workflow.ReasonContractViolation, "$.kind", ""},
		"awaiting operator":       {workflow.EventFailed, `"refusal":{"kind":"awaiting_operator","detail":"d","question":"Which key?"}`, workflow.ReasonRefusedAwaitingOperator, "", "Which key?"},
		"underspecified":          {workflow.EventFailed, `"refusal":{"kind":"underspecified","detail":"d","question":"What is a greeting?"}`, workflow.ReasonRefusedUnderspecified, "", "What is a greeting?"},
		"dependency":              {workflow.EventFailed, `"refusal":{"kind":"blocked_on_dependency","detail":"d","blocking_dep":"task 7"}`, workflow.ReasonRefusedBlockedOnDependency, "", "task 7"},
		"scope":                   {workflow.EventFailed, `"refusal":` + split, workflow.ReasonRefusedScopeExceeded, "", "Migrate billing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t, apitest.Options{})
			d := s.DispatchTask()
			h := s.Claim().Run()
			e := h.Completed(candidate)
			if c.state == workflow.EventFailed {
				e = workflow.Event{State: workflow.EventFailed}
			}
			e.Fence, e.Sequence = h.Fence(), 3
			body, err := json.Marshal(e)
			require.NoError(t, err)
			body = append(body[:len(body)-1], ","+c.member+"}"...)
			first := h.Post("events", body)
			after := s.Detail(d.TaskID)
			again := h.Post("events", body)
			require.Equal(t, first.Status, again.Status)
			require.Equal(t, string(first.Body), string(again.Body))
			require.Equal(t, after, s.Detail(d.TaskID))
			sound(t, s)
			if c.reason == "" {
				require.Equal(t, http.StatusOK, first.Status, "%s", first.Body)
				s.Verify()
				task := apitest.Into[workflow.Task](t, http.StatusOK, s.Operator("GET", "/v1/tasks/"+d.TaskID, nil))
				if name != "nothing" {
					require.Equal(t, "Did it.", *task.ResultSummary)
				}
				return
			}
			require.Equal(t, workflow.PhaseBlocked, after.Phase)
			require.Equal(t, c.reason, *after.Reason)
			if c.path != "" {
				apitest.Refused(t, http.StatusUnprocessableEntity, contracts.CodeContractViolation, first)
				require.Contains(t, string(first.Body), fmt.Sprintf(`"path":%q`, c.path))
				require.Equal(t, workflow.OutcomeViolation, *after.Attempts[0].Outcome)
			} else {
				require.Equal(t, http.StatusOK, first.Status, "%s", first.Body)
				require.Equal(t, workflow.OutcomeRefused, *after.Attempts[0].Outcome)
				require.Contains(t, string(after.Refusal), c.asks)
				list := s.Operator("GET", "/v1/tasks?project_id="+s.Project.ID, nil)
				require.Contains(t, string(list.Body), c.asks, "the question is readable in lists")
			}
			if c.reason == workflow.ReasonRefusedScopeExceeded {
				require.Len(t, followUps(t, s, d.TaskID), 2)
			}
			l := ledger(t, s, d.TaskID)
			require.Equal(t, []workflow.LedgerKind{workflow.LedgerDispatched, workflow.LedgerPayload, workflow.LedgerBlocked},
				[]workflow.LedgerKind{l.Entries[0].Kind, l.Entries[1].Kind, l.Entries[2].Kind})
			require.Equal(t, c.path, l.Entries[1].Path)
			inbox := apitest.Into[workflow.Inbox](t, http.StatusOK, s.Operator("GET", "/v1/inbox", nil))
			require.Len(t, inbox.Items, 1)
			require.EqualValues(t, c.reason, inbox.Items[0].Reason)
			require.NotEmpty(t, inbox.Items[0].NextAction)
			s.DispatchTask() // the node's slot is free
		})
	}
}

func TestTwoHundredLedgerWritesAreOneChain(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{APIs: 3})
	task := s.AddTask(t)
	// Each dispatch and cancel writes to the task's ledger; the refused ones write nothing.
	calls := []func(){}
	for i := range 200 {
		calls = append(calls, func() {
			url := s.URLs[i%3]
			if i%2 == 0 {
				apitest.Call(t, "POST", url, "/v1/workflows", s.OwnerToken, workflow.DispatchRequest{Spec: s.Spec(task), WriteContext: s.WriteContext()})
				return
			}
			apitest.Call(t, "POST", url, "/v1/tasks/"+task.ID+"/workflow/control", s.OwnerToken,
				workflow.ControlRequest{ExpectedVersion: 1, Action: workflow.ControlCancel, WriteContext: s.WriteContext()})
		})
	}
	var wg sync.WaitGroup
	lanes := make(chan func())
	for range 12 {
		wg.Go(func() {
			for call := range lanes {
				call()
			}
		})
	}
	for _, call := range calls {
		lanes <- call
	}
	close(lanes)
	wg.Wait()
	var entries []workflow.LedgerEntry
	for after := 0; ; {
		page := apitest.Into[workflow.Ledger](t, http.StatusOK, s.Operator("GET", fmt.Sprintf("/v1/tasks/%s/ledger?after=%d&limit=7", task.ID, after), nil))
		entries = append(entries, page.Entries...)
		if len(page.Entries) == 0 {
			require.Nil(t, workflow.VerifyLedger(task.ID, entries, page.Count, page.Head))
			break
		}
		after = page.NextAfter
	}
	require.Greater(t, len(entries), 4)
	sound(t, s)

	full := apitest.Into[workflow.Ledger](t, http.StatusOK, s.Operator("GET", "/v1/tasks/"+task.ID+"/ledger?limit=100", nil))
	require.NotNil(t, workflow.VerifyLedger(task.ID, entries[:len(entries)-1], full.Count, full.Head), "a removed last entry shows")
	_, err := s.Pool.Exec(t.Context(), `UPDATE ledger SET body = replace(convert_from(body, 'UTF8'), '"by":"owner"', '"by":"nobody"')::bytea WHERE sequence = 2`)
	require.NoError(t, err)
	changed := ledger(t, s, task.ID)
	fault := workflow.VerifyLedger(task.ID, changed.Entries, changed.Count, changed.Head)
	require.NotNil(t, fault)
	require.Equal(t, 2, fault.Sequence)
}

func TestTheInboxNamesWhatWaits(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Lease: 400 * time.Millisecond})
	inbox := func() []workflow.InboxItem {
		return apitest.Into[workflow.Inbox](t, http.StatusOK, s.Operator("GET", "/v1/inbox", nil)).Items
	}
	require.Empty(t, inbox())
	d := s.DispatchTask()
	s.Claim()
	for _, w := range s.Workers {
		w.Stop()
	}
	eventually(t, "a lease is over and nobody settles it", func() bool { return len(inbox()) == 1 })
	item := inbox()[0]
	require.Equal(t, workflow.InboxExpiredLease, item.Kind)
	require.Equal(t, d.TaskID, item.TaskID)
	for _, w := range s.Workers {
		w.Start()
	}
	eventually(t, "settled, it is a blocked revision", func() bool {
		items := inbox()
		return len(items) == 1 && items[0].Kind == workflow.InboxBlocked && items[0].Reason == "lease_expired"
	})
	stranger := s.MakeToken(t, "stranger", workflow.ScopeTasksRead).Token
	require.Empty(t, apitest.Into[workflow.Inbox](t, http.StatusOK, apitest.Call(t, "GET", s.URL, "/v1/inbox", stranger, nil)).Items)
}
