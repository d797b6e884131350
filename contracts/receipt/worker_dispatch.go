// The part of a receipt that says how its workers were called, where the contract binds that.

package receipt

import (
	"maps"
	"slices"

	"countersign/contracts"
	"countersign/contracts/capability"
	"countersign/contracts/workflow"
)

// dispatchAssertedBy says whose word the part is: the decisions are the server's, what they rest on was
// reported by the node of each attempt.
var dispatchAssertedBy = map[string]string{
	"worker_dispatch.decision": "server", "worker_dispatch.report": "worker", "worker_dispatch.observation": "worker",
}

// bind puts the settled dispatches of a revision's attempts into its predicate; none change nothing.
func (p *Predicate) bind(settled []workflow.DispatchRecord) {
	if len(settled) == 0 {
		return
	}
	p.WorkerDispatch = settled
	p.AssertedBy = maps.Clone(p.AssertedBy)
	maps.Copy(p.AssertedBy, dispatchAssertedBy)
}

// checkDispatch judges again what can be judged of the settled dispatches: each belongs to an attempt,
// the accepted worker's result was promotable, and its verifier was independent.
func (st *Statement) checkDispatch(v workflow.Verdict) *contracts.Error {
	p := &st.Predicate
	if len(p.WorkerDispatch) == 0 {
		return nil
	}
	seen := map[string]bool{}
	for _, r := range p.WorkerDispatch {
		a := p.attempt(r.ExecutionID)
		switch {
		case a == nil || a.Purpose != r.Purpose:
			return unproven("a settled dispatch is about no attempt of the revision")
		case seen[r.ExecutionID]:
			return unproven("attempt %s is settled twice", r.ExecutionID)
		case r.Contract != capability.Version || r.Stage != workflow.StageSettle:
			return unproven("the dispatch of attempt %s is not settled by %s", r.ExecutionID, capability.Version)
		}
		seen[r.ExecutionID] = true
		if r.ExecutionID == v.WorkerExecutionID || r.ExecutionID == v.VerifierExecutionID {
			if why := shortfall(r); why != "" {
				return unproven("the dispatch of %s attempt %s does not count: %s", r.Purpose, r.ExecutionID, why)
			}
		}
	}
	if !seen[v.WorkerExecutionID] || !seen[v.VerifierExecutionID] {
		return unproven("the worker's or the verifier's dispatch is not settled")
	}
	return nil
}

// disclosed are the codes that a result may have and still count.
var disclosed = []capability.ReasonCode{
	capability.IsolationRequirementUnmet, capability.IsolationDegradedInherited, capability.ModelOverrideUnsupported,
	capability.ModelOverrideUnknown, capability.ParallelismUnprovenSerialized,
}

// shortfall says why a settled dispatch cannot stand behind an acceptance, "" when it can. The record's
// own conclusions have to be there and to follow from its facts.
func shortfall(r workflow.DispatchRecord) string {
	o := r.Outcome
	switch {
	case r.SessionIdentity == nil || !r.SessionIdentity.Complete():
		return "the session it holds for is not named"
	case !r.Stands() && r.Purpose == workflow.PurposeVerify && r.ResultPromotable:
		return "the gate that needs an independent verifier is open"
	case !r.Stands():
		return "its result is not promotable"
	case o.ExecutionMode != capability.ModeDispatched:
		return "nobody was dispatched"
	case o.WorkerDispatchCapability != capability.CapabilityAvailable:
		return "it is not proven that the session offered a worker"
	case o.Status == nil || *o.Status != capability.StatusSucceeded && *o.Status != capability.StatusDegraded:
		return "it did not succeed"
	case (*o.Status == capability.StatusSucceeded) != (len(o.ReasonCodes) == 0):
		return "its status does not follow from its codes"
	case !slices.Equal(r.ClaimsDenied, o.Denied()):
		return "the claims denied are not those that what was seen contradicts"
	case o.MutationObservation != capability.MutationWithinScope:
		return "its changes are not proven to be within their scope"
	case r.IndependenceGate == capability.GateClosed && o.RealizedIsolation != capability.IsolationIsolated:
		return "it was not seen to be isolated"
	}
	for _, code := range o.ReasonCodes {
		if !slices.Contains(disclosed, code) {
			return string(code)
		}
	}
	return ""
}

// boundBy holds the part to the contract: it is there exactly when the contract binds its workers, and
// the contract authorised them.
func (p *Predicate) boundBy(w *workflow.WorkerDispatch) *contracts.Error {
	switch {
	case (w != nil) != (len(p.WorkerDispatch) > 0):
		return unproven("settled dispatches are there exactly when the contract has a worker_dispatch")
	case w != nil && w.For(workflow.PurposeWork).WorkerDispatchAuthorization != capability.Authorized:
		return unproven("the contract does not authorise its workers")
	}
	return nil
}
