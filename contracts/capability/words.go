// The closed vocabularies of the contract: every word a request, an observation or an outcome may use.

// Package capability is the evaluator of the worker dispatch capability contract v1: whether a
// worker may be called, and what may be claimed once it has been. It is pure, deterministic and
// fail-closed. It does no I/O and reads no clock but the input's; it scores no words, knows no hosts
// and picks no primitives: eligibility and selection are judged by the caller and handed in.
package capability

// Version names the contract this package evaluates.
const Version = "worker-dispatch/v1"

// Authorization is one of the six independent facts of who allowed what. None implies another.
type Authorization string

// An authorization is given, missing, or not needed. Anything else reads as absent.
const (
	Authorized             Authorization = "authorized"
	AuthorizationMissing   Authorization = "missing"
	AuthorizationNotNeeded Authorization = "not_applicable"
)

// TrustDomain says whose provider runs the worker.
type TrustDomain string

// Any other word reads as unknown, which is treated like external.
const (
	DomainHostNative TrustDomain = "host-native"
	DomainExternal   TrustDomain = "external"
	DomainUnknown    TrustDomain = "unknown"
)

// Parallelism is how many workers run at a time: wanted (bounded, serial) or observed (all four).
type Parallelism string

// A wanted parallelism that is neither bounded nor serial reads as bounded, the stricter.
const (
	ParallelismBounded Parallelism = "bounded"
	ParallelismSerial  Parallelism = "serial"
	ParallelismNone    Parallelism = "none"
	ParallelismUnknown Parallelism = "unknown"
)

// IsolationNeed is how much depends on the worker starting without the caller's history.
type IsolationNeed string

// Any other word reads as required, the strictest.
const (
	IsolationRequired   IsolationNeed = "required"
	IsolationPreferred  IsolationNeed = "preferred"
	IsolationIrrelevant IsolationNeed = "irrelevant"
)

// Isolation is whether a worker inherits prompt and history. It says nothing about file systems.
type Isolation string

// None is the isolation of a worker that never ran.
const (
	IsolationIsolated  Isolation = "isolated"
	IsolationInherited Isolation = "inherited"
	IsolationUnknown   Isolation = "unknown"
	IsolationNone      Isolation = "none"
)

// ModelNeed is whether the caller insists on a model tier.
type ModelNeed string

// Any other word reads as explicit-tier, the stricter.
const (
	ModelExplicitTier ModelNeed = "explicit-tier"
	ModelInheritedOK  ModelNeed = "inherited-ok"
)

// ModelSelection is which model a worker ran on: the one asked for or the caller's.
type ModelSelection string

// Any other word reads as unknown.
const (
	ModelRequested ModelSelection = "requested"
	ModelInherited ModelSelection = "inherited"
	ModelUnknown   ModelSelection = "unknown"
)

// Support is whether the current session offers a feature.
type Support string

// Any other word reads as unknown.
const (
	Supported      Support = "supported"
	Unsupported    Support = "unsupported"
	SupportUnknown Support = "unknown"
)

// MutationScope is what the worker may change.
type MutationScope string

// Any other word is a scope nobody can prove, and blocks.
const (
	MutationForbidden MutationScope = "forbidden"
	MutationScoped    MutationScope = "explicitly-scoped"
)

// Mode is who did or does the work: a dispatched worker, or the caller itself.
type Mode string

// A fallback mode is inline or serial; any other word reads as inline. Both deny the same claims.
const (
	ModeDispatched Mode = "dispatched"
	ModeInline     Mode = "inline"
	ModeSerial     Mode = "serial"
)

// SurfaceState is what the session's discovery met.
type SurfaceState string

// Any other word reads as none.
const (
	DiscoveryPresent SurfaceState = "present"
	DiscoveryNone    SurfaceState = "none"
	DiscoveryFailed  SurfaceState = "failed"
)

// The only ways of capturing a session's schema that count as reliable.
const (
	CaptureToolRegistry        = "host-session-tool-registry-api"
	CaptureStartupRegistration = "host-startup-registration-record"
	CaptureEquivalent          = "equivalent-current-session-source"
)

// CompletenessConfirmed is the only schema_completeness that proves anything, given a basis.
const CompletenessConfirmed = "confirmed"

// SelectionBySchema is the only basis on which one of several eligible candidates wins.
const SelectionBySchema = "schema-behaviour"

// ProvenanceLabel marks quoted provider text; it is also the name of its delimiters.
const ProvenanceLabel = "provider_untrusted"

// AttemptResult is one answer of the host to a dispatch.
type AttemptResult string

// Any other word is an error.
const (
	AttemptAccepted        AttemptResult = "accepted"
	AttemptCapacityLimited AttemptResult = "capacity_limited"
	AttemptError           AttemptResult = "error"
)

// CallStatus is how the accepted call ended.
type CallStatus string

// Any other word is a failure once a call was accepted.
const (
	CallNotInvoked CallStatus = "not_invoked"
	CallSucceeded  CallStatus = "succeeded"
	CallFailed     CallStatus = "failed"
)

// OutputValidation is what the caller's check of the output contract said.
type OutputValidation string

// After a successful call anything but passed is an invalid output.
const (
	OutputPassed        OutputValidation = "passed"
	OutputFailed        OutputValidation = "failed"
	OutputNotApplicable OutputValidation = "not_applicable"
)

// ObservedByCaller is the only source of an observation that counts.
const ObservedByCaller = "caller"

// Claim is a word somebody wants to say about the work.
type Claim string

// Claims are the nine claims of the contract.
func Claims() []Claim {
	return []Claim{
		ClaimIndependent, ClaimFreshContext, ClaimIsolated, ClaimParallel, ClaimMultiAgent,
		ClaimPermission, ClaimCapacity, ClaimExecution, ClaimSupport,
	}
}

// The nine claims of the contract.
const (
	ClaimIndependent  Claim = "independent"
	ClaimFreshContext Claim = "fresh-context"
	ClaimIsolated     Claim = "isolated"
	ClaimParallel     Claim = "parallel"
	ClaimMultiAgent   Claim = "multi-agent"
	ClaimPermission   Claim = "permission"
	ClaimCapacity     Claim = "capacity"
	ClaimExecution    Claim = "execution"
	ClaimSupport      Claim = "support"
)
