// Dispatch: the transaction that freezes a contract and makes the first offer.

package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
)

// Dispatch is one operator's request to dispatch a task.
type Dispatch struct {
	User    string
	Request workflow.DispatchRequest
	// RequestSHA256 is the digest of the request's RFC 8785 bytes: what an idempotency key stands for.
	RequestSHA256 string
	// Lease and Deadline are frozen into the contract.
	Lease    time.Duration
	Deadline time.Duration
	// NeedsSigner refuses a new revision with unavailable while no worker could sign its receipt.
	NeedsSigner bool
	// Catalog is the request that Request was made of, Sources what was read for it; nil for a dispatch
	// with inline profiles.
	Catalog *CatalogDispatch
	Sources *workflow.ContractSources
}

// Dispatched names the revision a dispatch made, now or the first time it was sent.
type Dispatched struct {
	WorkflowID string
	Replayed   bool
	Start      Start
}

// Start is what starting a revision's Temporal workflow takes.
type Start struct {
	WorkflowID string `json:"workflow_id"`
	TaskID     string `json:"task_id"`
	ProjectID  string `json:"project_id"`
	NodeID     string `json:"node_id"`
	Title      string `json:"title"`
}

// Dispatch freezes the contract of a valid request, makes the revision, its first offer and the
// outbox row that starts its workflow, all in one transaction. The refusals come in the order of
// docs/api.md; only a committed dispatch consumes its key.
func (s *Store) Dispatch(ctx context.Context, d Dispatch) (Dispatched, error) {
	var out Dispatched
	err := s.tx(ctx, func(tx pgx.Tx) error {
		var err error
		out, err = dispatch(ctx, tx, d)
		return err
	})
	return out, err
}

func dispatch(ctx context.Context, tx pgx.Tx, d Dispatch) (Dispatched, error) {
	spec := d.Request.Spec
	projectID, err := dispatchable(ctx, tx, d.User, spec)
	if err != nil {
		return Dispatched{}, err
	}
	if err := checkWriteContext(ctx, tx, &d.Request.WriteContext, &projectID); err != nil {
		return Dispatched{}, err
	}
	replayed, err := takeKey(ctx, tx, projectID, spec.IdempotencyKey, d.RequestSHA256)
	if err != nil {
		return Dispatched{}, err
	}
	if replayed != "" {
		start, err := startOf(ctx, tx, replayed)
		return Dispatched{WorkflowID: replayed, Replayed: true, Start: start}, err
	}
	if d.NeedsSigner {
		var declared []byte // never edited, so that it can be read before the task is locked
		if err := tx.QueryRow(ctx, `SELECT artifact_spec FROM tasks WHERE id = $1`, spec.TaskID).Scan(&declared); err != nil {
			return Dispatched{}, err
		}
		kind, err := artifactKind(declared)
		if err == nil {
			err = signerReady(ctx, tx, kind)
		}
		if err != nil {
			return Dispatched{}, err
		}
	}
	node, err := lockDispatchNode(ctx, tx, spec, projectID)
	if err != nil {
		return Dispatched{}, err
	}
	// Authority is asked again now that the node is locked, before anything is written.
	if err := lockProjectRole(ctx, tx, d.User, projectID, workflow.RoleOwner, workflow.RoleAdmin); err != nil {
		return Dispatched{}, err
	}
	refusal, err := lockCatalog(ctx, tx, d.Catalog, projectID)
	if err != nil {
		return Dispatched{}, err
	}
	task, number, err := readDispatchTask(ctx, tx, " FOR NO KEY UPDATE", spec)
	if err != nil {
		return Dispatched{}, err
	}
	if refusal = cmp.Or(node.refusal(), refusal); refusal != nil {
		return Dispatched{}, refusal
	}
	var now time.Time
	if err := tx.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now); err != nil {
		return Dispatched{}, err
	}
	contract := workflow.Freeze(spec, projectID, task.ContractTask, number, d.Lease.Seconds(), d.Deadline.Seconds())
	contract.Sources = d.Sources
	if refusal := workflow.RefuseDispatch(contract.WorkerDispatch, now); refusal != nil {
		return Dispatched{}, refusal
	}
	frozen, err := insertRevision(ctx, tx, d, contract)
	if err != nil {
		return Dispatched{}, err
	}
	start := Start{WorkflowID: frozen.WorkflowID, TaskID: frozen.TaskID, ProjectID: projectID, NodeID: frozen.NodeID, Title: task.title}
	return Dispatched{WorkflowID: frozen.WorkflowID, Start: start}, insertFirstStep(ctx, tx, d, frozen, spec, task.ledger, now)
}

