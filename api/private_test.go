// What Temporal may know: ids and digests. What a dump must carry: everything.

package api_test

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"countersign/activities"
	"countersign/api/apitest"
	"countersign/contracts/workflow"
	"countersign/store"
	"countersign/tools/localstack"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"google.golang.org/protobuf/proto"
)

func TestTemporalLearnsNoText(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	const canary = "canary-3f9c"
	task, err := s.Store.CreateTask(t.Context(), s.Owner.User, workflow.CreateTask{WriteContext: s.WriteContext(), Title: "The title may show", Goal: canary})
	require.NoError(t, err)
	spec := s.Spec(task)
	spec.Prompt, spec.Profile.Instructions, spec.Verifier.Soul = canary, canary, canary
	spec.Criteria[0].Description, spec.Criteria[1].Method = canary, canary
	d := s.DispatchSpec(spec)
	s.Work(candidate)
	h := s.Claim().Run()
	e := h.Completed(candidate)
	e.Verdict = h.Verdict("tests")
	e.Verdict.Results[0].Feedback, e.Verdict.Results[1].Feedback = canary, canary
	require.Equal(t, http.StatusOK, h.Event(e).Status)
	h = s.Claim().Run()
	require.Contains(t, string(h.Plan.Workflow.Feedback[0].Feedback), canary)
	require.Equal(t, http.StatusOK, h.Event(workflow.Event{State: workflow.EventFailed, Reason: ptr(canary)}).Status)
	events := 0
	for it := s.Temporal.GetWorkflowHistory(t.Context(), activities.TemporalID(d.WorkflowID), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		e, err := it.Next()
		require.NoError(t, err)
		raw, err := proto.Marshal(e) // payloads stand in it as the JSON they are
		require.NoError(t, err)
		for _, secret := range []string{canary, s.NodeToken, s.OwnerToken} {
			require.NotContains(t, string(raw), secret)
		}
		events++
	}
	require.Greater(t, events, 20)
}

// TestADumpCarriesEverything drops the database to a dump, restores it elsewhere and checks it.
func TestADumpCarriesEverything(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	d := s.DispatchTask()
	s.Work(candidate)
	s.Verify("builds")
	s.Work(candidate)
	s.Verify()
	running := s.DispatchTask()
	s.Claim().Run()
	file := filepath.Join(t.TempDir(), "dump.sql")
	run := func(name string, args ...string) {
		out, err := exec.Command(name, args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	run("pg_dump", "--format=plain", "--no-owner", "--file="+file, s.Bundle.URL)
	require.NoError(t, localstack.EnsureDatabase(t.Context(), localstack.PostgresURL(t), "restored"))
	restored := strings.Replace(s.Bundle.URL, databaseName(s.Bundle.URL), "restored", 1)
	t.Cleanup(func() {
		run("psql", "--quiet", localstack.PostgresURL(t), "--command=DROP DATABASE restored WITH (FORCE)")
	})
	run("psql", "--quiet", "--set=ON_ERROR_STOP=1", "--file="+file, restored)
	envelope, err := s.Store.TaskReceipt(t.Context(), s.Owner, d.TaskID)
	require.NoError(t, err)
	again, err := store.Open(t.Context(), store.Options{URL: restored})
	require.NoError(t, err)
	t.Cleanup(again.Close)
	findings, err := again.Fsck(t.Context())
	require.NoError(t, err)
	require.Empty(t, findings)
	same, err := again.TaskReceipt(t.Context(), s.Owner, d.TaskID)
	require.NoError(t, err)
	require.Equal(t, envelope, same, "a restored receipt is the same, byte for byte")
	for _, taskID := range []string{d.TaskID, running.TaskID} {
		want, err := s.Store.TaskDetail(t.Context(), s.Owner, taskID, 0, 100)
		require.NoError(t, err)
		have, err := again.TaskDetail(t.Context(), s.Owner, taskID, 0, 100)
		require.NoError(t, err)
		require.Equal(t, want, have)
	}
}

func databaseName(url string) string {
	name, _, _ := strings.Cut(url[strings.LastIndex(url, "/")+1:], "?")
	return name
}
