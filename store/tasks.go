// Tasks: making, reading and editing one.

package store

import (
	"context"
	"errors"
	"fmt"

	"countersign/contracts"
	"countersign/contracts/artifact"
	"countersign/contracts/canonjson"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
)

// CreateTask adds a task to the project that the write context names. Members and stronger may.
func (s *Store) CreateTask(ctx context.Context, user string, req workflow.CreateTask) (workflow.Task, error) {
	var t workflow.Task
	if req.WriteContext.ProjectID == nil {
		return t, contracts.Invalid("$.write_context.project_id", "is required: it names the task's project")
	}
	spec, err := declaration(req.ArtifactSpec)
	if err != nil {
		return t, err
	}
	projectID := *req.WriteContext.ProjectID
	err = s.tx(ctx, func(tx pgx.Tx) error {
		if err := lockProjectRole(ctx, tx, user, projectID, writers...); err != nil {
			return err
		}
		if err := checkWriteContext(ctx, tx, &req.WriteContext, &projectID); err != nil {
			return err
		}
		id := newID()
		_, err := tx.Exec(ctx, `INSERT INTO tasks (id, project_id, title, goal, repository, status, labels, artifact_spec, created_by)
			SELECT $1, p.id, $3, $4, coalesce(nullif($5, ''), p.repository), 'open', coalesce($6, '{}'::text[]), $7, $8
			FROM projects p WHERE p.id = $2`, id, projectID, req.Title, req.Goal, req.Repository, req.Labels, spec, user)
		if err != nil {
			return err
		}
		t, err = readTask(ctx, tx, user, id)
		return err
	})
	return t, err
}

// declaration is the stored form of an optional artifact declaration that holds.
func declaration(document []byte) ([]byte, error) {
	if document == nil {
		return nil, nil
	}
	if _, err := artifact.ParseSpec(document); err != nil {
		if refusal, ok := errors.AsType[*contracts.Error](err); ok {
			return nil, contracts.Invalid("$."+refusal.Path, "%s", refusal.Detail)
		}
		return nil, err
	}
	return canonjson.Canonical(document)
}

// Task is one task of a project the user is an active member of, with its current revision.
func (s *Store) Task(ctx context.Context, user, taskID string) (workflow.Task, error) {
	t, err := readTask(ctx, s.pool, user, taskID)
	if err != nil {
		return t, translate(err)
	}
	return t, nil
}

func readTask(ctx context.Context, q querier, user, taskID string) (workflow.Task, error) {
	rows, err := q.Query(ctx, taskColumns+` FROM tasks t JOIN members m ON m.project_id = t.project_id AND m.user_name = $2 AND m.status = 'active'`+
		joinProjection+` WHERE t.id = $1`, taskID, user)
	if err != nil {
		return workflow.Task{}, err
	}
	t, err := pgx.CollectExactlyOneRow(rows, scanTask)
	if errors.Is(err, pgx.ErrNoRows) {
		return t, notFound("task")
	}
	return t, err
}

// PatchTask edits a task of the expected version, which grows by one. Title and labels can always be
// edited; the goal not under an active revision; the status not under an active or accepted one
// (managed_by_workflow); goal and status not once the task is final (already_terminal).
func (s *Store) PatchTask(ctx context.Context, user, taskID string, req workflow.PatchTask) (workflow.Task, error) {
	var t workflow.Task
	err := s.tx(ctx, func(tx pgx.Tx) error {
		now, err := lockTask(ctx, tx, user, taskID)
		if err != nil {
			return err
		}
		if err := checkWriteContext(ctx, tx, &req.WriteContext, &now.projectID); err != nil {
			return err
		}
		if err := now.permits(req); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE tasks SET title = coalesce($2, title), goal = coalesce($3, goal), labels = coalesce($4, labels),
			status = coalesce($5, status), version = version + 1, updated_at = clock_timestamp() WHERE id = $1`,
			taskID, req.Title, req.Goal, req.Labels, req.Status)
		if err != nil {
			return err
		}
		t, err = readTask(ctx, tx, user, taskID)
		return err
	})
	return t, err
}

// lockedTask is a task as it stands before an edit. While it is locked no revision can be added to
// it or accepted; one can still be blocked or cancelled.
type lockedTask struct {
	projectID string
	version   int
	status    workflow.TaskStatus
	phase     *workflow.Phase // of the current revision, nil when there is none

	artifactKind string // "" for none
}

func lockTask(ctx context.Context, tx pgx.Tx, user, taskID string) (lockedTask, error) {
	var t lockedTask
	// The project never changes, so it can be read before the locks that come before the task's.
	err := tx.QueryRow(ctx, `SELECT project_id FROM tasks WHERE id = $1`, taskID).Scan(&t.projectID)
	if errors.Is(err, pgx.ErrNoRows) {
		return t, notFound("task")
	}
	if err != nil {
		return t, err
	}
	if err := lockProjectRole(ctx, tx, user, t.projectID, writers...); err != nil {
		return t, hiddenAs(err, "task")
	}
	var declared []byte
	err = tx.QueryRow(ctx, `SELECT version, status, artifact_spec FROM tasks WHERE id = $1 FOR NO KEY UPDATE`, taskID).Scan(&t.version, &t.status, &declared)
	if err != nil {
		return t, err
	}
	if t.artifactKind, err = artifactKind(declared); err != nil {
		return t, err
	}
	// A second statement, for the first one's snapshot may be older than the lock.
	err = tx.QueryRow(ctx, `SELECT phase FROM revisions WHERE task_id = $1 ORDER BY number DESC LIMIT 1`, taskID).Scan(&t.phase)
	if errors.Is(err, pgx.ErrNoRows) {
		return t, nil
	}
	return t, err
}

// artifactKind is the kind that a stored declaration names, "" when there is none.
func artifactKind(declared []byte) (string, error) {
	var spec struct {
		Kind string `json:"kind"`
	}
	if declared == nil {
		return "", nil
	}
	if err := json.Unmarshal(declared, &spec); err != nil {
		return "", fmt.Errorf("read the artifact declaration: %w", err)
	}
	return spec.Kind, nil
}

func (t lockedTask) permits(req workflow.PatchTask) error {
	active := t.phase != nil && !t.phase.Final()
	accepted := t.phase != nil && *t.phase == workflow.PhaseAccepted
	why := "the task's revision decides this"
	if active {
		why = "the task's active revision decides this; cancel the revision first"
	}
	managed := func(field string) error {
		return &contracts.Error{Code: contracts.CodeManagedByWorkflow, Path: "$." + field, Detail: why}
	}
	switch {
	case t.version != req.ExpectedVersion:
		return contracts.Refuse(contracts.CodeVersionConflict, "the task has version %d", t.version)
	case req.Goal != nil && active:
		return managed("goal")
	case req.Status != nil && (active || accepted):
		return managed("status")
	case (req.Goal != nil || req.Status != nil) && t.status != workflow.TaskOpen:
		return contracts.Refuse(contracts.CodeAlreadyTerminal, "the task is %s, which is final", t.status)
	}
	return nil
}
