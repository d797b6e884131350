// Findings: what a gate has against a dispatch, and how much that weighs.

package capability

import "slices"

// finding is one reason code and a plain sentence of why it is given here.
type finding struct {
	code ReasonCode
	why  string
}

// codesOf lists the codes of findings in the seed's order, once each.
func codesOf(found []finding) []ReasonCode {
	codes := []ReasonCode{}
	for _, code := range ReasonCodes() {
		if slices.ContainsFunc(found, func(f finding) bool { return f.code == code }) {
			codes = append(codes, code)
		}
	}
	return codes
}

// standing is how many statuses are better; the worst finding decides.
var standing = map[Status]int{StatusSucceeded: 0, StatusDegraded: 1, StatusFailed: 2, StatusBlocked: 3}

// worst is the status that findings leave, each weighed by weigh.
func worst(found []finding, weigh func(ReasonCode) Status) Status {
	status := StatusSucceeded
	for _, f := range found {
		if w := weigh(f.code); standing[w] > standing[status] {
			status = w
		}
	}
	return status
}

// weighUncalled weighs what stands against a dispatch that no host has accepted: without a worker the
// work may go on degraded, unless something must not happen at all.
func weighUncalled(code ReasonCode) Status {
	switch code {
	case DispatchAuthorizationMissing, SubagentCapabilityMissing, WorkerCapabilityUnproven, DispatchBackpressureExhausted:
		return StatusDegraded
	case WorkerDispatchFailed:
		return StatusFailed
	}
	return StatusBlocked
}

// weighCalled weighs what stands against the result of an accepted call. A gate that should have
// prevented the call blocks its result.
func weighCalled(code ReasonCode) Status {
	switch code {
	case IsolationRequirementUnmet, IsolationDegradedInherited,
		ModelOverrideUnsupported, ModelOverrideUnknown, ParallelismUnprovenSerialized:
		return StatusDegraded
	case WorkerDispatchFailed:
		return StatusFailed
	}
	return StatusBlocked
}
