// The inputs that tests start from: one that may dispatch, one that settles well.

package capability_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	"countersign/contracts/capability"

	"github.com/stretchr/testify/require"
)

const (
	digestA = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
	digestB = "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d"

	scopeRef = "scope/a.json"
	surfaceA = "repo:docs/a.md:write"
	surfaceB = "repo:src/b.go:create"
)

var allClaims = []capability.Claim{
	"capacity", "execution", "fresh-context", "independent", "isolated", "multi-agent", "parallel", "permission", "support",
}

type edit = func(*capability.Input)

// ready is an input that nothing stands against, before the call; everything is needed and proven.
func ready(edits ...edit) capability.Input {
	in := capability.Input{
		Now: "2026-08-20T12:00:00Z",
		Request: capability.Request{
			WorkerDispatchAuthorization:        capability.Authorized,
			ProviderTrustDomain:                capability.DomainExternal,
			RestrictedReadAuthorization:        capability.Authorized,
			DataEgressAuthorization:            capability.Authorized,
			CredentialUseAuthorization:         capability.Authorized,
			ExternalCommunicationAuthorization: capability.Authorized,
			IntentLabels:                       []string{"review"},
			DesiredConcurrency:                 capability.ParallelismBounded,
			ContextIsolationNeed:               capability.IsolationRequired,
			ModelSelectionNeed:                 capability.ModelExplicitTier,
			MutationScope:                      capability.MutationScoped,
			MutationAuthorizationRef:           new(scopeRef),
			AllowedMutationSurfaces:            []string{surfaceA, surfaceB},
			InputRefs:                          []string{"task:T-1"},
			OutputContract:                     "worker-output/v1",
			StopCondition:                      "One result, then stop.",
		},
		Discovery: &capability.Discovery{
			Surface:            capability.DiscoveryPresent,
			CaptureMethod:      capability.CaptureToolRegistry,
			SchemaCompleteness: capability.CompletenessConfirmed,
			CompletenessBasis:  new("registry:enumeration"),
			Candidates:         []capability.Candidate{candidate("w1"), excluded("w2")},
		},
		CapabilityFacts: capability.CapabilityFacts{
			WorkerContextIsolation:   capability.IsolationIsolated,
			WorkerModelOverride:      capability.Supported,
			WorkerBoundedParallelism: capability.Supported,
		},
		Packet: capability.Packet{Minimized: true, Allowlisted: true, SecretRedacted: true},
		ScopeReceipts: map[string]capability.ScopeReceipt{scopeRef: {
			AuthorityOrigin:         "current-task:T-1",
			CapturedAt:              "2026-08-20T09:00:00Z",
			FreshnessExpiresAt:      "2026-08-20T18:00:00Z",
			AllowedMutationSurfaces: []string{surfaceA, surfaceB, "repo:src/c.go:delete"},
		}},
		DispatchPolicy:  capability.DispatchPolicy{MaxCapacityAttempts: 3},
		FallbackMode:    capability.ModeSerial,
		ClaimsRequested: append([]capability.Claim(nil), allClaims...),
	}
	for _, e := range edits {
		e(&in)
	}
	return in
}

// settled is ready after an accepted call of which everything was seen.
func settled(edits ...edit) capability.Input {
	in := ready(func(in *capability.Input) {
		in.Live = &capability.Live{
			Attempts:                 []capability.Attempt{{Result: capability.AttemptCapacityLimited}, {Result: capability.AttemptAccepted}},
			InvocationStartedAt:      new("2026-08-20T11:45:00Z"),
			CallStatus:               capability.CallSucceeded,
			ObservedContextIsolation: capability.IsolationIsolated,
			ObservedModelSelection:   capability.ModelRequested,
			ObservedParallelism:      capability.ParallelismBounded,
			OutputValidation:         capability.OutputPassed,
		}
		in.Observation = &capability.Observation{
			Source:           "caller",
			PreStateRef:      "snap/pre.json",
			PostStateRef:     "snap/post.json",
			PreStateSHA256:   digestA,
			PostStateSHA256:  digestB,
			PreObservedAt:    "2026-08-20T11:40:00Z",
			PostObservedAt:   "2026-08-20T11:55:00Z",
			ObservedSurfaces: []string{surfaceA, surfaceB},
			ChangedSurfaces:  []capability.Change{{Surface: surfaceA, RunOwned: new(true)}},
		}
	})
	for _, e := range edits {
		e(&in)
	}
	return in
}