// dispatchable answers 404 and 403: the task and node exist for this user, who is owner or admin in
// the task's project and in the node's anchor project, and the node may work for the project.
func dispatchable(ctx context.Context, tx pgx.Tx, user string, spec workflow.Spec) (projectID string, err error) {
	err = tx.QueryRow(ctx, `SELECT project_id FROM tasks WHERE id = $1`, spec.TaskID).Scan(&projectID)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", notFound("task")
	}
	if err != nil {
		return "", err
	}
	if err := projectRole(ctx, tx, user, projectID, "task", workflow.RoleOwner, workflow.RoleAdmin); err != nil {
		return "", err
	}
	var anchor string
	err = tx.QueryRow(ctx, `SELECT anchor_project_id FROM nodes WHERE id = $1`, spec.BridgeID).Scan(&anchor)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", notFound("node")
	}
	if err != nil {
		return "", err
	}
	if err := projectRole(ctx, tx, user, anchor, "node", workflow.RoleOwner, workflow.RoleAdmin); err != nil {
		return "", err
	}
	var works bool
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM node_projects WHERE node_id = $1 AND project_id = $2)`, spec.BridgeID, projectID).Scan(&works)
	if err != nil {
		return "", err
	}
	if !works {
		return "", contracts.Refuse(contracts.CodeForbidden, "the node may not work for this task's project")
	}
	return projectID, nil
}

// takeKey reserves the idempotency key for this transaction, or finds the revision that an earlier
// one made with it. The insert waits for a twin in flight; reading what the twin committed takes a
// second statement, for the first one's snapshot is older.
func takeKey(ctx context.Context, tx pgx.Tx, projectID, key, request string) (replayed string, err error) {
	tag, err := tx.Exec(ctx, `INSERT INTO idempotency (project_id, key, request_sha256) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
		projectID, key, request)
	if err != nil || tag.RowsAffected() == 1 {
		return "", err
	}
	var first string
	err = tx.QueryRow(ctx, `SELECT request_sha256, workflow_id FROM idempotency WHERE project_id = $1 AND key = $2`, projectID, key).
		Scan(&first, &replayed)
	if err != nil {
		return "", err
	}
	if first != request {
		return "", keyTaken()
	}
	return replayed, nil
}

func keyTaken() error {
	return contracts.Refuse(contracts.CodeIdempotencyConflict, "this idempotency key was used for another request")
}

// dispatchNode is what a dispatch needs to know of its node, locked.
type dispatchNode struct {
	status  workflow.NodeStatus
	missing string // the first account the node does not have, "" when it has all
}

func lockDispatchNode(ctx context.Context, tx pgx.Tx, spec workflow.Spec, projectID string) (dispatchNode, error) {
	var n dispatchNode
	b := &pgx.Batch{}
	b.Queue(`SELECT status FROM nodes WHERE id = $1 FOR SHARE`, spec.BridgeID).QueryRow(func(row pgx.Row) error { return row.Scan(&n.status) })
	b.Queue(`SELECT FROM node_projects WHERE node_id = $1 AND project_id = $2 FOR SHARE`, spec.BridgeID, projectID)
	for _, p := range []workflow.Profile{spec.Profile, spec.Verifier} {
		if p.AccountID == "" {
			continue
		}
		b.Queue(`SELECT FROM node_accounts WHERE node_id = $1 AND account_id = $2 AND runtime = $3 FOR SHARE`, spec.BridgeID, p.AccountID, p.Runtime).
			Exec(func(tag commandTag) error {
				if tag.RowsAffected() == 0 && n.missing == "" {
					n.missing = p.AccountID
				}
				return nil
			})
	}
	return n, tx.SendBatch(ctx, b).Close()
}

