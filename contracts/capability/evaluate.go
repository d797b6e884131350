// The evaluation, top to bottom in the contract's order.

package capability

// Evaluate judges an input. Before a host has accepted the call the first failing gate decides alone;
// after that every gate is judged, and what they find accumulates. It never fails: whatever is
// missing from the input is missing as evidence. The same input always gives the same result.
func Evaluate(in Input) Result {
	seen := look(in)
	found := authorizationGates(in, seen)
	if in.Live.accepted() {
		return settle(in, seen, found)
	}
	found = append(found, isolationGate(in)...)
	if len(found) > 0 {
		return stop(in, seen, found[:1])
	}
	if in.Live == nil {
		return leaveOpen(in, seen, ActionAttempt)
	}
	if found = in.Live.refused(in.DispatchPolicy); len(found) > 0 {
		return stop(in, seen, found)
	}
	return leaveOpen(in, seen, ActionWait)
}

// Preflight judges what can be judged before any session exists: the authorizations, the packet and
// the mutation scope with its freshness at Now. Nothing is probed and the capability stays unknown. ok
// is true when nothing stands against an offer; only otherwise does refused say anything.
func Preflight(in Input) (refused Result, ok bool) {
	seen := sighting{probe: ProbeNotApplicable, capability: CapabilityUnknown}
	in.Live = nil
	found := authorizationGates(in, seen)
	if len(found) == 0 {
		return Result{}, true
	}
	return stop(in, seen, found[:1]), false
}

// Withhold is the result of a dispatch that nothing of the contract stands against and that the caller
// does not attempt all the same, for what code says; why is a sentence for a person. It blocks.
func Withhold(in Input, code ReasonCode, why string) Result {
	in.Live = nil
	return stop(in, look(in), []finding{{code, why}})
}

// authorizationGates judges everything that has to be settled before a call, up to the mutation scope.
func authorizationGates(in Input, seen sighting) []finding {
	var found []finding
	if in.Request.WorkerDispatchAuthorization != Authorized {
		found = append(found, finding{DispatchAuthorizationMissing, "Worker dispatch is not authorised; nothing was probed."})
	}
	found = append(found, seen.found...)
	found = append(found, dataGate(in)...)
	return append(found, mutationGate(in)...)
}

// stop is the result of a dispatch that does not happen.
func stop(in Input, seen sighting, found []finding) Result {
	status := worst(found, weighUncalled)
	action := ActionFallback
	if status == StatusBlocked {
		action = ActionBlock
	}
	r := uncalled(in, seen, action, found)
	r.Outcome.Status = &status
	return r
}

// leaveOpen is the result of a dispatch that nothing stands against: the status is still open.
func leaveOpen(in Input, seen sighting, action Action) Result {
	r := uncalled(in, seen, action, nil)
	r.Outcome.AuthorizationReceipts = receiptsUsed(in)
	return r
}

// uncalled is what all results without an accepted call have in common: nothing was realised, no
// claim stands, the gate is open.
func uncalled(in Input, seen sighting, action Action, found []finding) Result {
	mode := ModeInline
	if in.FallbackMode == ModeSerial {
		mode = ModeSerial
	}
	denied, notes := denyClaims(in.ClaimsRequested, func(Claim) bool { return true })
	return Result{
		Action: action,
		Outcome: Outcome{
			ExecutionMode:            mode,
			ProviderTrustDomain:      in.Request.domain(),
			CapabilityProbe:          seen.probe,
			WorkerDispatchCapability: seen.capability,
			RealizedIsolation:        IsolationNone,
			ModelSelection:           ModelUnknown,
			RealizedParallelism:      ParallelismNone,
			MutationObservation:      MutationNotApplicable,
			AuthorizationReceipts:    []string{},
			ReasonCodes:              codesOf(found),
			CoverageClaim:            CoverageNone,
		},
		ClaimsDenied:     denied,
		IndependenceGate: GateOpen,
		Diagnostics:      diagnose(in, found, notes),
	}
}

// settle judges an accepted call. before is what should have prevented it.
func settle(in Input, seen sighting, before []finding) Result {
	found := append(before, in.Live.failed()...)
	found = append(found, realizedGates(in)...)
	found = append(found, outputGate(*in.Live)...)
	mutation, changes := observe(in)
	found = append(found, changes...)

	status := worst(found, weighCalled)
	promotable := standing[status] <= standing[StatusDegraded]
	gate, coverage := GateOpen, CoverageNone
	if promotable {
		coverage = CoverageClaimScoped
		if in.Live.ObservedContextIsolation == IsolationIsolated {
			gate = GateClosed
		}
	}
	outcome := Outcome{
		ExecutionMode:            ModeDispatched,
		Status:                   &status,
		ProviderTrustDomain:      in.Request.domain(),
		CapabilityProbe:          seen.probe,
		WorkerDispatchCapability: seen.capability,
		RealizedIsolation:        in.Live.isolation(),
		ModelSelection:           in.Live.model(),
		RealizedParallelism:      in.Live.parallelism(),
		MutationObservation:      mutation,
		AuthorizationReceipts:    receiptsUsed(in),
		ReasonCodes:              codesOf(found),
		CoverageClaim:            coverage,
	}
	denied, notes := denyClaims(in.ClaimsRequested, func(c Claim) bool { return !promotable || outcome.belies(c) })
	return Result{
		Action:           ActionSettle,
		Outcome:          outcome,
		ClaimsDenied:     denied,
		IndependenceGate: gate,
		ResultPromotable: promotable,
		Diagnostics:      diagnose(in, found, notes),
	}
}

// mostMisfits is how many values of the wrong type are named one by one.
const mostMisfits = 20

// diagnose puts everything worth saying in sentences, none of which repeats a value of the input.
func diagnose(in Input, found []finding, notes []string) []string {
	sentences := []string{}
	for i, path := range in.misfits {
		if i == mostMisfits {
			sentences = append(sentences, "More values are of the wrong type and prove nothing.")
			break
		}
		sentences = append(sentences, "The value at "+path+" is of the wrong type and proves nothing.")
	}
	for _, f := range found {
		sentences = append(sentences, f.why)
	}
	return append(sentences, notes...)
}
