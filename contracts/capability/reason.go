// The fourteen stable reason codes, in the seed's order, each with a sentence and a way out.

package capability

import "slices"

// ReasonCode is a stable word that says why a dispatch did not happen or what its result lacks.
type ReasonCode string

// The reason codes of contract v1. A client switches on them; they never change their meaning.
const (
	DispatchAuthorizationMissing   ReasonCode = "dispatch_authorization_missing"
	SubagentCapabilityMissing      ReasonCode = "subagent_capability_missing"
	WorkerCapabilityUnproven       ReasonCode = "worker_capability_unproven"
	WorkerDataAuthorizationMissing ReasonCode = "worker_data_authorization_missing"
	WorkerMutationUnproven         ReasonCode = "worker_mutation_unproven"
	WorkerMutationScopeViolated    ReasonCode = "worker_mutation_scope_violated"
	IsolationRequirementUnmet      ReasonCode = "isolation_requirement_unmet"
	IsolationDegradedInherited     ReasonCode = "isolation_degraded_inherited"
	ModelOverrideUnsupported       ReasonCode = "model_override_unsupported"
	ModelOverrideUnknown           ReasonCode = "model_override_unknown"
	ParallelismUnprovenSerialized  ReasonCode = "parallelism_unproven_serialized"
	DispatchBackpressureExhausted  ReasonCode = "dispatch_backpressure_exhausted"
	WorkerDispatchFailed           ReasonCode = "worker_dispatch_failed"
	WorkerOutputInvalid            ReasonCode = "worker_output_invalid"
)

// Explanation is a reason code in words for a person.
type Explanation struct {
	// Sentence says what is the case.
	Sentence string `json:"sentence"`
	// Remedy says what to do about it.
	Remedy string `json:"remedy"`
}

type reason struct {
	code ReasonCode
	Explanation
}

// reasons is the one list of the codes; its order is the order of every outcome.
var reasons = []reason{
	{DispatchAuthorizationMissing, Explanation{
		"Nobody authorised a worker for this task, so nothing was probed.",
		"Have the task, the owning workflow or the handoff authorise worker dispatch, or do the work without a worker."}},
	{SubagentCapabilityMissing, Explanation{
		"The session's complete registry offers no generic worker.",
		"Do the work without a worker, or run it in a session that offers one."}},
	{WorkerCapabilityUnproven, Explanation{
		"It is not proven that this session offers a usable worker.",
		"Read the current session's registry in full, quote every candidate's schema and settle which one qualifies."}},
	{WorkerDataAuthorizationMissing, Explanation{
		"The task packet may not be given to this provider.",
		"Obtain the missing data authorisations, and minimise, allow-list and redact the packet."}},
	{WorkerMutationUnproven, Explanation{
		"It is not proven that the worker's changes are authorised or that they stayed within their scope.",
		"Supply a fresh, source-owned scope receipt for every surface, and compare the state before and after the call yourself."}},
	{WorkerMutationScopeViolated, Explanation{
		"The worker changed something outside its scope.",
		"Discard the result and the workspace; nothing of it may serve as evidence."}},
	{IsolationRequirementUnmet, Explanation{
		"The worker is required to start without the caller's history, and does not provably do so.",
		"Use a worker with an isolated context, or leave every gate that needs independence open."}},
	{IsolationDegradedInherited, Explanation{
		"An isolated worker was preferred, and this one is not provably isolated.",
		"Use the result without claiming independence, or repeat the work with an isolated worker."}},
	{ModelOverrideUnsupported, Explanation{
		"This session cannot choose a worker's model, so the requested tier was not used.",
		"Accept and disclose the inherited model, or use a session that can choose."}},
	{ModelOverrideUnknown, Explanation{
		"It is not proven that the worker ran on the requested model tier.",
		"Accept and disclose the inherited model, or have the session report the model it used."}},
	{ParallelismUnprovenSerialized, Explanation{
		"Bounded parallelism was wanted and is not proven, so the work counts as serial.",
		"Claim nothing about parallel work, or use a session that reports its parallelism."}},
	{DispatchBackpressureExhausted, Explanation{
		"The session had no capacity for a worker within the allowed number of attempts.",
		"Do the work without a worker, or dispatch again later with a larger bound."}},
	{WorkerDispatchFailed, Explanation{
		"The dispatch failed for a reason other than capacity, or the accepted worker did not succeed.",
		"Read the host's answer, mend the cause and dispatch again in a fresh workspace."}},
	{WorkerOutputInvalid, Explanation{
		"The worker's output does not provably meet the caller's output contract.",
		"Discard the output, or have the worker produce one that validates."}},
}

// ReasonCodes lists all fourteen codes in the seed's order.
func ReasonCodes() []ReasonCode {
	codes := make([]ReasonCode, len(reasons))
	for i, r := range reasons {
		codes[i] = r.code
	}
	return codes
}

// Explain puts a reason code into words. ok is false for a word that is no reason code.
func Explain(code ReasonCode) (e Explanation, ok bool) {
	i := slices.IndexFunc(reasons, func(r reason) bool { return r.code == code })
	if i < 0 {
		return Explanation{}, false
	}
	return reasons[i].Explanation, true
}