func (n dispatchNode) refusal() error {
	switch {
	case n.status == workflow.NodeRevoked:
		return contracts.Refuse(contracts.CodeNodeRevoked, "the node is revoked")
	case n.status == workflow.NodePaused:
		return contracts.Refuse(contracts.CodeNodePaused, "the node is paused and takes no work")
	case n.missing != "":
		return contracts.Refuse(contracts.CodeAccountNotAllowed, "the node has no account %q for that runtime", n.missing)
	}
	return nil
}

// dispatchTask is the task to freeze.
type dispatchTask struct {
	workflow.ContractTask
	title  string
	ledger chain
}

// readDispatchTask checks that the task can be dispatched and numbers the new revision; with a lock both
// stay so.
func readDispatchTask(ctx context.Context, tx pgx.Tx, lock string, spec workflow.Spec) (t dispatchTask, number int, err error) {
	var (
		status workflow.TaskStatus
		active bool
	)
	err = tx.QueryRow(ctx, `SELECT id, goal, version, repository, artifact_spec, title, status, ledger_entries, ledger_head
		FROM tasks WHERE id = $1`+lock, spec.TaskID).
		Scan(&t.ID, &t.Goal, &t.Version, &t.Repository, (*[]byte)(&t.ArtifactSpec), &t.title, &status, &t.ledger.entries, &t.ledger.head)
	if err != nil {
		return t, 0, err
	}
	err = tx.QueryRow(ctx, `SELECT coalesce(max(number), 0) + 1, coalesce(bool_or(phase NOT IN ('accepted', 'blocked', 'cancelled')), false)
		FROM revisions WHERE task_id = $1`, spec.TaskID).Scan(&number, &active)
	switch {
	case err != nil:
		return t, 0, err
	case t.Version != spec.ExpectedTaskVersion:
		return t, 0, contracts.Refuse(contracts.CodeVersionConflict, "the task has version %d", t.Version)
	case status != workflow.TaskOpen:
		return t, 0, contracts.Refuse(contracts.CodeTaskDone, "the task is %s", status)
	case active:
		return t, 0, contracts.Refuse(contracts.CodeWorkflowActive, "the task has an active revision")
	}
	return t, number, nil
}

func insertRevision(ctx context.Context, tx pgx.Tx, d Dispatch, c workflow.Contract) (frozenRow, error) {
	data, err := c.Bytes()
	if err != nil {
		return frozenRow{}, fmt.Errorf("freeze the contract: %w", err)
	}
	r := frozenRow{
		WorkflowID: newID(), TaskID: c.Task.ID, ProjectID: c.ProjectID, Number: c.Revision, NodeID: c.BridgeID,
		ContractDigest: canonjson.Digest(data), MaxWorkAttempts: c.MaxWorkAttempts, Lease: d.Lease, Deadline: d.Deadline,
		WorkerAccount: c.Profile.AccountID, WorkerRuntime: string(c.Profile.Runtime),
		VerifierAccount: c.Verifier.AccountID, VerifierRuntime: string(c.Verifier.Runtime),
		WorkerDispatch: c.WorkerDispatch != nil,
	}
	if r.ArtifactKind, err = artifactKind(c.Task.ArtifactSpec); err != nil {
		return r, err
	}
	_, err = tx.Exec(ctx, `INSERT INTO revisions (workflow_id, task_id, project_id, number, node_id, contract, contract_digest,
			worker_profile, worker_version, verifier_profile, verifier_version, worker_account, worker_runtime, verifier_account, verifier_runtime,
			max_work_attempts, lease, deadline, phase, work_attempts, dispatched_by, artifact_kind, worker_dispatch)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, 'offered', 1, $19, $20, $21)`,
		r.WorkflowID, r.TaskID, r.ProjectID, r.Number, r.NodeID, data, r.ContractDigest,
		c.Profile.ProfileID, c.Profile.Version.String(), c.Verifier.ProfileID, c.Verifier.Version.String(),
		r.WorkerAccount, r.WorkerRuntime, r.VerifierAccount, r.VerifierRuntime, r.MaxWorkAttempts, r.Lease, r.Deadline, d.User, r.ArtifactKind, r.WorkerDispatch)
	return r, err
}

