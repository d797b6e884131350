// The catalog: agents, their versions, and the Git documents that a project allows them to be made of.

package workflow

import (
	"time"

	"countersign/contracts"
)

// CreateAgent is the body of POST /v1/agents.
type CreateAgent struct {
	ProjectID    string        `json:"project_id" validate:"required,max=64,text"`
	Name         string        `json:"name" validate:"notblank,max=200,text"`
	WriteContext *WriteContext `json:"write_context,omitzero"`
}

// Agent is an identity of the catalog with its versions, oldest first.
type Agent struct {
	ID        string `json:"id"`
	ProjectID string `json:"project_id"`
	Name      string `json:"name"`
	// Available says that the agent can be dispatched: its latest version is active.
	Available bool           `json:"available"`
	Versions  []AgentVersion `json:"versions"`
	CreatedAt time.Time      `json:"created_at"`
}

// AgentList answers GET /v1/agents: a project's agents, by name.
type AgentList struct {
	Agents []Agent `json:"agents"`
}

// AgentStatus is whether a version may be dispatched.
type AgentStatus string

// The statuses of a version. A latest version that is deprecated disables the whole agent.
const (
	AgentActive     AgentStatus = "active"
	AgentDeprecated AgentStatus = "deprecated"
)

// AgentDefinition is what a version is made of. Its references are paths of documents in the project's
// repository; which commit of each is read is said by the dispatch.
type AgentDefinition struct {
	Role   AgentRole    `json:"role"`
	Soul   string       `json:"soul,omitzero" validate:"omitempty,max=1024,text,relpath"`
	Skills []AgentSkill `json:"skills,omitzero" validate:"max=32,unique=ID,dive"`
	// Provider names whose model it is, for people; the runtime knows its own.
	Provider  string  `json:"provider,omitzero" validate:"max=200,text"`
	Runtime   Runtime `json:"runtime" validate:"required,oneof=synthetic codex_cli claude_code_cli"`
	Model     string  `json:"model,omitzero" validate:"omitempty,max=200,text"`
	Reasoning string  `json:"reasoning,omitzero" validate:"omitempty,oneof=low medium high xhigh max"`
}

// AgentRole are the documents that say what an agent does: its heartbeat and, when there are further
// ones, its instructions.
type AgentRole struct {
	Heartbeat    string `json:"heartbeat" validate:"required,max=1024,text,relpath"`
	Instructions string `json:"instructions,omitzero" validate:"omitempty,max=1024,text,relpath"`
}

// AgentSkill is one pinned skill and the path of its document.
type AgentSkill struct {
	ID      string  `json:"id" validate:"required,key128"`
	Version Version `json:"version" validate:"version"`
	Ref     string  `json:"ref" validate:"required,max=1024,text,relpath"`
}

// AddAgentVersion is the body of POST /v1/agents/{id}/versions.
type AddAgentVersion struct {
	// Version is compared as text: "1" and 1 cannot both be versions of one agent.
	Version         Version `json:"version" validate:"version"`
	AgentDefinition `json:",inline"`
	WriteContext    *WriteContext `json:"write_context,omitzero"`
}

// AgentVersion is one version; only its status ever changes.
type AgentVersion struct {
	Version         Version     `json:"version"`
	Status          AgentStatus `json:"status"`
	AgentDefinition `json:",inline"`
	CreatedAt       time.Time `json:"created_at"`
	UpdatedAt       time.Time `json:"updated_at"`
}

// PatchAgentVersion is the body of PATCH /v1/agents/{id}/versions/{version}.
type PatchAgentVersion struct {
	Status       AgentStatus   `json:"status" validate:"required,oneof=active deprecated"`
	WriteContext *WriteContext `json:"write_context,omitzero"`
}

// AddSource is the body of POST /v1/projects/{id}/sources: it allows a document of the project's
// repository, at whichever commit a dispatch names.
type AddSource struct {
	Path         string        `json:"path" validate:"required,max=1024,text,relpath"`
	WriteContext *WriteContext `json:"write_context,omitzero"`
}

// RevokeSource is the body of POST /v1/projects/{id}/sources/{source_id}/revoke.
type RevokeSource struct {
	WriteContext *WriteContext `json:"write_context,omitzero"`
}

// Source is an allowed document. A revoked one stops new dispatches, not frozen ones.
type Source struct {
	ID        string     `json:"id"`
	ProjectID string     `json:"project_id"`
	Path      string     `json:"path"`
	CreatedAt time.Time  `json:"created_at"`
	RevokedAt *time.Time `json:"revoked_at"`
}

// SourceList answers GET /v1/projects/{id}/sources: all of them, revoked ones included, by path.
type SourceList struct {
	Sources []Source `json:"sources"`
}

// Check refuses a version that names a document twice, or a provider's runtime without a model.
func (r *AddAgentVersion) Check() error {
	if r.Runtime != RuntimeSynthetic && r.Model == "" {
		return contracts.Invalid("$.model", "is required for runtime %s", r.Runtime)
	}
	seen := map[string]bool{}
	for _, d := range r.Documents() {
		if seen[d.Ref] {
			return contracts.Invalid(d.at, "names the document %q a second time", d.Ref)
		}
		seen[d.Ref] = true
	}
	return nil
}
