// The live facts: what the host answered, how the call went and what was seen of the worker.

package capability

import "slices"

// accepted reports whether a host took the call.
func (l *Live) accepted() bool {
	return l != nil && slices.ContainsFunc(l.Attempts, func(a Attempt) bool { return a.Result == AttemptAccepted })
}

// erred reports an answer that is neither an acceptance nor a lack of capacity.
func (l *Live) erred() bool {
	return slices.ContainsFunc(l.Attempts, func(a Attempt) bool {
		return a.Result != AttemptAccepted && a.Result != AttemptCapacityLimited
	})
}

func (l *Live) startedAt() string {
	if l.InvocationStartedAt == nil {
		return ""
	}
	return *l.InvocationStartedAt
}

// refused judges answers among which there is no acceptance: waiting is bounded, an error ends it,
// and so do facts of a call that nobody accepted.
func (l *Live) refused(policy DispatchPolicy) []finding {
	var found []finding
	limited := 0
	for _, a := range l.Attempts {
		if a.Result == AttemptCapacityLimited {
			limited++
		}
	}
	if limited >= max(1, policy.MaxCapacityAttempts) {
		found = append(found, finding{DispatchBackpressureExhausted, "Every allowed attempt met a lack of capacity."})
	}
	if l.erred() {
		found = append(found, finding{WorkerDispatchFailed, "The host answered with an error other than a lack of capacity."})
	} else if l.startedAt() != "" || l.CallStatus != "" && l.CallStatus != CallNotInvoked {
		found = append(found, finding{WorkerDispatchFailed, "There are facts of a call, but no host accepted one."})
	}
	return found
}

// failed judges how an accepted call went.
func (l *Live) failed() []finding {
	switch {
	case l.erred():
		return []finding{{WorkerDispatchFailed, "The host answered with an error other than a lack of capacity."}}
	case l.CallStatus != CallSucceeded:
		return []finding{{WorkerDispatchFailed, "The accepted call is not known to have succeeded."}}
	}
	return nil
}

// outputGate judges the output of an accepted call. After a failure there need not be one, but one
// that is known to be wrong is said to be.
func outputGate(l Live) []finding {
	if l.OutputValidation == OutputFailed || l.CallStatus == CallSucceeded && l.OutputValidation != OutputPassed {
		return []finding{{WorkerOutputInvalid, "The output did not pass the caller's contract."}}
	}
	return nil
}

// isolation is what was seen, with every other word read as unknown.
func (l *Live) isolation() Isolation {
	switch l.ObservedContextIsolation {
	case IsolationIsolated, IsolationInherited, IsolationNone:
		return l.ObservedContextIsolation
	}
	return IsolationUnknown
}

// model is what was seen, with every other word read as unknown.
func (l *Live) model() ModelSelection {
	switch l.ObservedModelSelection {
	case ModelRequested, ModelInherited:
		return l.ObservedModelSelection
	}
	return ModelUnknown
}

// parallelism is what was seen, with every other word read as unknown.
func (l *Live) parallelism() Parallelism {
	switch l.ObservedParallelism {
	case ParallelismBounded, ParallelismSerial, ParallelismNone:
		return l.ObservedParallelism
	}
	return ParallelismUnknown
}
