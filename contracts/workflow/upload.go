// What a work attempt uploads in the place of a commit, and how it was judged.

package workflow

import (
	"time"

	"countersign/contracts"
	"countersign/contracts/artifact"
)

// Upload answers PUT …/{id}/artifact: the deliverable's identity and what its declared criteria say of
// it. It is judged once, when it arrives; the step that ends the attempt only reads it.
type Upload struct {
	// ContentHash is "sha256:" and the hex SHA-256 of the canonical bytes; "" when there are none.
	ContentHash string `json:"content_hash,omitzero"`
	// Bytes is how many canonical bytes there are.
	Bytes    int64             `json:"bytes"`
	Criteria []artifact.Result `json:"criteria"`
	// Rejection says why the bytes have no canonical form; then nothing was judged.
	Rejection string `json:"rejection,omitzero"`
}

// Passed reports whether the bytes may become a candidate: they have a canonical form and every
// declared criterion holds.
func (u Upload) Passed() bool {
	for _, c := range u.Criteria {
		if !c.Passed {
			return false
		}
	}
	return u.Rejection == ""
}

// ArtifactMode reports whether the revision ends in a signed artifact instead of a commit (seed
// "artifact contract", section "Completing a task on a receipt instead of a commit").
func (s State) ArtifactMode() bool { return ArtifactMode(s.ArtifactKind) }

// ArtifactMode reports whether a task of a declared kind ("" for none) completes by an artifact.
func ArtifactMode(kind string) bool { return kind != "" && kind != string(artifact.CodeDiff) }

// Declaration is the frozen task's artifact declaration; its zero value means a commit.
func (t ContractTask) Declaration() (artifact.Spec, error) {
	if t.ArtifactSpec == nil {
		return artifact.Spec{}, nil
	}
	return artifact.ParseSpec(t.ArtifactSpec)
}

// checkMode refuses the proofs of the other mode.
func (e *Event) checkMode(artifactMode bool) *contracts.Error {
	switch {
	case artifactMode && e.ResultCommit != nil:
		return contracts.Invalid("$.result_commit", "a task that produces an artifact has no commit; hand in artifact_hash")
	case artifactMode && e.CleanWorkspace != nil:
		return contracts.Invalid("$.clean_workspace", "a task that produces an artifact has no work tree to be clean")
	case !artifactMode && e.ArtifactHash != nil:
		return contracts.Invalid("$.artifact_hash", "the task ends in a commit; hand in result_commit")
	}
	return nil
}

// Uploads refuses what is uploaded to an attempt at now by anybody but the worker that runs it under a
// living lease.
func (a *Attempt) Uploads(held Fence, now time.Time) *contracts.Error {
	if a.Purpose != PurposeWork && a.HeldOff(held) == nil {
		return contracts.Refuse(contracts.CodeStateConflict, "only a worker hands in an artifact")
	}
	return a.Runs(held, now)
}

// Runs refuses what is handed in at now by anybody but the holder of a running attempt's living lease.
func (a *Attempt) Runs(held Fence, now time.Time) *contracts.Error {
	switch {
	case a.HeldOff(held) != nil:
		return a.HeldOff(held)
	case a.Expired(now):
		return a.ExpiryRefusal()
	case a.Phase != AttemptRunning:
		return contracts.Refuse(contracts.CodeStateConflict, "nothing is handed in while the attempt is %s and not running", a.Phase)
	}
	return nil
}
