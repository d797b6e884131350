// What an operator sends to dispatch a task.

package workflow

import (
	"github.com/go-json-experiment/json/jsontext"
)

// WriteContext binds an operator's write to the server and project it was meant for.
type WriteContext struct {
	Resource   string `json:"resource" validate:"required,max=1024,text"`
	InstanceID string `json:"instance_id" validate:"required,max=64,text"`
	// ProjectID is the project of the thing written, null for instance-level writes.
	ProjectID *string `json:"project_id" validate:"omitempty,max=64,text"`
}

// DispatchRequest is the body of POST /v1/workflows.
type DispatchRequest struct {
	Spec         Spec         `json:"spec"`
	WriteContext WriteContext `json:"write_context"`
}

// Spec is an inline dispatch: everything that the contract freezes, as the operator wrote it.
type Spec struct {
	Assignment `json:",inline"`
	Profile    Profile `json:"profile"`
	Verifier   Profile `json:"verifier"`
}

// Assignment is what a dispatch says besides who works and who verifies.
type Assignment struct {
	TaskID              string `json:"task_id" validate:"required,max=128,text"`
	ExpectedTaskVersion int    `json:"expected_task_version" validate:"required,min=1"`
	BridgeID            string `json:"bridge_id" validate:"required,max=64,text"`
	// IdempotencyKey makes the dispatch repeatable within its project, for ever.
	IdempotencyKey string `json:"idempotency_key" validate:"required,key128"`
	// Workspace is the absolute, clean path of the anchor repository on the node.
	Workspace  string      `json:"workspace" validate:"required,max=1024,text,abspath"`
	BaseCommit string      `json:"base_commit" validate:"required,sha40"`
	Branch     string      `json:"branch" validate:"required,max=1024,branch"`
	Prompt     string      `json:"prompt" validate:"notblank,max=32768,text"`
	Criteria   []Criterion `json:"criteria" validate:"required,min=1,max=32,unique=ID,dive"`
	// DocumentRefs are repository-relative paths, pinned by the base commit.
	DocumentRefs []string `json:"document_refs,omitzero" validate:"max=32,unique,dive,max=1024,text,relpath"`
	// MaxWorkAttempts is how many work attempts the revision may use, 1 or 2; absent means 2.
	MaxWorkAttempts *int `json:"max_work_attempts,omitzero" validate:"omitempty,min=1,max=2"`
	// WorkerDispatch, when given, binds every attempt to the worker dispatch capability contract.
	WorkerDispatch *WorkerDispatch `json:"worker_dispatch,omitzero"`
}

// Criterion is one thing the verifier must judge, by the method given.
type Criterion struct {
	ID          string `json:"id" validate:"required,criterionid"`
	Description string `json:"description" validate:"notblank,max=2000,text"`
	Method      string `json:"method" validate:"notblank,max=2000,text"`
}

// Runtime is what a node runs a profile with.
type Runtime string

// The runtimes. Synthetic needs no provider account.
const (
	RuntimeSynthetic  Runtime = "synthetic"
	RuntimeCodexCLI   Runtime = "codex_cli"
	RuntimeClaudeCode Runtime = "claude_code_cli"
)

// Profile is an operator-authored snapshot of a worker or verifier, at most MaxProfileBytes in all.
type Profile struct {
	ProfileID    string  `json:"profile_id" validate:"required,key128"`
	Version      Version `json:"version" validate:"version"`
	Runtime      Runtime `json:"runtime" validate:"required,oneof=synthetic codex_cli claude_code_cli"`
	Instructions string  `json:"instructions" validate:"notblank,text"`
	Soul         string  `json:"soul,omitzero" validate:"text"`
	Skills       []Skill `json:"skills,omitzero" validate:"unique=ID,dive"`
	// AccountID is the provider login on the node; absent for synthetic, needed for the others.
	AccountID string `json:"account_id,omitzero" validate:"omitempty,key128"`
	// Model is explicit for every runtime but synthetic.
	Model                string `json:"model,omitzero" validate:"omitempty,max=200,text"`
	Reasoning            string `json:"reasoning,omitzero" validate:"omitempty,oneof=low medium high xhigh max"`
	AllowWorkspaceWrites bool   `json:"allow_workspace_writes"`
}

// MaxProfileBytes is how large a profile's RFC 8785 bytes may be: 60 KiB.
const MaxProfileBytes = 60 << 10

// Skill is one pinned skill of a profile.
type Skill struct {
	ID      string  `json:"id" validate:"required,key128"`
	Version Version `json:"version" validate:"version"`
	Content string  `json:"content" validate:"required,text"`
}

// Version is a profile's or skill's version as its author wrote it: a JSON string of 1 to 64
// characters or a positive integer. It is frozen as written; "1" and 1 are different versions.
type Version struct {
	literal string
}

// StringVersion makes a version from text.
func StringVersion(s string) Version {
	raw, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		return Version{}
	}
	return Version{string(raw)}
}

// String is the version as JSON.
func (v Version) String() string { return v.literal }

// MarshalJSON writes the version as it was read; null for the zero Version.
func (v Version) MarshalJSON() ([]byte, error) {
	if v.literal == "" {
		return []byte("null"), nil
	}
	return []byte(v.literal), nil
}

// UnmarshalJSON keeps the literal; the validator judges it.
func (v *Version) UnmarshalJSON(data []byte) error {
	v.literal = string(data)
	return nil
}
