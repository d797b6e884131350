// How the rows of a revision become the machine's state.

package store

import (
	"context"
	"errors"
	"time"

	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
)

// frozenRow is what of a revision never changes, so that it can be read without a lock.
type frozenRow struct {
	WorkflowID      string
	TaskID          string
	ProjectID       string
	Number          int
	NodeID          string
	ContractDigest  string
	MaxWorkAttempts int
	Lease           time.Duration
	Deadline        time.Duration
	WorkerAccount   string
	WorkerRuntime   string
	VerifierAccount string
	VerifierRuntime string
	ArtifactKind    string
	WorkerDispatch  bool // the contract has a worker_dispatch
}

const frozenColumns = `workflow_id, task_id, project_id, number, node_id, contract_digest, max_work_attempts, lease, deadline,
	worker_account, worker_runtime, verifier_account, verifier_runtime, artifact_kind, worker_dispatch`

// state is the machine's state before any history.
func (r frozenRow) state() workflow.State {
	return workflow.State{
		WorkflowID: r.WorkflowID, TaskID: r.TaskID, ProjectID: r.ProjectID, NodeID: r.NodeID, Revision: r.Number,
		ContractDigest: r.ContractDigest, MaxWorkAttempts: r.MaxWorkAttempts, ArtifactKind: r.ArtifactKind,
	}
}

// account is the provider login that an attempt's purpose needs on the node; "" for none.
func (r frozenRow) account(p workflow.Purpose) (account, runtime string) {
	if p == workflow.PurposeVerify {
		return r.VerifierAccount, r.VerifierRuntime
	}
	return r.WorkerAccount, r.WorkerRuntime
}

// currentRow is what of a revision the steps change.
type currentRow struct {
	Phase             workflow.Phase
	Reason            string
	CandidateCommit   string
	CandidateHash     string
	WorkerExecutionID string
	WorkAttempts      int
	Feedback          []byte
	ReceiptID         string
}

const currentColumns = `phase, coalesce(reason, '') AS reason, coalesce(candidate_commit, '') AS candidate_commit,
	coalesce(candidate_hash, '') AS candidate_hash,
	coalesce(worker_execution_id, '') AS worker_execution_id, work_attempts, feedback, coalesce(receipt_id, '') AS receipt_id`

// executionRow is one execution.
type executionRow struct {
	ID                string
	Ordinal           int
	WorkflowID        string
	TaskID            string
	ProjectID         string
	NodeID            string
	Purpose           workflow.Purpose
	Number            int
	State             string
	Phase             workflow.AttemptPhase
	BaseCommit        string
	SessionID         string
	ProviderSessionID string
	ClaimID           string
	LeaseID           string
	FencingToken      int64
	ActivityID        string
	Arming            int
	ClaimedAt         *time.Time
	LeaseExpiresAt    *time.Time
	DeadlineAt        *time.Time
	EndedAt           *time.Time
	ResultCommit      string
	ArtifactHash      string
	EvidencePath      string
	Outcome           string
	Reason            string
	LastEvent         int
	Updates           int
	NodeStoppedAt     *time.Time
	Dispatch          workflow.DispatchState
}

const executionColumns = `id, ordinal, coalesce(workflow_id, '') AS workflow_id, task_id, project_id, node_id, purpose, number, state, phase,
	base_commit, coalesce(session_id, '') AS session_id, coalesce(provider_session_id, '') AS provider_session_id,
	coalesce(claim_id, '') AS claim_id, coalesce(lease_id, '') AS lease_id, coalesce(fencing_token, 0) AS fencing_token,
	coalesce(activity_id, '') AS activity_id, arming, claimed_at, lease_expires_at, deadline_at, ended_at,
	coalesce(result_commit, '') AS result_commit, coalesce(artifact_hash, '') AS artifact_hash, coalesce(evidence_path, '') AS evidence_path,
	coalesce(outcome, '') AS outcome, coalesce(reason, '') AS reason, last_event, updates, node_stopped_at, coalesce(dispatch, '') AS dispatch`

// attempt is the row as the machine sees it.
func (r executionRow) attempt() *workflow.Attempt {
	a := &workflow.Attempt{
		ExecutionID: r.ID, Purpose: r.Purpose, Number: r.Number, Phase: r.Phase, BaseCommit: r.BaseCommit,
		SessionID: r.SessionID, ProviderSessionID: r.ProviderSessionID, ClaimID: r.ClaimID, LeaseID: r.LeaseID,
		FencingToken: r.FencingToken, ActivityID: r.ActivityID, Arming: r.Arming, LastEvent: r.LastEvent,
		Reason: workflow.Reason(r.Reason), Dispatch: r.Dispatch,
	}
	if r.ClaimedAt != nil {
		a.ClaimedAt, a.LeaseExpiresAt, a.DeadlineAt = *r.ClaimedAt, *r.LeaseExpiresAt, *r.DeadlineAt
	} else {
		a.Arming = 0
	}
	return a
}

// state is the machine's state as the locked rows have it; last is the newest history sequence.
func (r currentRow) state(frozen frozenRow, executions []executionRow, last int) (workflow.State, error) {
	s := frozen.state()
	s.Sequence, s.Phase, s.Reason = last, r.Phase, workflow.Reason(r.Reason)
	s.CandidateCommit, s.CandidateHash, s.WorkerExecutionID = r.CandidateCommit, r.CandidateHash, r.WorkerExecutionID
	s.WorkAttempts, s.ReceiptID = r.WorkAttempts, r.ReceiptID
	var feedback []workflow.CriterionFeedback
	if err := json.Unmarshal(r.Feedback, &feedback); err != nil {
		return s, err
	}
	for _, f := range feedback {
		if f.Outcome == workflow.CriterionFail {
			s.FailedCriteria = append(s.FailedCriteria, f.CriterionID)
		}
	}
	for _, e := range executions {
		if e.State != "ended" {
			s.Active = e.attempt()
		}
	}
	return s, nil
}

// one collects exactly one row of a batch or query into T by column name, or fails with absent.
func one[T any](rows pgx.Rows, err error, absent error) (T, error) {
	var zero T
	if err != nil {
		return zero, err
	}
	v, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
	if errors.Is(err, pgx.ErrNoRows) {
		return zero, absent
	}
	return v, err
}

// missing turns the absence of a row into notFound.
func missing(err error, thing string) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return notFound(thing)
	}
	return err
}

// notFound is the one answer for unknown and foreign ids.
func notFound(what string) error { return contracts.Refuse(contracts.CodeNotFound, "no such %s", what) }

// frozen reads what never changes of a revision.
func frozen(ctx context.Context, tx pgx.Tx, workflowID string) (frozenRow, error) {
	rows, err := tx.Query(ctx, `SELECT `+frozenColumns+` FROM revisions WHERE workflow_id = $1`, workflowID)
	return one[frozenRow](rows, err, notFound("revision"))
}
