// The evidence file: what the bridge itself saw of an attempt.

package bridge

import (
	"strings"
	"time"

	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// evidenceFiles is how many changed files are named; the commit itself has them all.
const evidenceFiles = 1000

// evidence is written by the bridge alone. Answer holds the only words that are the provider's.
type evidence struct {
	V                 int              `json:"v"`
	ExecutionID       string           `json:"execution_id"`
	Purpose           workflow.Purpose `json:"purpose"`
	TaskID            string           `json:"task_id"`
	WorkflowID        string           `json:"workflow_id"`
	Revision          int              `json:"revision"`
	ContractDigest    string           `json:"contract_digest"`
	Runtime           workflow.Runtime `json:"runtime"`
	SessionID         string           `json:"session_id"`
	ProviderSessionID string           `json:"provider_session_id"`
	BaseCommit        string           `json:"base_commit"`
	// ResultCommit is the worker's last commit, or the candidate that was judged.
	ResultCommit string `json:"result_commit,omitzero"`
	// ArtifactHash stands in its place for an artifact.
	ArtifactHash   string    `json:"artifact_hash,omitzero"`
	WorkerCommits  int       `json:"worker_commits,omitzero"`
	FilesChanged   []string  `json:"files_changed,omitzero"`
	MoreFiles      int       `json:"more_files_changed,omitzero"`
	IgnoredFiles   int       `json:"ignored_files,omitzero"`
	SweptProcesses int       `json:"swept_processes,omitzero"`
	StartedAt      time.Time `json:"started_at"`
	EndedAt        time.Time `json:"ended_at"`
	Answer         Answer    `json:"answer"`
}

func newEvidence(plan *workflow.Plan, out *outcome, at time.Time) *evidence {
	return &evidence{
		V:                 1,
		ExecutionID:       plan.ExecutionID,
		Purpose:           plan.Workflow.Purpose,
		TaskID:            plan.TaskID,
		WorkflowID:        plan.Workflow.WorkflowID,
		Revision:          plan.Workflow.Revision,
		ContractDigest:    plan.Workflow.ContractDigest,
		Runtime:           plan.Profile.Runtime,
		SessionID:         plan.SessionID,
		ProviderSessionID: out.report.Session,
		BaseCommit:        plan.BaseCommit,
		ResultCommit:      plan.BaseCommit,
		SweptProcesses:    out.exit.swept,
		StartedAt:         out.started.UTC(),
		EndedAt:           at.UTC(),
		Answer:            out.report.Answer,
	}
}

func (e *evidence) found(in *inspection) {
	e.ResultCommit, e.WorkerCommits, e.IgnoredFiles = in.head, in.commits, in.ignored
	for _, f := range in.files[:min(len(in.files), evidenceFiles)] {
		// A path is bytes to git and text to JSON.
		e.FilesChanged = append(e.FilesChanged, strings.ToValidUTF8(f, "\uFFFD"))
	}
	e.MoreFiles = len(in.files) - len(e.FilesChanged)
}

func (e *evidence) bytes() ([]byte, error) {
	data, err := json.Marshal(e, jsontext.Multiline(true))
	return append(data, '\n'), err
}
