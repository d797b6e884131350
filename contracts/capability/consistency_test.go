// What must hold between an input and its result, whatever the input is.

package capability_test

import (
	"slices"
	"strings"

	"countersign/contracts/capability"
)

// inconsistency says which law a result breaks, or "". It knows nothing of how the evaluator works.
func inconsistency(in capability.Input, r capability.Result) string {
	o := r.Outcome
	called := r.Action == capability.ActionSettle
	accepted := in.Live != nil && slices.Contains(in.Live.Attempts, capability.Attempt{Result: "accepted"})
	open := r.Action == capability.ActionAttempt || r.Action == capability.ActionWait
	good := o.Status != nil && (*o.Status == "succeeded" || *o.Status == "degraded")
	laws := []struct {
		broken bool
		law    string
	}{
		{!slices.Contains([]capability.Action{"attempt_dispatch", "fallback", "block", "wait", "settle"}, r.Action), "the action is one of five"},
		{called != accepted, "settle exactly after an acceptance"},
		{called != (o.ExecutionMode == "dispatched"), "dispatched exactly when settled"},
		{!called && o.ExecutionMode != "inline" && o.ExecutionMode != "serial", "else the mode is the fallback's"},
		{open != (o.Status == nil), "no status exactly while the outcome is open"},
		{open && len(o.ReasonCodes) > 0, "no code while the outcome is open"},
		{!open && !called && len(o.ReasonCodes) == 0, "no refusal without a code"},
		{r.Action == "block" && *o.Status != "blocked", "block is blocked"},
		{r.Action == "fallback" && *o.Status != "degraded" && *o.Status != "failed", "a fallback is degraded or failed"},
		{called && (*o.Status == "succeeded") != (len(o.ReasonCodes) == 0), "succeeded exactly without a code"},
		{r.Action == "attempt_dispatch" && in.Live != nil, "an attempt only before any answer"},
		{r.Action == "attempt_dispatch" && o.WorkerDispatchCapability != "available", "an attempt needs an available worker"},
		{r.ResultPromotable != (called && good), "promotable exactly when settled well"},
		{r.ResultPromotable != (o.CoverageClaim == "claim-scoped"), "coverage exactly when promotable"},
		{!r.ResultPromotable && o.CoverageClaim != "none", "else no coverage"},
		{r.IndependenceGate == "closed" && (!r.ResultPromotable || o.RealizedIsolation != "isolated"), "closed only by an isolated, promotable worker"},
		{r.IndependenceGate != "closed" && r.IndependenceGate != "open", "the gate is open or closed"},
		{called == (o.MutationObservation == "not_applicable"), "an observation exactly after a call"},
		{r.ResultPromotable && o.MutationObservation != "within-scope", "only within-scope is promotable"},
		{!called && (o.RealizedIsolation != "none" || o.RealizedParallelism != "none"), "nothing is realised without a call"},
		{o.CapabilityProbe == "not_applicable" && o.WorkerDispatchCapability != "unknown", "nothing is known without a probe"},
		{o.CapabilityProbe == "unavailable" && o.WorkerDispatchCapability != "unknown", "nothing is known without a surface"},
		{o.ReasonCodes == nil || o.AuthorizationReceipts == nil || r.ClaimsDenied == nil || r.Diagnostics == nil, "lists are lists"},
		{len(o.ReasonCodes) > 0 && len(r.Diagnostics) == 0, "a code has a sentence"},
		{!ordered(o.ReasonCodes), "codes are of the fourteen, in order, once each"},
		{!slices.IsSorted(r.ClaimsDenied) || len(slices.Compact(slices.Clone(r.ClaimsDenied))) != len(r.ClaimsDenied), "claims are sorted, once each"},
	}
	for _, l := range laws {
		if l.broken {
			return l.law
		}
	}
	for _, c := range r.ClaimsDenied {
		if !slices.Contains(in.ClaimsRequested, c) {
			return "only requested claims are denied"
		}
	}
	for _, c := range in.ClaimsRequested {
		if slices.Contains(allClaims, c) && !slices.Contains(r.ClaimsDenied, c) && !claimable(c, r) {
			return "a claim stands that is not true: " + string(c)
		}
	}
	for _, sentence := range r.Diagnostics {
		for _, code := range capability.ReasonCodes() {
			if strings.Contains(sentence, string(code)) {
				return "diagnostics hold no codes"
			}
		}
		if !strings.HasSuffix(sentence, ".") {
			return "diagnostics are sentences"
		}
	}
	return ""
}

func claimable(c capability.Claim, r capability.Result) bool {
	if !r.ResultPromotable || r.Outcome.ExecutionMode != "dispatched" {
		return false
	}
	switch c {
	case "independent", "fresh-context", "isolated":
		return r.Outcome.RealizedIsolation == "isolated"
	case "parallel", "multi-agent":
		return r.Outcome.RealizedParallelism == "bounded"
	}
	return true
}

func ordered(got []capability.ReasonCode) bool {
	last := -1
	for _, c := range got {
		i := slices.Index(capability.ReasonCodes(), c)
		if i <= last {
			return false
		}
		last = i
	}
	return true
}
