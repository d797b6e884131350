// The part of a dispatch that binds its workers to the capability contract: what is frozen of it.

package workflow

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"countersign/contracts"
	"countersign/contracts/capability"
)

// WorkerDispatch is spec.worker_dispatch and, with its defaults filled in, the contract's: by whose
// authority a worker may be called, and what has to be seen of the call. Source: the worker dispatch
// capability contract v1.
type WorkerDispatch struct {
	// Contract names the capability contract, capability.Version.
	Contract string        `json:"contract" validate:"required,oneof=worker-dispatch/v1"`
	Request  WorkerRequest `json:"request"`
	// AuthorizationReceipts say where authorizations come from. One without a receipt counts as missing.
	AuthorizationReceipts []AuthorizationReceipt `json:"authorization_receipts,omitzero" validate:"max=32,dive"`
	// ScopeReceipts are the grants of mutation surfaces, by the ref that the request names; at most
	// maxScopeReceipts.
	ScopeReceipts map[string]ScopeReceipt `json:"scope_receipts,omitzero"`
	Packet        capability.Packet       `json:"packet"`
	Policy        DispatchPolicy          `json:"policy"`
}

// WorkerRequest is the seed's worker_dispatch_request. A word that is absent reads as the stricter one.
type WorkerRequest struct {
	WorkerDispatchAuthorization        capability.Authorization `json:"worker_dispatch_authorization" validate:"omitempty,oneof=authorized missing"`
	ProviderTrustDomain                capability.TrustDomain   `json:"provider_trust_domain" validate:"omitempty,oneof=host-native external unknown"`
	RestrictedReadAuthorization        capability.Authorization `json:"restricted_read_authorization" validate:"omitempty,oneof=authorized missing not_applicable"`
	DataEgressAuthorization            capability.Authorization `json:"data_egress_authorization" validate:"omitempty,oneof=authorized missing not_applicable"`
	CredentialUseAuthorization         capability.Authorization `json:"credential_use_authorization" validate:"omitempty,oneof=authorized missing not_applicable"`
	ExternalCommunicationAuthorization capability.Authorization `json:"external_communication_authorization" validate:"omitempty,oneof=authorized missing not_applicable"`
	IntentLabels                       []string                 `json:"intent_labels" validate:"max=32,dive,max=200,text"`
	DesiredConcurrency                 capability.Parallelism   `json:"desired_concurrency" validate:"omitempty,oneof=bounded serial"`
	ContextIsolationNeed               capability.IsolationNeed `json:"context_isolation_need" validate:"omitempty,oneof=required preferred irrelevant"`
	ModelSelectionNeed                 capability.ModelNeed     `json:"model_selection_need" validate:"omitempty,oneof=explicit-tier inherited-ok"`
	MutationScope                      capability.MutationScope `json:"mutation_scope" validate:"omitempty,oneof=forbidden explicitly-scoped"`
	// MutationAuthorizationRef names a scope receipt; null unless the scope is explicit.
	MutationAuthorizationRef *string `json:"mutation_authorization_ref" validate:"omitempty,max=200,text"`
	// AllowedMutationSurfaces are of the form repo:<path>:<side-effect>, with create, write and delete
	// as side effects that a node observes.
	AllowedMutationSurfaces []string `json:"allowed_mutation_surfaces" validate:"max=1000,dive,max=1200,text"`
	InputRefs               []string `json:"input_refs" validate:"max=100,dive,max=1024,text"`
	OutputContract          string   `json:"output_contract" validate:"max=2000,text"`
	StopCondition           string   `json:"stop_condition" validate:"max=2000,text"`
}

// AuthorizationReceipt says who gave an authorization: the request's own field name, where the receipt
// can be found, and on what basis.
type AuthorizationReceipt struct {
	Authorization string `json:"authorization" validate:"required,oneof=worker_dispatch_authorization restricted_read_authorization data_egress_authorization credential_use_authorization external_communication_authorization"`
	Ref           string `json:"ref" validate:"notblank,max=200,text"`
	Basis         string `json:"basis" validate:"notblank,max=1000,text"`
}

// ScopeReceipt is a source-owned grant of mutation surfaces; its times are RFC 3339.
type ScopeReceipt struct {
	AuthorityOrigin         string   `json:"authority_origin" validate:"max=200,text"`
	CapturedAt              string   `json:"captured_at" validate:"max=64,text"`
	FreshnessExpiresAt      string   `json:"freshness_expires_at" validate:"max=64,text"`
	AllowedMutationSurfaces []string `json:"allowed_mutation_surfaces" validate:"max=1000,dive,max=1200,text"`
}

// DispatchPolicy bounds the waiting for capacity and says what a session without a choice of models means.
type DispatchPolicy struct {
	// MaxCapacityAttempts is the n of the n-th report of no capacity that ends the waiting; default 1.
	MaxCapacityAttempts *int `json:"max_capacity_attempts,omitzero" validate:"omitempty,min=1,max=32"`
	// CapacityWaitS is how many seconds after the first such report the next one ends it; default 900.
	CapacityWaitS *int `json:"capacity_wait_s,omitzero" validate:"omitempty,min=0,max=900"`
	// OnModelUnsupported is what happens when a model tier is needed and the session cannot choose one.
	OnModelUnsupported ModelPolicy `json:"on_model_unsupported,omitzero" validate:"omitempty,oneof=fail inherit"`
}

