// What completes a work attempt whose task produces an artifact.

package workflow

import (
	"countersign/contracts"
	"countersign/contracts/artifact"
	"countersign/contracts/figures"
)

// strictLater tells whoever accepts a report whose figures were only warned about what an audit will say
// of it; "" for all others.
func strictLater(c *Contract) string {
	spec, err := c.Task.Declaration()
	if err != nil {
		return "" // it was parsed when the task was made
	}
	for _, criterion := range spec.Criteria {
		if criterion.Type != artifact.FiguresGrounded {
			continue
		}
		if f, err := figures.ParseCriterion(criterion.Value); err == nil && f.Severity == figures.Warn {
			return "figures_grounded only warns here; countersign artifact verify is always strict"
		}
	}
	return ""
}

// artifactCompleted makes the attempt's last upload the candidate and offers its verification. What was
// not uploaded, has no canonical form or fails a declared criterion ends the attempt for what it is. It
// refuses only an event that speaks of other bytes than the ones the server holds.
func (d *Decision) artifactCompleted(s State, f Facts, settled *DispatchRecord) *contracts.Error {
	e, up := f.Event, f.Upload
	switch {
	case !f.ContractIntact:
		return tampered()
	case up == nil:
		spec, err := f.Contract.Task.Declaration()
		if err != nil {
			return contracts.Refuse(contracts.CodeInternal, "the frozen declaration cannot be read")
		}
		d.failFor(ReasonArtifactMissing, map[string]any{"said": artifact.Missing(spec.OutputPath).Detail})
		return nil
	case up.Rejection != "":
		d.failFor(ReasonArtifactRejected, map[string]any{"said": up.Rejection})
		return nil
	case !attested(s, e):
		d.fail(ReasonEvidenceMissing)
		return nil
	case settled != nil && !settled.Stands():
		d.failDispatch(settled)
		return nil
	case *e.ArtifactHash != up.ContentHash:
		return contracts.Invalid("$.artifact_hash", "is not the hash of what was uploaded last")
	case !up.Passed():
		d.failFor(ReasonArtifactRejected, map[string]any{"artifact_hash": up.ContentHash, "criteria": up.Criteria})
		return nil
	}
	worker := d.Step.Active
	d.result(e, OutcomeResult)
	d.Step.CandidateHash, d.Step.WorkerExecutionID = up.ContentHash, worker.ExecutionID
	d.offer(s, f, PurposeVerify, worker.Number, worker.BaseCommit)
	return nil
}