// insertFirstStep writes the step that every revision starts with: dispatched and offered.
func insertFirstStep(ctx context.Context, tx pgx.Tx, d Dispatch, r frozenRow, spec workflow.Spec, ledger chain, now time.Time) error {
	offer := &workflow.Attempt{ExecutionID: newID(), Purpose: workflow.PurposeWork, Number: 1, Phase: workflow.AttemptOffered, BaseCommit: spec.BaseCommit}
	if r.WorkerDispatch {
		offer.Dispatch = workflow.DispatchUndecided
	}
	step := workflow.Step{
		First: 1, Kinds: []workflow.EntryKind{workflow.EntryDispatched, workflow.EntryOffered}, At: now,
		Phase: workflow.PhaseOffered, WorkAttempts: 1, Active: offer,
	}
	stored, err := json.Marshal(step)
	if err != nil {
		return fmt.Errorf("store the first step: %w", err)
	}
	dispatched, err := canonjson.Marshal(map[string]any{"by": d.User, "contract_digest": r.ContractDigest})
	if err != nil {
		return fmt.Errorf("store the dispatched entry: %w", err)
	}
	offered, err := canonjson.Marshal(map[string]any{
		"node_id": r.NodeID, "purpose": offer.Purpose, "number": offer.Number, "base_commit": offer.BaseCommit,
	})
	if err != nil {
		return fmt.Errorf("store the offered entry: %w", err)
	}
	b := &pgx.Batch{}
	b.Queue(`INSERT INTO history (workflow_id, sequence, at, kind, data, input_hash, step) VALUES ($1, 1, $2, 'dispatched', $3, $4, $5)`,
		r.WorkflowID, now, dispatched, d.RequestSHA256, stored)
	b.Queue(`INSERT INTO history (workflow_id, sequence, at, kind, attempt_id, data) VALUES ($1, 2, $2, 'offered', $3, $4)`,
		r.WorkflowID, now, offer.ExecutionID, offered)
	queueOffer(b, r, offer, 1)
	b.Queue(`UPDATE idempotency SET workflow_id = $3 WHERE project_id = $1 AND key = $2`, r.ProjectID, spec.IdempotencyKey, r.WorkflowID)
	ledger.taskID = r.TaskID
	ledger.add(workflow.LedgerEntry{At: now, Kind: workflow.LedgerDispatched, By: d.User, WorkflowID: r.WorkflowID})
	if err := ledger.queue(b, "", nil); err != nil {
		return err
	}
	b.Queue(`INSERT INTO outbox (kind, workflow_id) VALUES ('start', $1)`, r.WorkflowID)
	return tx.SendBatch(ctx, b).Close()
}

// startOf is what starting an existing revision's workflow takes.
func startOf(ctx context.Context, q querier, workflowID string) (Start, error) {
	var st Start
	err := q.QueryRow(ctx, `SELECT r.workflow_id, r.task_id, r.project_id, r.node_id, t.title FROM revisions r JOIN tasks t ON t.id = r.task_id
		WHERE r.workflow_id = $1`, workflowID).Scan(&st.WorkflowID, &st.TaskID, &st.ProjectID, &st.NodeID, &st.Title)
	if errors.Is(err, pgx.ErrNoRows) {
		return st, notFound("revision")
	}
	return st, err
}

// StartOf is what starting a revision's Temporal workflow takes.
func (s *Store) StartOf(ctx context.Context, workflowID string) (Start, error) {
	st, err := startOf(ctx, s.pool, workflowID)
	if err != nil {
		return st, translate(err)
	}
	return st, nil
}
