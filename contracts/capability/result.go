// What an evaluation answers: the action, the normalised outcome and what may not be claimed.

package capability

// Action is what the caller does next.
type Action string

// The five actions. Attempt and wait leave the outcome's status open; settle judges an accepted call.
const (
	ActionAttempt  Action = "attempt_dispatch"
	ActionFallback Action = "fallback"
	ActionBlock    Action = "block"
	ActionWait     Action = "wait"
	ActionSettle   Action = "settle"
)

// Status is how good a settled outcome is.
type Status string

// From best to worst. Only the first two are promotable, and only after a call.
const (
	StatusSucceeded Status = "succeeded"
	StatusDegraded  Status = "degraded"
	StatusFailed    Status = "failed"
	StatusBlocked   Status = "blocked"
)

// Probe is whether the session's registry was looked at.
type Probe string

// Not applicable: there was no authorization to look. Unavailable: there was no reliable place to.
const (
	ProbeNotApplicable Probe = "not_applicable"
	ProbeAttempted     Probe = "attempted"
	ProbeUnavailable   Probe = "unavailable"
)

// Availability is whether the session offers a worker that is eligible for an attempt.
type Availability string

// Available proves no permission, no capacity and no execution.
const (
	CapabilityAvailable Availability = "available"
	CapabilityMissing   Availability = "missing"
	CapabilityUnknown   Availability = "unknown"
)

// MutationVerdict is what the observation says of the worker's changes.
type MutationVerdict string

// Not applicable is for a worker that was never accepted. Violated and unproven never promote.
const (
	MutationWithinScope   MutationVerdict = "within-scope"
	MutationViolated      MutationVerdict = "violated"
	MutationUnproven      MutationVerdict = "unproven"
	MutationNotApplicable MutationVerdict = "not_applicable"
)

// Gate is the state of whatever depends on an independent worker.
type Gate string

// Only a promotable result of a worker seen to be isolated closes the gate.
const (
	GateOpen   Gate = "open"
	GateClosed Gate = "closed"
)

// What a promotable outcome covers, and any other.
const (
	CoverageClaimScoped = "claim-scoped"
	CoverageNone        = "none"
)

// Result is the answer to an Input. It never holds text of a provider, and of the input only the refs
// used and the claims denied.
type Result struct {
	Action  Action  `json:"action"`
	Outcome Outcome `json:"outcome"`
	// ClaimsDenied are those of the requested claims that may not be made, sorted, once each.
	ClaimsDenied []Claim `json:"claims_denied"`
	// IndependenceGate stays open unless an isolated worker's result settled well.
	IndependenceGate Gate `json:"independence_gate"`
	// ResultPromotable says whether the result may become a finding, evidence or a claim.
	ResultPromotable bool `json:"result_promotable"`
	// Diagnostics are plain sentences, in the order of judgement.
	Diagnostics []string `json:"diagnostics"`
}

// Outcome is the seed's worker_dispatch_outcome.
type Outcome struct {
	ExecutionMode Mode `json:"execution_mode"`
	// Status is null while the outcome is open: with attempt_dispatch and wait.
	Status                   *Status         `json:"status"`
	ProviderTrustDomain      TrustDomain     `json:"provider_trust_domain"`
	CapabilityProbe          Probe           `json:"capability_probe"`
	WorkerDispatchCapability Availability    `json:"worker_dispatch_capability"`
	RealizedIsolation        Isolation       `json:"realized_isolation"`
	ModelSelection           ModelSelection  `json:"model_selection"`
	RealizedParallelism      Parallelism     `json:"realized_parallelism"`
	MutationObservation      MutationVerdict `json:"mutation_observation"`
	// AuthorizationReceipts are the refs of the scope receipts the action rests on.
	AuthorizationReceipts []string `json:"authorization_receipts"`
	// ReasonCodes are in the seed's order, once each.
	ReasonCodes   []ReasonCode `json:"reason_codes"`
	CoverageClaim string       `json:"coverage_claim"`
}
