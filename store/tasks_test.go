package store_test

import (
	"sync"
	"testing"

	"countersign/contracts"
	"countersign/contracts/workflow"
	"countersign/store"
	"countersign/store/storetest"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

func TestTaskIsKeptAsSent(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	ctx := t.Context()
	p := b.MakeProject(t, "ada")
	// Six characters that are no U+0000, text in NFD, a right-to-left override, edges of white space.
	goal := "\\u0000 e\u0301 \u202e \t\n "
	made, err := b.Store.CreateTask(ctx, "ada", workflow.CreateTask{
		WriteContext: b.ContextFor(t, p.ID), Title: "u\u0308ber", Goal: goal, Labels: []string{"o\u0308", "b"},
		ArtifactSpec: jsontext.Value(`{"output_path": "out/r.md", "kind": "report"}`),
	})
	require.NoError(t, err)
	read, err := b.Store.Task(ctx, "ada", made.ID)
	require.NoError(t, err)
	require.Equal(t, made, read)
	require.Equal(t, goal, read.Goal)
	require.Equal(t, "u\u0308ber", read.Title)
	require.Equal(t, []string{"o\u0308", "b"}, read.Labels)
	require.Equal(t, `{"kind":"report","output_path":"out/r.md"}`, string(read.ArtifactSpec), "canonical")
	require.Equal(t, p.Repository, read.Repository, "the project's by default")
	require.Equal(t, 1, read.Version)
	require.Equal(t, workflow.TaskOpen, read.Status)
	require.Nil(t, read.Workflow)

	read, err = b.Store.PatchTask(ctx, "ada", made.ID, workflow.PatchTask{
		WriteContext: b.ContextFor(t, p.ID), ExpectedVersion: 1, Labels: &[]string{}, Title: ptr("new"),
	})
	require.NoError(t, err)
	require.Equal(t, 2, read.Version)
	require.Empty(t, read.Labels)
	require.Equal(t, goal, read.Goal)
	require.True(t, read.UpdatedAt.After(read.CreatedAt))
}

// What an edit may touch depends on the task's status and its current revision.
func TestPatchTaskRules(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	p := b.MakeProject(t, "ada")
	node := b.MakeNode(t, "ada", p.ID)
	title := workflow.PatchTask{Title: ptr("t"), Labels: &[]string{"l"}}
	goal := workflow.PatchTask{Goal: ptr("g")}
	cancel := workflow.PatchTask{Status: ptr(workflow.TaskCancelled)}
	const managed, final = contracts.CodeManagedByWorkflow, contracts.CodeAlreadyTerminal
	for name, tc := range map[string]struct {
		phases               []workflow.Phase
		status               workflow.TaskStatus
		title, goal, cancels contracts.Code
	}{
		"no revision":               {nil, workflow.TaskOpen, "", "", ""},
		"offered":                   {[]workflow.Phase{workflow.PhaseOffered}, workflow.TaskOpen, "", managed, managed},
		"verifying":                 {[]workflow.Phase{workflow.PhaseVerifying}, workflow.TaskOpen, "", managed, managed},
		"blocked":                   {[]workflow.Phase{workflow.PhaseBlocked}, workflow.TaskOpen, "", "", ""},
		"cancelled":                 {[]workflow.Phase{workflow.PhaseCancelled}, workflow.TaskOpen, "", "", ""},
		"active after a blocked":    {[]workflow.Phase{workflow.PhaseBlocked, workflow.PhaseRunning}, workflow.TaskOpen, "", managed, managed},
		"accepted":                  {[]workflow.Phase{workflow.PhaseAccepted}, workflow.TaskDone, "", final, managed},
		"cancelled by hand":         {nil, workflow.TaskCancelled, "", final, final},
		"failed by hand":            {nil, workflow.TaskFailed, "", final, final},
		"refused after a cancelled": {[]workflow.Phase{workflow.PhaseCancelled}, workflow.TaskRefused, "", final, final},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			for what, edit := range map[string]struct {
				req  workflow.PatchTask
				code contracts.Code
			}{"title": {title, tc.title}, "goal": {goal, tc.goal}, "cancel": {cancel, tc.cancels}} {
				task := b.MakeTask(t, "ada", p.ID)
				_, err := b.Pool.Exec(ctx, `UPDATE tasks SET status = $2 WHERE id = $1`, task.ID, tc.status)
				require.NoError(t, err)
				for i, phase := range tc.phases {
					insertRevision(t, b, task, node.Node.ID, i+1, phase)
				}
				edit.req.WriteContext, edit.req.ExpectedVersion = b.ContextFor(t, p.ID), 1
				got, err := b.Store.PatchTask(ctx, "ada", task.ID, edit.req)
				requireCode(t, edit.code, err)
				if err == nil {
					require.Equal(t, 2, got.Version, what)
					continue
				}
				read, err := b.Store.Task(ctx, "ada", task.ID)
				require.NoError(t, err)
				require.Equal(t, 1, read.Version, "a refused edit changes nothing")
			}
		})
	}
}

