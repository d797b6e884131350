package store_test

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"countersign/contracts"
	"countersign/contracts/workflow"
	"countersign/store"
	"countersign/store/storetest"
	"countersign/tools/localstack"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// statements counts what is sent to PostgreSQL.
type statements struct{ n atomic.Int64 }

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	s.n.Add(1)
	return ctx
}

func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (s *statements) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) { s.n.Add(1) }

func (s *statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// during is how many statements f costs, after one round to prepare them.
func (s *statements) during(f func()) int64 {
	f()
	before := s.n.Load()
	f()
	return s.n.Load() - before
}

// fill adds tasks a second apart by SQL; every second one has a blocked revision and on top of it a
// live one, with an attempt each. The live attempts' leases are over for tasks whose number is a
// multiple of four.
func fill(t testing.TB, b *storetest.Bundle, projectID string, n int) {
	t.Helper()
	for _, sql := range []string{
		`INSERT INTO tasks (id, project_id, title, goal, repository, status, created_by, created_at)
			SELECT $1 || '-t' || i, $1, 'task ' || i, 'goal', 'repo', CASE WHEN i % 10 = 0 THEN 'done' ELSE 'open' END, 'ada',
				timestamptz '2026-01-01T00:00:00Z' + make_interval(secs => i) FROM generate_series(1, $2::int) i`,
		`INSERT INTO nodes (id, name, anchor_project_id, status, created_by)
			SELECT $1 || '-n' || i, 'n', $1, 'active', 'ada' FROM generate_series(2, $2::int, 2) i`,
		`INSERT INTO revisions (workflow_id, task_id, project_id, number, node_id, contract, contract_digest,
				worker_profile, worker_version, verifier_profile, verifier_version, worker_account, worker_runtime, verifier_account, verifier_runtime,
				max_work_attempts, lease, deadline, phase, reason, candidate_commit, ended_at, dispatched_by)
			SELECT $1 || '-w' || i || '-' || r, $1 || '-t' || i, $1, r, $1 || '-n' || i, '{}', repeat('0', 64),
				'worker', '"1.' || r || '"', 'verifier', r::text, '', 'synthetic', '', 'synthetic', 2, 90, 900,
				CASE r WHEN 1 THEN 'blocked' ELSE 'verifying' END, CASE r WHEN 1 THEN 'lease_expired' END, repeat('c', 40),
				CASE r WHEN 1 THEN clock_timestamp() END, 'ada'
			FROM generate_series(2, $2::int, 2) i, generate_series(1, 2) r`,
		`INSERT INTO executions (id, kind, ordinal, workflow_id, task_id, project_id, node_id, purpose, number, state, phase, base_commit,
				lease_id, fencing_token, claimed_at, lease_expires_at, deadline_at, ended_at)
			SELECT $1 || '-e' || i || '-' || r || '-' || o, 'workflow', o, $1 || '-w' || i || '-' || r, $1 || '-t' || i, $1, $1 || '-n' || i,
				CASE o WHEN 1 THEN 'work' ELSE 'verify' END, 1, CASE WHEN r = 2 AND o = 2 THEN 'live' ELSE 'ended' END,
				CASE WHEN r = 2 AND o = 2 THEN 'running' ELSE 'completed' END, repeat('b', 40), 'l', 1, now(),
				CASE WHEN i % 4 = 0 THEN now() - interval '1 second' ELSE now() + interval '1 hour' END, now() + interval '2 hours',
				CASE WHEN r = 2 AND o = 2 THEN NULL ELSE now() END
			FROM generate_series(2, $2::int, 2) i, generate_series(1, 2) r, generate_series(1, 2) o`,
	} {
		_, err := b.Pool.Exec(t.Context(), sql, projectID, n)
		require.NoError(t, err)
	}
	_, err := b.Pool.Exec(t.Context(), `ANALYZE tasks, revisions, executions, members`)
	require.NoError(t, err)
}

func TestAPageOfTasksWithTheirRevisions(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	ctx := t.Context()
	p, empty, few, full := b.MakeProject(t, "ada"), b.MakeProject(t, "ada"), b.MakeProject(t, "ada"), b.MakeProject(t, "ada")
	fill(t, b, p.ID, 12)
	fill(t, b, few.ID, 3)
	fill(t, b, full.ID, 100)

	list, err := b.Store.Tasks(ctx, "ada", workflow.TaskQuery{ProjectID: p.ID, Limit: 100})
	require.NoError(t, err)
	require.Len(t, list.Tasks, 12)
	require.Nil(t, list.NextAfter)
	require.Equal(t, "task 12", list.Tasks[0].Title, "newest first")
	require.Nil(t, list.Tasks[1].Workflow, "task 11 was never dispatched")
	w := *list.Tasks[0].Workflow
	require.Equal(t, p.ID+"-w12-2", w.WorkflowID, "the current revision")
	require.Equal(t, 2, w.Revision)
	require.Equal(t, workflow.PhaseVerifying, w.Phase)
	require.Equal(t, 1, w.Attempt)
	require.Equal(t, workflow.PurposeVerify, *w.ActivePurpose)
	require.Nil(t, w.Reason)
	require.Len(t, *w.CandidateCommit, 40)
	require.Equal(t, "worker", w.Profile.ID)
	require.Equal(t, `"1.2"`, w.Profile.Version.String(), "a version in text stays text")
	require.Equal(t, "2", w.Verifier.Version.String(), "and a number a number")
	require.True(t, w.LeaseExpired)
	require.NotNil(t, w.LeaseExpiresAt)
	require.False(t, list.Tasks[2].Workflow.LeaseExpired)

	_, err = b.Pool.Exec(ctx, `UPDATE executions SET state = 'ended', phase = 'interrupted', ended_at = now() WHERE project_id = $1 AND state = 'live'`, p.ID)
	require.NoError(t, err)
	task, err := b.Store.Task(ctx, "ada", p.ID+"-t12")
	require.NoError(t, err)
	require.Nil(t, task.Workflow.ActivePurpose)
	require.Nil(t, task.Workflow.LeaseExpiresAt)
	require.Nil(t, task.Workflow.DeadlineAt)
	require.False(t, task.Workflow.LeaseExpired)

	var counter statements
	s := b.Open(t, store.Options{Tracer: &counter, MaxConns: 1})
	costs := map[int64]bool{}
	for _, project := range []string{empty.ID, few.ID, full.ID} {
		costs[counter.during(func() {
			_, err := s.Tasks(ctx, "ada", workflow.TaskQuery{ProjectID: project, Limit: 100})
			require.NoError(t, err)
		})] = true
	}
	require.Equal(t, map[int64]bool{2: true}, costs, "statements for 0, 3 and 100 tasks")
}

func TestPagesOfTasks(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	ctx := t.Context()
	p, other := b.MakeProject(t, "ada"), b.MakeProject(t, "ada")
	fill(t, b, p.ID, 25)
	fill(t, b, other.ID, 5)
	// Tasks of one instant are told apart by their ids.
	_, err := b.Pool.Exec(ctx, `UPDATE tasks SET created_at = '2026-01-01T00:00:05.123456Z' WHERE project_id = $1 AND created_at < '2026-01-01T00:00:12Z'`, p.ID)
	require.NoError(t, err)

	for _, limit := range []int{1, 4, 25, 100} {
		seen := map[string]bool{}
		q := workflow.TaskQuery{ProjectID: p.ID, Limit: limit}
		var last time.Time
		for {
			page, err := b.Store.Tasks(ctx, "ada", q)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page.Tasks), limit)
			for _, task := range page.Tasks {
				require.False(t, seen[task.ID], "%s stands on two pages", task.ID)
				require.True(t, last.IsZero() || !task.CreatedAt.After(last))
				seen[task.ID], last = true, task.CreatedAt
			}
			if page.NextAfter == nil {
				break
			}
			q.After = *page.NextAfter
		}
		require.Len(t, seen, 25)
	}
	done, err := b.Store.Tasks(ctx, "ada", workflow.TaskQuery{ProjectID: p.ID, Status: workflow.TaskDone, Limit: 1})
	require.NoError(t, err)
	require.Equal(t, "task 20", done.Tasks[0].Title)
	done, err = b.Store.Tasks(ctx, "ada", workflow.TaskQuery{ProjectID: p.ID, Status: workflow.TaskDone, Limit: 1, After: *done.NextAfter})
	require.NoError(t, err)
	require.Equal(t, "task 10", done.Tasks[0].Title)
	require.Nil(t, done.NextAfter)

	for _, bad := range []string{"x", "!", "MQ", "MS4", "OTk5OTk5OTk5OTk5OTk5OTk5OS54", "LTEueA", "MS4A", "MS7_"} {
		_, err := b.Store.Tasks(ctx, "ada", workflow.TaskQuery{ProjectID: p.ID, Limit: 1, After: bad})
		requireCode(t, contracts.CodeInvalid, err)
		require.Equal(t, "$.after", refusalOf(t, err).Path)
	}
}