// forbidden takes the mutation scope and the changes away.
func forbidden(in *capability.Input) {
	in.Request.MutationScope = capability.MutationForbidden
	in.Request.MutationAuthorizationRef = nil
	in.Request.AllowedMutationSurfaces = nil
	in.ScopeReceipts = nil
	if in.Observation != nil {
		in.Observation.PostStateSHA256 = in.Observation.PreStateSHA256
		in.Observation.ChangedSurfaces = []capability.Change{}
	}
}

// hostNative makes the provider the host's own, with no data authorization needed.
func hostNative(in *capability.Input) {
	in.Request.ProviderTrustDomain = capability.DomainHostNative
	in.Request.RestrictedReadAuthorization = capability.AuthorizationNotNeeded
	in.Request.DataEgressAuthorization = capability.AuthorizationNotNeeded
	in.Request.CredentialUseAuthorization = capability.AuthorizationNotNeeded
	in.Request.ExternalCommunicationAuthorization = capability.AuthorizationNotNeeded
	in.Packet = capability.Packet{}
}

// serialLax needs neither isolation nor a model nor parallelism.
func serialLax(in *capability.Input) {
	in.Request.ContextIsolationNeed = capability.IsolationIrrelevant
	in.Request.ModelSelectionNeed = capability.ModelInheritedOK
	in.Request.DesiredConcurrency = capability.ParallelismSerial
}

func candidate(id string) capability.Candidate {
	return withExcerpt(capability.Candidate{
		ID:                  id,
		ProvenanceLabel:     capability.ProvenanceLabel,
		ExcerptFields:       []string{"name", "description"},
		PromptLikeDirective: new(false),
		Eligibility: capability.Eligibility{
			SelfContainedPacket: new(true), BoundedStop: new(true), MutationScopeExpressible: new(true),
			ReadableOutput: new(true), NoHostMapping: new(true),
		},
	}, "<provider_untrusted>name: "+id+"; takes a packet</provider_untrusted>")
}

func excluded(id string) capability.Candidate {
	c := candidate(id)
	c.Eligibility.SelfContainedPacket = new(false)
	return c
}

func undetermined(id string) capability.Candidate {
	c := candidate(id)
	c.Eligibility.ReadableOutput = nil
	return c
}

// withExcerpt gives a candidate an excerpt and its digest.
func withExcerpt(c capability.Candidate, excerpt string) capability.Candidate {
	sum := sha256.Sum256([]byte(excerpt))
	c.Excerpt, c.ExcerptSHA256 = excerpt, hex.EncodeToString(sum[:])
	return c
}

// inner is a candidate whose excerpt quotes text as it stands.
func inner(text string) capability.Candidate {
	return withExcerpt(candidate("w1"), "<provider_untrusted>"+text+"</provider_untrusted>")
}

func codes(words ...capability.ReasonCode) []capability.ReasonCode {
	return append([]capability.ReasonCode{}, words...)
}

// tree is an input as generic JSON.
func tree(t testing.TB, in capability.Input) map[string]any {
	t.Helper()
	data, err := json.Marshal(in)
	require.NoError(t, err)
	var out map[string]any
	require.NoError(t, json.Unmarshal(data, &out))
	return out
}

func requireStatus(t testing.TB, want capability.Status, r capability.Result) {
	t.Helper()
	require.NotNil(t, r.Outcome.Status)
	require.Equal(t, want, *r.Outcome.Status)
}
