// Pages of tasks, each with the compact view of its current revision.

package store

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/jackc/pgx/v5"
)

// taskColumns are a task's own and its projection's; contracts are never read for them.
const taskColumns = `SELECT t.id, t.project_id, coalesce(t.parent_task_id, ''), t.title, t.goal, t.repository, t.status,
	coalesce(t.terminal_reason, ''), t.refusal, t.result_summary, t.version, t.labels, t.artifact_spec, t.created_at, t.updated_at,
	r.workflow_id, r.number, r.phase, r.candidate_commit, r.candidate_hash, r.reason, r.worker_profile, r.worker_version,
	r.verifier_profile, r.verifier_version, r.refusal, r.updated_at,
	e.number, e.purpose, e.lease_expires_at, e.deadline_at, e.state = 'live', e.state = 'live' AND e.lease_expires_at <= clock_timestamp(),
	e.state <> 'ended', ` + dispatchColumns

// joinProjection finds each task's newest revision and that one's newest attempt by their indexes.
const joinProjection = `
	LEFT JOIN LATERAL (SELECT workflow_id, number, phase, candidate_commit, candidate_hash, reason, worker_profile, worker_version,
		verifier_profile, verifier_version, refusal, updated_at FROM revisions WHERE task_id = t.id ORDER BY number DESC LIMIT 1) r ON true
	LEFT JOIN LATERAL (SELECT number, purpose, lease_expires_at, deadline_at, state
		FROM executions WHERE workflow_id = r.workflow_id ORDER BY ordinal DESC LIMIT 1) e ON true` + joinDispatch

func scanTask(row pgx.CollectableRow) (workflow.Task, error) {
	var (
		t       workflow.Task
		summary []byte
		p       projectionRow
	)
	err := row.Scan(append([]any{&t.ID, &t.ProjectID, &t.ParentTaskID, &t.Title, &t.Goal, &t.Repository, &t.Status,
		&t.TerminalReason, (*[]byte)(&t.Refusal), &summary, &t.Version, &t.Labels, (*[]byte)(&t.ArtifactSpec), &t.CreatedAt, &t.UpdatedAt,
		&p.workflowID, &p.number, &p.phase, &p.candidate, &p.candidateHash, &p.reason, &p.workerProfile, &p.workerVersion,
		&p.verifierProfile, &p.verifierVersion, &p.refusal, &p.updatedAt,
		&p.attempt, &p.purpose, &p.lease, &p.deadline, &p.live, &p.expired, &p.active}, p.dispatch.targets()...)...)
	if err != nil {
		return t, err
	}
	if summary != nil {
		text := string(summary)
		t.ResultSummary = &text
	}
	t.CreatedAt, t.UpdatedAt = t.CreatedAt.UTC(), t.UpdatedAt.UTC()
	t.Workflow, err = p.projection()
	return t, err
}

// projectionRow is all null for a task without a revision.
type projectionRow struct {
	workflowID, workerProfile, workerVersion, verifierProfile, verifierVersion *string
	number, attempt                                                            *int
	phase                                                                      *workflow.Phase
	refusal                                                                    []byte
	candidate, candidateHash                                                   *string
	reason                                                                     *workflow.Reason
	updatedAt, lease, deadline                                                 *time.Time
	purpose                                                                    *workflow.Purpose
	live, expired, active                                                      *bool
	dispatch                                                                   summaryRow
}

func (p projectionRow) projection() (*workflow.Projection, error) {
	if p.workflowID == nil {
		return nil, nil
	}
	out := &workflow.Projection{
		WorkflowID: *p.workflowID, Revision: *p.number, Phase: *p.phase, CandidateCommit: p.candidate, CandidateHash: p.candidateHash, Reason: p.reason,
		Refusal: jsontext.Value(p.refusal), WorkerDispatch: p.dispatch.summary(),
		Profile: workflow.ProfileRef{ID: *p.workerProfile}, Verifier: workflow.ProfileRef{ID: *p.verifierProfile},
		UpdatedAt: p.updatedAt.UTC(),
	}
	if err := out.Profile.Version.UnmarshalJSON([]byte(*p.workerVersion)); err != nil {
		return nil, err
	}
	if err := out.Verifier.Version.UnmarshalJSON([]byte(*p.verifierVersion)); err != nil {
		return nil, err
	}
	if p.attempt == nil {
		return out, nil
	}
	out.Attempt = *p.attempt
	if *p.active {
		out.ActivePurpose = p.purpose
	}
	if *p.live {
		out.LeaseExpiresAt, out.DeadlineAt, out.LeaseExpired = p.lease, p.deadline, *p.expired
	}
	return out, nil
}

// Tasks is one page of a project's tasks, newest first, for an active member. It takes two statements
// whatever the page holds. A cursor that no page gave is invalid at $.after.
func (s *Store) Tasks(ctx context.Context, user string, q workflow.TaskQuery) (workflow.TaskList, error) {
	var list workflow.TaskList
	from, err := readCursor(q.After)
	if err != nil {
		return list, err
	}
	if err := projectRole(ctx, s.pool, user, q.ProjectID, "project"); err != nil {
		return list, translate(err)
	}
	sql, args := pageOfTasks(q, from)
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return list, translate(err)
	}
	list.Tasks, err = pgx.CollectRows(rows, scanTask)
	if err != nil {
		return list, translate(err)
	}
	if len(list.Tasks) > q.Limit {
		list.Tasks = list.Tasks[:q.Limit]
		last := list.Tasks[q.Limit-1]
		next := cursor{last.CreatedAt, last.ID}.String()
		list.NextAfter = &next
	}
	return list, nil
}

// pageOfTasks reads one task more than the page holds, to know whether another follows. Every
// combination of filters has a text of its own, so that each is planned on the index that fits.
func pageOfTasks(q workflow.TaskQuery, from cursor) (sql string, args []any) {
	var where strings.Builder
	arg := func(v any) string {
		args = append(args, v)
		return "$" + strconv.Itoa(len(args))
	}
	where.WriteString("project_id = " + arg(q.ProjectID))
	if q.Status != "" {
		where.WriteString(" AND status = " + arg(q.Status))
	}
	if from != (cursor{}) {
		where.WriteString(" AND (created_at, id) < (" + arg(from.createdAt) + ", " + arg(from.id) + ")")
	}
	page := "SELECT * FROM tasks WHERE " + where.String() + " ORDER BY created_at DESC, id DESC LIMIT " + arg(q.Limit+1)
	return taskColumns + " FROM (" + page + ") t" + joinProjection + " ORDER BY t.created_at DESC, t.id DESC", args
}

// cursor is the place after one task in the order of pages.
type cursor struct {
	createdAt time.Time
	id        string
}

// String is opaque to clients: microseconds, which is all PostgreSQL keeps, and the id.
func (c cursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(c.createdAt.UnixMicro(), 10) + "." + c.id))
}

// lastMicro ends the year 9999: what lies beyond is no time PostgreSQL ever gave.
const lastMicro = 253402300799999999

// storable reports whether PostgreSQL takes s as text.
func storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// readCursor reads what String wrote; "" is the first page.
func readCursor(s string) (cursor, error) {
	if s == "" {
		return cursor{}, nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(s)
	micros, id, _ := strings.Cut(string(raw), ".")
	n, numErr := strconv.ParseInt(micros, 10, 64)
	c := cursor{time.UnixMicro(n), id}
	if err != nil || numErr != nil || n < 0 || n > lastMicro || id == "" || !storable(id) {
		return cursor{}, contracts.Invalid("$.after", "must be the next_after of a page before")
	}
	return c, nil
}
