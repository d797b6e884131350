// Rules of the wire types that span more than one field.

package workflow

import (
	"countersign/contracts"
	"countersign/contracts/canonjson"

	"github.com/go-json-experiment/json/jsontext"
)

// Check holds a dispatch to the rules between its two profiles.
func (r *DispatchRequest) Check() error {
	if err := r.Spec.Profile.check("$.spec.profile"); err != nil {
		return err
	}
	if err := r.Spec.Verifier.check("$.spec.verifier"); err != nil {
		return err
	}
	if r.Spec.Verifier.AllowWorkspaceWrites {
		return contracts.Invalid("$.spec.verifier.allow_workspace_writes", "must be false: a verifier never writes")
	}
	if r.Spec.Verifier.ProfileID == r.Spec.Profile.ProfileID {
		return contracts.Invalid("$.spec.verifier.profile_id", "must differ from the worker's profile_id")
	}
	return r.Spec.WorkerDispatch.check("$.spec.worker_dispatch")
}

func (p *Profile) check(at string) error {
	switch {
	case p.Runtime == RuntimeSynthetic && p.AccountID != "":
		return contracts.Invalid(at+".account_id", "a synthetic profile has no account")
	case p.Runtime != RuntimeSynthetic && p.AccountID == "":
		return contracts.Invalid(at+".account_id", "is required for runtime %s", p.Runtime)
	case p.Runtime != RuntimeSynthetic && p.Model == "":
		return contracts.Invalid(at+".model", "is required for runtime %s", p.Runtime)
	}
	size, err := p.Size()
	if err != nil {
		return err
	}
	if size > MaxProfileBytes {
		return contracts.Invalid(at, "the profile has %d bytes, the limit is %d (60 KiB)", size, MaxProfileBytes)
	}
	return nil
}

// Size is how many bytes the profile's RFC 8785 form has.
func (p *Profile) Size() (int, error) {
	data, err := canonjson.Marshal(p)
	return len(data), err
}

// Check refuses fields that an event's state cannot carry, and a completed event without its proof
// of a clean end. What a purpose may not carry is decided later, by the attempt.
func (e *Event) Check() error {
	// Whether a payload is one is its own contract's to say; an explicit null is none.
	absentOrObject(&e.Completion)
	absentOrObject(&e.Refusal)
	for _, f := range append(e.fields(), e.dispatchFields()...) {
		if f.set && !f.allowed {
			return contracts.Invalid("$."+f.name, "does not belong in an event of state %s", e.State)
		}
	}
	switch {
	case e.State == EventRunning && e.ProviderSessionID == nil:
		return contracts.Invalid("$.provider_session_id", "is required when running")
	case e.State == EventCompleted && e.ProviderSessionID == nil:
		return contracts.Invalid("$.provider_session_id", "is required when completed")
	case e.State == EventCompleted && (e.ExitCode == nil || *e.ExitCode != 0):
		return contracts.Invalid("$.exit_code", "must be 0 when completed")
	case e.State == EventCompleted && e.Completion != nil && e.ResultSummary != nil:
		return contracts.Invalid("$.result_summary", "give completion or result_summary, not both")
	case e.Verdict != nil && e.Verdict.CandidateCommit == "" && e.Verdict.CandidateHash == "":
		return contracts.Invalid("$.verdict.candidate_commit", "is required")
	case e.Verdict != nil && e.Verdict.CandidateCommit != "" && e.Verdict.CandidateHash != "":
		return contracts.Invalid("$.verdict.candidate_hash", "give candidate_commit or candidate_hash, not both")
	case (e.State == EventFailed || e.State == EventInterrupted) && e.Reason == nil && e.Refusal == nil:
		return contracts.Invalid("$.reason", "is required when %s", e.State)
	}
	return nil
}

// absentOrObject reads an explicit null as absent.
func absentOrObject(v *jsontext.Value) bool {
	if v.Kind() == 'n' {
		*v = nil
	}
	return *v == nil || v.Kind() == '{'
}

type eventField struct {
	name         string
	set, allowed bool
}

func (e *Event) fields() []eventField {
	completed := e.State == EventCompleted
	ended := e.State.Terminal()
	failed := ended && !completed
	return []eventField{
		{"provider_session_id", e.ProviderSessionID != nil, ended || e.State == EventRunning},
		{"exit_code", e.ExitCode != nil, ended},
		{"result_commit", e.ResultCommit != nil, completed},
		{"artifact_hash", e.ArtifactHash != nil, completed},
		{"evidence_path", e.EvidencePath != nil, completed},
		{"clean_workspace", e.CleanWorkspace != nil, completed},
		{"completion", e.Completion != nil, completed},
		{"result_summary", e.ResultSummary != nil, completed},
		{"refusal", e.Refusal != nil, e.State == EventFailed},
		{"verdict", e.Verdict != nil, completed},
		{"reason", e.Reason != nil, failed},
	}
}

// checkPurpose refuses what only the other kind of attempt may hand in.
func (e *Event) checkPurpose(p Purpose) *contracts.Error {
	switch {
	case p == PurposeWork && e.Verdict != nil:
		return contracts.Invalid("$.verdict", "a worker cannot hand in a verdict")
	case p == PurposeVerify && e.Completion != nil:
		return contracts.Invalid("$.completion", "a verifier cannot hand in a completion")
	case p == PurposeVerify && e.ResultSummary != nil:
		return contracts.Invalid("$.result_summary", "a verifier cannot hand in a result summary")
	case p == PurposeVerify && e.Refusal != nil:
		return contracts.Invalid("$.refusal", "a verifier cannot refuse")
	}
	return nil
}

// Check refuses a change that changes nothing.
func (r *PatchNode) Check() error {
	if r.Status == nil && r.Note == nil && r.Projects == nil && r.Accounts == nil {
		return contracts.Invalid("$", "nothing to change: give status, note, projects or accounts")
	}
	return nil
}

// Check takes an artifact declaration as an object or nothing.
func (r *CreateTask) Check() error {
	if !absentOrObject(&r.ArtifactSpec) {
		return contracts.Invalid("$.artifact_spec", "must be an object")
	}
	return nil
}

// Check refuses an edit that edits nothing.
func (r *PatchTask) Check() error {
	if r.Title == nil && r.Labels == nil && r.Goal == nil && r.Status == nil {
		return contracts.Invalid("$", "nothing to change: give title, labels, goal or status")
	}
	return nil
}
