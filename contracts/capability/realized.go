// Isolation, model and parallelism: what was needed against what there was.

package capability

// isolationGate stops a call that is known to inherit the caller's history where isolation is
// required. An unknown isolation may be attempted; only the live call can then close the gate.
func isolationGate(in Input) []finding {
	if in.Request.isolationNeed() == IsolationRequired &&
		in.CapabilityFacts.WorkerContextIsolation == IsolationInherited {
		return []finding{{IsolationRequirementUnmet, "Isolation is required and workers of this session inherit the caller's history."}}
	}
	return nil
}

// realizedGates discloses what an accepted call lacked. What was seen of the call decides; the
// capability facts only say why a model could not be chosen.
func realizedGates(in Input) []finding {
	var found []finding
	if in.Live.isolation() != IsolationIsolated {
		switch in.Request.isolationNeed() {
		case IsolationRequired:
			found = append(found, finding{IsolationRequirementUnmet, "Isolation is required and the worker was not seen to be isolated."})
		case IsolationPreferred:
			found = append(found, finding{IsolationDegradedInherited, "Isolation is preferred and the worker was not seen to be isolated."})
		}
	}
	if in.Request.ModelSelectionNeed != ModelInheritedOK && in.Live.model() != ModelRequested {
		code := ModelOverrideUnknown
		if in.CapabilityFacts.WorkerModelOverride == Unsupported {
			code = ModelOverrideUnsupported
		}
		found = append(found, finding{code, "The worker was not seen to run on the requested model tier."})
	}
	if in.Request.DesiredConcurrency != ParallelismSerial && in.Live.parallelism() != ParallelismBounded {
		found = append(found, finding{ParallelismUnprovenSerialized, "Bounded parallelism is wanted and was not seen."})
	}
	return found
}

// isolationNeed reads every unknown word as required.
func (r Request) isolationNeed() IsolationNeed {
	if r.ContextIsolationNeed == IsolationPreferred || r.ContextIsolationNeed == IsolationIrrelevant {
		return r.ContextIsolationNeed
	}
	return IsolationRequired
}