// A page costs the same in a project of 100,000 tasks, wherever it stands.
func TestPagesOfManyTasks(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("fills 100,000 tasks")
	}
	b := storetest.New(t)
	ctx := t.Context()
	p := b.MakeProject(t, "ada")
	fill(t, b, p.ID, 100_000)
	var counter statements
	s := b.Open(t, store.Options{Tracer: &counter, MaxConns: 1})
	for name, q := range map[string]workflow.TaskQuery{
		"first": {ProjectID: p.ID, Limit: 100},
		"done":  {ProjectID: p.ID, Limit: 100, Status: workflow.TaskDone},
	} {
		n := counter.during(func() {
			started := time.Now()
			list, err := s.Tasks(ctx, "ada", q)
			require.NoError(t, err)
			require.Len(t, list.Tasks, 100)
			t.Logf("%s page of 100 in 100,000 tasks: %v", name, time.Since(started))
		})
		require.EqualValues(t, 2, n, name)
	}
	// The middle, by a cursor as a reader who paged there would hold it.
	var at int64
	require.NoError(t, b.Pool.QueryRow(ctx, `SELECT extract(epoch FROM created_at)::bigint FROM tasks WHERE title = 'task 50000'`).Scan(&at))
	rows := explain(t, b, p.ID, time.Unix(at, 0))
	require.NotContains(t, rows, "Seq Scan on tasks")
	require.NotContains(t, rows, "Seq Scan on revisions")
	require.NotContains(t, rows, "Seq Scan on executions")
}

