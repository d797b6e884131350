// The frozen contract and its digest.

package workflow

import (
	"countersign/contracts/canonjson"

	"github.com/go-json-experiment/json/jsontext"
)

// Contract is what a dispatch froze, defaults filled in. It never changes; anyone can recompute its
// digest from the answer that shows it.
type Contract struct {
	V               int          `json:"v"`
	ProjectID       string       `json:"project_id"`
	Task            ContractTask `json:"task"`
	Revision        int          `json:"revision"`
	BridgeID        string       `json:"bridge_id"`
	Workspace       string       `json:"workspace"`
	Branch          string       `json:"branch"`
	BaseCommit      string       `json:"base_commit"`
	Prompt          string       `json:"prompt"`
	Profile         Profile      `json:"profile"`
	Verifier        Profile      `json:"verifier"`
	Criteria        []Criterion  `json:"criteria"`
	DocumentRefs    []string     `json:"document_refs"`
	MaxWorkAttempts int          `json:"max_work_attempts"`
	LeaseSeconds    float64      `json:"lease_seconds"`
	DeadlineSeconds float64      `json:"deadline_seconds"`
	// Sources says which agents' versions and documents the profiles were made of; absent for a
	// dispatch with inline profiles.
	Sources *ContractSources `json:"sources,omitzero"`
	// WorkerDispatch is absent for a dispatch that the worker dispatch capability contract does not bind.
	WorkerDispatch *WorkerDispatch `json:"worker_dispatch,omitzero"`
}

// ContractTask is the task as it stood at dispatch.
type ContractTask struct {
	ID           string         `json:"id"`
	Goal         string         `json:"goal"`
	Version      int            `json:"version"`
	Repository   string         `json:"repository"`
	ArtifactSpec jsontext.Value `json:"artifact_spec,omitzero"`
}

// DefaultMaxWorkAttempts is the work budget of a spec that names none.
const DefaultMaxWorkAttempts = 2

// Freeze makes the contract of a valid spec. Lists that were absent are written empty, so that the
// same dispatch always has the same bytes.
func Freeze(spec Spec, projectID string, task ContractTask, revision int, leaseSeconds, deadlineSeconds float64) Contract {
	c := Contract{
		V: 1, ProjectID: projectID, Task: task, Revision: revision, BridgeID: spec.BridgeID,
		Workspace: spec.Workspace, Branch: spec.Branch, BaseCommit: spec.BaseCommit, Prompt: spec.Prompt,
		Profile: spec.Profile, Verifier: spec.Verifier, Criteria: spec.Criteria, DocumentRefs: spec.DocumentRefs,
		MaxWorkAttempts: DefaultMaxWorkAttempts, LeaseSeconds: leaseSeconds, DeadlineSeconds: deadlineSeconds,
		WorkerDispatch: spec.WorkerDispatch.frozen(),
	}
	if spec.MaxWorkAttempts != nil {
		c.MaxWorkAttempts = *spec.MaxWorkAttempts
	}
	if c.DocumentRefs == nil {
		c.DocumentRefs = []string{}
	}
	for _, p := range []*Profile{&c.Profile, &c.Verifier} {
		if p.Skills == nil {
			p.Skills = []Skill{}
		}
	}
	return c
}

// Bytes is the contract's canonical form and Digest's input.
func (c Contract) Bytes() ([]byte, error) { return canonjson.Marshal(c) }

// ProfileFor is the frozen profile of an attempt's purpose.
func (c Contract) ProfileFor(p Purpose) Profile {
	if p == PurposeVerify {
		return c.Verifier
	}
	return c.Profile
}
