// Dispatch by catalog: pinned agent versions in place of inline profiles.

package workflow

import (
	"fmt"
	"strconv"

	"countersign/contracts"

	"github.com/go-json-experiment/json"
)

// CatalogRequest is the body of POST /v1/workflows/catalog.
type CatalogRequest struct {
	Spec         CatalogSpec  `json:"spec"`
	WriteContext WriteContext `json:"write_context"`
}

// CatalogSpec is a Spec whose profiles are named instead of written out.
type CatalogSpec struct {
	Assignment `json:",inline"`
	Profile    CatalogProfile `json:"profile"`
	Verifier   CatalogProfile `json:"verifier"`
}

// CatalogProfile pins an agent's version and every document it is made of.
type CatalogProfile struct {
	AgentID string  `json:"agent_id" validate:"required,max=64,text"`
	Version Version `json:"version" validate:"version"`
	// AccountID is the provider login on the node; absent for a synthetic agent.
	AccountID            string `json:"account_id,omitzero" validate:"omitempty,key128"`
	AllowWorkspaceWrites bool   `json:"allow_workspace_writes"`
	// Sources has exactly one entry for every reference of the version.
	Sources []CatalogSource `json:"sources" validate:"required,min=1,max=35,unique=Ref,dive"`
}

// CatalogSource says from which allowed document and commit a reference is read.
type CatalogSource struct {
	// Ref is the version's reference and the source's path, both to the byte.
	Ref       string `json:"ref" validate:"required,max=1024,text,relpath"`
	SourceID  string `json:"source_id" validate:"required,max=64,text"`
	CommitSHA string `json:"commit_sha" validate:"required,sha40"`
}

// Check holds a dispatch to the rules between its two agents.
func (r *CatalogRequest) Check() error {
	if r.Spec.Verifier.AllowWorkspaceWrites {
		return contracts.Invalid("$.spec.verifier.allow_workspace_writes", "must be false: a verifier never writes")
	}
	if r.Spec.Verifier.AgentID == r.Spec.Profile.AgentID {
		return contracts.Invalid("$.spec.verifier.agent_id", "must differ from the worker's agent_id")
	}
	return r.Spec.WorkerDispatch.check("$.spec.worker_dispatch")
}

// Inline is the same dispatch with its profiles written out.
func (s CatalogSpec) Inline(profile, verifier Profile) Spec {
	return Spec{s.Assignment, profile, verifier}
}

// SourceReason is why a source was refused; it is the reason of a problem with code source_refused.
type SourceReason string

// The reasons of source_refused.
const (
	SourceMissing    SourceReason = "missing"    // a reference has no source, or a commit no such document
	SourceExtra      SourceReason = "extra"      // the version has no such reference
	SourceForeign    SourceReason = "foreign"    // it is no source of the task's project
	SourceRevoked    SourceReason = "revoked"    // it is revoked
	SourceMismatched SourceReason = "mismatched" // the source's path is another than the reference
	SourceTruncated  SourceReason = "truncated"  // the mirror holds the document only in part
	SourceSymlinked  SourceReason = "symlinked"  // the path is, or leads through, a symbolic link
	SourceNotUTF8    SourceReason = "not_utf8"   // the document is no UTF-8
	SourceNotText    SourceReason = "not_text"   // the document is blank or holds U+0000
	SourceOversized  SourceReason = "oversized"  // the document, or the profile, is above 60 KiB
	SourceNoMirror   SourceReason = "no_mirror"  // the server has no mirror of the project's repository
)

// RefuseSource makes the refusal of a source.
func RefuseSource(reason SourceReason, path, format string, args ...any) *contracts.Error {
	return &contracts.Error{Code: contracts.CodeSourceRefused, Path: path, Reason: string(reason), Detail: fmt.Sprintf(format, args...)}
}

// DocumentKind is what a document is for.
type DocumentKind string

// The kinds of documents of a version.
const (
	DocumentHeartbeat    DocumentKind = "heartbeat"
	DocumentInstructions DocumentKind = "instructions"
	DocumentSoul         DocumentKind = "soul"
	DocumentSkill        DocumentKind = "skill"
)

// DefinedDocument is one reference of a version.
type DefinedDocument struct {
	Kind DocumentKind
	Ref  string
	// Skill is set for a skill's document.
	Skill AgentSkill

	at string // where a version's body has the reference
}