// insertRevision adds a revision in some phase by SQL, without attempts.
func insertRevision(t testing.TB, b *storetest.Bundle, task workflow.Task, nodeID string, number int, phase workflow.Phase) {
	t.Helper()
	_, err := b.Pool.Exec(t.Context(), `INSERT INTO revisions (workflow_id, task_id, project_id, number, node_id, contract, contract_digest,
			worker_profile, worker_version, verifier_profile, verifier_version, worker_account, worker_runtime, verifier_account, verifier_runtime,
			max_work_attempts, lease, deadline, phase, reason, ended_at, dispatched_by)
		VALUES (gen_random_uuid(), $1, $2, $3, $4, '{}', repeat('0', 64), 'worker', '"1.0"', 'verifier', '2', '', 'synthetic', '', 'synthetic',
			2, 90, 900, $5, CASE WHEN $5 = 'blocked' THEN 'lease_expired' END,
			CASE WHEN $5 IN ('accepted', 'blocked', 'cancelled') THEN clock_timestamp() END, 'ada')`,
		task.ID, task.ProjectID, number, nodeID, string(phase))
	require.NoError(t, err)
}

func TestOneOfManyEditsOfAVersionWins(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	p := b.MakeProject(t, "ada")
	task := b.MakeTask(t, "ada", p.ID)
	wc := b.ContextFor(t, p.ID)
	var (
		wg    sync.WaitGroup
		codes [8]contracts.Code
	)
	for i := range codes {
		wg.Go(func() {
			_, err := b.Store.PatchTask(t.Context(), "ada", task.ID, workflow.PatchTask{WriteContext: wc, ExpectedVersion: 1, Title: ptr("t")})
			if codes[i] = contracts.CodeOf(err); err != nil && codes[i] == "" {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	won := 0
	for _, code := range codes {
		if code == "" {
			won++
			continue
		}
		require.Equal(t, contracts.CodeVersionConflict, code)
	}
	require.Equal(t, 1, won)
}

// Whoever sees a task hears that it has no revision or receipt yet; to everybody else it is unknown, as
// is a task that does not exist.
func TestWhatATaskDoesNotHaveYet(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	p := b.MakeProject(t, "ada")
	b.MakeUser(t, "stranger")
	made, err := b.Store.CreateTask(t.Context(), "ada", workflow.CreateTask{WriteContext: b.ContextFor(t, p.ID), Title: "t", Goal: "g"})
	require.NoError(t, err)
	said := func(user, task string) (revision, receipt string) {
		_, err := b.Store.TaskDetail(t.Context(), store.Identity{User: user}, task, 0, 1)
		require.Equal(t, contracts.CodeNotFound, contracts.CodeOf(err))
		_, other := b.Store.TaskReceipt(t.Context(), store.Identity{User: user}, task)
		require.Equal(t, contracts.CodeNotFound, contracts.CodeOf(other))
		return err.Error(), other.Error()
	}
	revision, receipt := said("ada", made.ID)
	require.Equal(t, "not_found: the task has no revision yet", revision)
	require.Equal(t, "not_found: the task is not accepted, so it has no receipt", receipt)
	unknownRevision, unknownReceipt := said("ada", "00000000-0000-4000-8000-000000000000")
	revision, receipt = said("stranger", made.ID)
	require.Equal(t, unknownRevision, revision)
	require.Equal(t, unknownReceipt, receipt)
	require.Equal(t, "not_found: no such revision", revision)
}