// explain shows how PostgreSQL reads a page in the middle.
func explain(t testing.TB, b *storetest.Bundle, projectID string, from time.Time) string {
	t.Helper()
	sql, args := store.PageOfTasks(workflow.TaskQuery{ProjectID: projectID, Limit: 100}, from, "x")
	rows, err := b.Pool.Query(t.Context(), "EXPLAIN (ANALYZE, COSTS OFF) "+sql, args...)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	plan := ""
	for _, line := range lines {
		plan += line + "\n"
	}
	t.Log(plan)
	return plan
}

var zones = []string{"UTC", "Asia/Kathmandu", "America/St_Johns"}

// Times are the database's instants, in UTC, whatever zone its session is in.
func TestTimesAreInstants(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	ctx := t.Context()
	p := b.MakeProject(t, "ada")
	fill(t, b, p.ID, 3)
	micros := map[string]int64{}
	rows, err := b.Pool.Query(ctx, `SELECT id, (extract(epoch FROM created_at) * 1e6)::bigint FROM tasks`)
	require.NoError(t, err)
	var (
		id string
		at int64
	)
	_, err = pgx.ForEachRow(rows, []any{&id, &at}, func() error { micros[id] = at; return nil })
	require.NoError(t, err)
	for _, zone := range zones {
		u, err := url.Parse(b.URL)
		require.NoError(t, err)
		q := u.Query()
		q.Set("timezone", zone) // as PGTZ does for a session
		u.RawQuery = q.Encode()
		s, err := store.Open(ctx, store.Options{URL: u.String(), MaxConns: 2})
		require.NoError(t, err)
		t.Cleanup(s.Close)
		seen, query := 0, workflow.TaskQuery{ProjectID: p.ID, Limit: 1}
		for more := true; more; seen++ {
			page, err := s.Tasks(ctx, "ada", query)
			require.NoError(t, err)
			task := page.Tasks[0]
			require.Equal(t, micros[task.ID], task.CreatedAt.UnixMicro(), zone)
			require.Equal(t, time.UTC, task.CreatedAt.Location(), zone)
			if task.Workflow != nil {
				require.Equal(t, time.UTC, task.Workflow.UpdatedAt.Location(), zone)
				require.Equal(t, time.UTC, task.Workflow.LeaseExpiresAt.Location(), zone)
			}
			if more = page.NextAfter != nil; more {
				query.After = *page.NextAfter
			}
		}
		require.Equal(t, 3, seen, zone)
	}
}

// The same in processes that live elsewhere.
func TestTimesAreInstantsInEveryZone(t *testing.T) {
	t.Parallel()
	for _, zone := range zones {
		run := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTimesAreInstants$", "-test.v")
		run.Env = append(os.Environ(), "TZ="+zone, localstack.TestDatabaseURLEnv+"="+localstack.PostgresURL(t))
		out, err := run.CombinedOutput()
		require.NoError(t, err, "%s: %s", zone, out)
		require.Contains(t, string(out), "--- PASS: TestTimesAreInstants", zone)
	}
}