// Documents are all references of a version: heartbeat, instructions, soul, skills, in this order.
func (d AgentDefinition) Documents() []DefinedDocument {
	out := []DefinedDocument{{Kind: DocumentHeartbeat, Ref: d.Role.Heartbeat, at: "$.role.heartbeat"}}
	if d.Role.Instructions != "" {
		out = append(out, DefinedDocument{Kind: DocumentInstructions, Ref: d.Role.Instructions, at: "$.role.instructions"})
	}
	if d.Soul != "" {
		out = append(out, DefinedDocument{Kind: DocumentSoul, Ref: d.Soul, at: "$.soul"})
	}
	for i, s := range d.Skills {
		out = append(out, DefinedDocument{Kind: DocumentSkill, Ref: s.Ref, Skill: s, at: fmt.Sprintf("$.skills[%d].ref", i)})
	}
	return out
}

// ContractSources is what the profiles of a contract were made of.
type ContractSources struct {
	Profile  ContractIdentity `json:"profile"`
	Verifier ContractIdentity `json:"verifier"`
}

// ContractIdentity is one agent's version and its documents as they were read.
type ContractIdentity struct {
	AgentID   string             `json:"agent_id"`
	Version   Version            `json:"version"`
	Provider  string             `json:"provider,omitzero"`
	Documents []ContractDocument `json:"documents"`
}

// ContractDocument names one document and the SHA-256 of its content, in lowercase hex.
type ContractDocument struct {
	Kind       DocumentKind `json:"kind"`
	SkillID    string       `json:"skill_id,omitzero"`
	SourceID   string       `json:"source_id"`
	Repository string       `json:"repository"`
	Commit     string       `json:"commit"`
	Path       string       `json:"path"`
	SHA256     string       `json:"sha256"`
}

// MakeProfile writes a version's profile out. contents are those of d.Documents(), in their order. The
// profile's instructions are the heartbeat's and, after an empty line, the instructions'.
func MakeProfile(named CatalogProfile, version Version, d AgentDefinition, contents []string) Profile {
	p := Profile{
		ProfileID: named.AgentID, Version: version, Runtime: d.Runtime, AccountID: named.AccountID,
		Model: d.Model, Reasoning: d.Reasoning, AllowWorkspaceWrites: named.AllowWorkspaceWrites,
	}
	for i, document := range d.Documents() {
		switch document.Kind {
		case DocumentHeartbeat:
			p.Instructions = contents[i]
		case DocumentInstructions:
			p.Instructions += "\n\n" + contents[i]
		case DocumentSoul:
			p.Soul = contents[i]
		case DocumentSkill:
			p.Skills = append(p.Skills, Skill{ID: document.Skill.ID, Version: document.Skill.Version, Content: contents[i]})
		}
	}
	return p
}

// Text is the version without JSON's quotes: what paths and comparisons use.
func (v Version) Text() string {
	var s string
	if json.Unmarshal([]byte(v.literal), &s) == nil {
		return s
	}
	return v.literal
}

// ParseVersion reads a version that was stored as JSON. It takes whatever String gave.
func ParseVersion(literal string) Version { return Version{literal} }

// Match finds the source of every reference of a version. It returns, for each of d.Documents(), the
// index into Sources; the refusal names the first source that is extra, or the first reference that is
// missing. at is where the request has the profile.
func (p CatalogProfile) Match(at string, d AgentDefinition) ([]int, error) {
	documents := d.Documents()
	wanted := map[string]int{}
	for i, document := range documents {
		wanted[document.Ref] = i
	}
	found := make([]int, len(documents))
	for i := range found {
		found[i] = -1
	}
	for i, s := range p.Sources {
		w, ok := wanted[s.Ref]
		if !ok {
			return nil, RefuseSource(SourceExtra, SourceAt(at, i, "ref"), "the version has no reference %q", s.Ref)
		}
		found[w] = i
	}
	for w, i := range found {
		if i < 0 {
			return nil, RefuseSource(SourceMissing, at+".sources", "the %s %q has no source", documents[w].Kind, documents[w].Ref)
		}
	}
	return found, nil
}

// SourceAt is where a request names a member of one of a profile's sources.
func SourceAt(at string, i int, member string) string {
	return at + ".sources[" + strconv.Itoa(i) + "]." + member
}