// ModelPolicy is what a session that cannot choose a worker's model means for a dispatch that needs one.
type ModelPolicy string

// Fail, the default, does not call the worker; inherit calls it on the session's own model and says so.
const (
	ModelFail    ModelPolicy = "fail"
	ModelInherit ModelPolicy = "inherit"
)

const (
	maxScopeReceipts       = 32
	defaultCapacityTries   = 1
	defaultCapacitySeconds = 900 // as long as an attempt can last
)

// check holds the part to the rules that its fields' tags cannot say.
func (w *WorkerDispatch) check(at string) error {
	if w == nil {
		return nil
	}
	for i, r := range w.AuthorizationReceipts {
		place := at + ".authorization_receipts[" + strconv.Itoa(i) + "]"
		if capability.SecretLike(r.Ref) {
			return contracts.Invalid(place+".ref", "must not hold a secret-like value")
		}
		if capability.SecretLike(r.Basis) {
			return contracts.Invalid(place+".basis", "must not hold a secret-like value")
		}
	}
	if len(w.ScopeReceipts) > maxScopeReceipts {
		return contracts.Invalid(at+".scope_receipts", "must have at most %d receipts", maxScopeReceipts)
	}
	for _, ref := range slices.Sorted(maps.Keys(w.ScopeReceipts)) {
		receipts := at + ".scope_receipts"
		if Blank(ref) || len([]rune(ref)) > 200 || strings.ContainsRune(ref, 0) || capability.SecretLike(ref) {
			return contracts.Invalid(receipts, "a ref must have 1 to 200 characters, not be blank and hold nothing secret-like")
		}
		receipt := w.ScopeReceipts[ref]
		if err := Validate(&receipt); err != nil {
			if fault, ok := errors.AsType[*contracts.Error](err); ok {
				return contracts.Invalid(receipts+"."+ref+strings.TrimPrefix(fault.Path, "$"), "%s", fault.Detail)
			}
			return err
		}
	}
	return nil
}

// frozen is a copy with every default filled in and every list written, so that the same dispatch always
// has the same bytes.
func (w *WorkerDispatch) frozen() *WorkerDispatch {
	if w == nil {
		return nil
	}
	c := *w
	if c.Policy.MaxCapacityAttempts == nil {
		c.Policy.MaxCapacityAttempts = new(defaultCapacityTries)
	}
	if c.Policy.CapacityWaitS == nil {
		c.Policy.CapacityWaitS = new(defaultCapacitySeconds)
	}
	if c.Policy.OnModelUnsupported == "" {
		c.Policy.OnModelUnsupported = ModelFail
	}
	if c.AuthorizationReceipts == nil {
		c.AuthorizationReceipts = []AuthorizationReceipt{}
	}
	if c.ScopeReceipts == nil {
		c.ScopeReceipts = map[string]ScopeReceipt{}
	}
	return &c
}

// For is the request of an attempt of that purpose. A verifier's is derived: it may change nothing and
// has to be isolated, for a judgement that is not independent is none. An authorization without a receipt
// reads as missing.
func (w *WorkerDispatch) For(p Purpose) capability.Request {
	r := capability.Request(w.Request)
	for name, authorization := range authorizations(&r) {
		if *authorization == capability.Authorized && !w.receipted(name) {
			*authorization = capability.AuthorizationMissing
		}
	}
	if p == PurposeVerify {
		r.MutationScope, r.MutationAuthorizationRef, r.AllowedMutationSurfaces = capability.MutationForbidden, nil, []string{}
		r.ContextIsolationNeed = capability.IsolationRequired
	}
	return r
}

// Plan is what an attempt of that purpose is told of it, nil for none.
func (w *WorkerDispatch) Plan(p Purpose) *PlanDispatch {
	if w == nil {
		return nil
	}
	return &PlanDispatch{Contract: w.Contract, Request: w.For(p), Packet: w.Packet, Policy: w.Policy}
}

// authorizations are the request's, by the names that receipts call them.
func authorizations(r *capability.Request) map[string]*capability.Authorization {
	return map[string]*capability.Authorization{
		"worker_dispatch_authorization":        &r.WorkerDispatchAuthorization,
		"restricted_read_authorization":        &r.RestrictedReadAuthorization,
		"data_egress_authorization":            &r.DataEgressAuthorization,
		"credential_use_authorization":         &r.CredentialUseAuthorization,
		"external_communication_authorization": &r.ExternalCommunicationAuthorization,
	}
}

func (w *WorkerDispatch) receipted(authorization string) bool {
	return slices.ContainsFunc(w.AuthorizationReceipts, func(r AuthorizationReceipt) bool { return r.Authorization == authorization })
}
