// Each gate alone, and every two gates in both states of a call.

package capability_test

import (
	"fmt"
	"slices"
	"testing"

	"countersign/contracts/capability"

	"github.com/stretchr/testify/require"
)

// gate is one way for a gate to fail, before a call and after it. Gates stand in the order of judgement.
type gate struct {
	name   string
	code   capability.ReasonCode
	action capability.Action // before a call
	status capability.Status // before a call
	fail   edit
}

var beforeCall = []gate{
	{"authorization", capability.DispatchAuthorizationMissing, "fallback", "degraded",
		func(in *capability.Input) { in.Request.WorkerDispatchAuthorization = capability.AuthorizationMissing }},
	{"probe", capability.WorkerCapabilityUnproven, "fallback", "degraded",
		func(in *capability.Input) { in.Discovery.Surface = capability.DiscoveryFailed }},
	{"capability", capability.SubagentCapabilityMissing, "fallback", "degraded",
		func(in *capability.Input) { in.Discovery.Candidates = []capability.Candidate{} }},
	{"data", capability.WorkerDataAuthorizationMissing, "block", "blocked",
		func(in *capability.Input) { in.Request.DataEgressAuthorization = capability.AuthorizationMissing }},
	{"hygiene", capability.WorkerDataAuthorizationMissing, "block", "blocked",
		func(in *capability.Input) { in.Packet.Minimized = false }},
	{"mutation", capability.WorkerMutationUnproven, "block", "blocked",
		func(in *capability.Input) { in.ScopeReceipts = nil }},
	{"isolation", capability.IsolationRequirementUnmet, "block", "blocked",
		func(in *capability.Input) {
			in.CapabilityFacts.WorkerContextIsolation = capability.IsolationInherited
		}},
}

var afterCall = []gate{
	{name: "failed call", code: capability.WorkerDispatchFailed, status: "failed",
		fail: func(in *capability.Input) { in.Live.CallStatus = capability.CallFailed }},
	{name: "isolation seen", code: capability.IsolationRequirementUnmet, status: "degraded",
		fail: func(in *capability.Input) { in.Live.ObservedContextIsolation = capability.IsolationInherited }},
	{name: "model", code: capability.ModelOverrideUnknown, status: "degraded",
		fail: func(in *capability.Input) { in.Live.ObservedModelSelection = capability.ModelInherited }},
	{name: "parallelism", code: capability.ParallelismUnprovenSerialized, status: "degraded",
		fail: func(in *capability.Input) { in.Live.ObservedParallelism = capability.ParallelismSerial }},
	{name: "output", code: capability.WorkerOutputInvalid, status: "blocked",
		fail: func(in *capability.Input) { in.Live.OutputValidation = capability.OutputFailed }},
	{name: "violated", code: capability.WorkerMutationScopeViolated, status: "blocked",
		fail: func(in *capability.Input) {
			if in.Observation != nil {
				in.Observation.ChangedSurfaces = append(in.Observation.ChangedSurfaces, capability.Change{Surface: "repo:x:write", RunOwned: new(true)})
			}
		}},
	{name: "unobserved", code: capability.WorkerMutationUnproven, status: "blocked",
		fail: func(in *capability.Input) { in.Observation = nil }},
}

func TestNothingStandsAgainst(t *testing.T) {
	t.Parallel()
	r := capability.Evaluate(ready())
	require.Equal(t, capability.ActionAttempt, r.Action)
	require.Nil(t, r.Outcome.Status)
	require.Empty(t, r.Outcome.ReasonCodes)
	require.Equal(t, []string{scopeRef}, r.Outcome.AuthorizationReceipts)
	require.Equal(t, allClaims, r.ClaimsDenied)
	require.Equal(t, capability.GateOpen, r.IndependenceGate)

	r = capability.Evaluate(settled())
	require.Equal(t, capability.ActionSettle, r.Action)
	requireStatus(t, "succeeded", r)
	require.Empty(t, r.ClaimsDenied)
	require.True(t, r.ResultPromotable)
	require.Equal(t, capability.GateClosed, r.IndependenceGate)
	require.Equal(t, capability.CoverageClaimScoped, r.Outcome.CoverageClaim)
	require.Equal(t, []string{scopeRef}, r.Outcome.AuthorizationReceipts)
	require.Empty(t, r.Diagnostics)
}

func TestEachGateAloneBeforeACall(t *testing.T) {
	t.Parallel()
	for _, g := range beforeCall {
		in := ready(g.fail)
		r := capability.Evaluate(in)
		require.Equal(t, g.action, r.Action, g.name)
		requireStatus(t, g.status, r)
		require.Equal(t, codes(g.code), r.Outcome.ReasonCodes, g.name)
		require.Empty(t, r.Outcome.AuthorizationReceipts, g.name)
		require.Empty(t, inconsistency(in, r), g.name)

		// The same while the call is still waiting for capacity.
		in.Live = &capability.Live{Attempts: []capability.Attempt{{Result: capability.AttemptCapacityLimited}}}
		require.Equal(t, r, capability.Evaluate(in), g.name)
	}
}

func TestFirstFailingGateDecidesAlone(t *testing.T) {
	t.Parallel()
	for i, first := range beforeCall {
		for _, second := range beforeCall[i+1:] {
			for _, order := range [][]edit{{first.fail, second.fail}, {second.fail, first.fail}} {
				in := ready(order...)
				r := capability.Evaluate(in)
				name := first.name + ", " + second.name
				require.Equal(t, codes(first.code), r.Outcome.ReasonCodes, name)
				require.Equal(t, first.action, r.Action, name)
				require.Len(t, r.Diagnostics, 1, name)
				require.Empty(t, inconsistency(in, r), name)
			}
		}
	}
}

func TestFailingGatesAccumulateAfterACall(t *testing.T) {
	t.Parallel()
	// Seen live, an isolation that was feared before the call does not matter.
	in := settled(beforeCall[6].fail)
	require.Empty(t, capability.Evaluate(in).Outcome.ReasonCodes)

	gates := slices.Concat(beforeCall[:6], afterCall)
	settledStatus := func(g gate) capability.Status {
		if g.action != "" {
			return "blocked"
		}
		return g.status
	}
	for i, a := range gates {
		for j, b := range gates {
			name := fmt.Sprintf("%s, %s", a.name, b.name)
			in := settled(a.fail, b.fail)
			r := capability.Evaluate(in)
			want := map[capability.ReasonCode]bool{a.code: true, b.code: true}
			pair := []string{a.name, b.name}
			if slices.Contains(pair, "authorization") {
				// Without the authorization to look, the probe finds nothing.
				delete(want, capability.WorkerCapabilityUnproven)
				delete(want, capability.SubagentCapabilityMissing)
			} else if slices.Contains(pair, "probe") {
				delete(want, capability.SubagentCapabilityMissing)
			}
			if slices.Contains(pair, "unobserved") {
				delete(want, capability.WorkerMutationScopeViolated)
			}
			require.Len(t, r.Outcome.ReasonCodes, len(want), name)
			for code := range want {
				require.Contains(t, r.Outcome.ReasonCodes, code, name)
			}
			status := settledStatus(a)
			if other := settledStatus(b); status != "blocked" && (other == "blocked" || other == "failed") {
				status = other
			}
			requireStatus(t, status, r)
			require.Equal(t, capability.ActionSettle, r.Action, name)
			require.Empty(t, inconsistency(in, r), name)
			if i != j {
				require.Equal(t, r.Outcome, capability.Evaluate(settled(b.fail, a.fail)).Outcome, name)
			}
		}
	}
}

func TestWithoutAuthorizationNothingIsProbed(t *testing.T) {
	t.Parallel()
	for _, word := range []capability.Authorization{"missing", "not_applicable", "", "Authorized", "authorized "} {
		for _, in := range []capability.Input{ready(), settled()} {
			in.Request.WorkerDispatchAuthorization = word
			r := capability.Evaluate(in)
			require.Equal(t, capability.ProbeNotApplicable, r.Outcome.CapabilityProbe, word)
			require.Equal(t, capability.CapabilityUnknown, r.Outcome.WorkerDispatchCapability, word)
			require.Equal(t, codes(capability.DispatchAuthorizationMissing), r.Outcome.ReasonCodes, word)
		}
	}
}

func TestFallbackMode(t *testing.T) {
	t.Parallel()
	for word, want := range map[capability.Mode]capability.Mode{
		"inline": "inline", "serial": "serial", "": "inline", "dispatched": "inline", "Serial": "inline",
	} {
		r := capability.Evaluate(ready(func(in *capability.Input) {
			in.FallbackMode = word
			in.Discovery = nil
		}))
		require.Equal(t, want, r.Outcome.ExecutionMode, word)
	}
}

func TestDataGate(t *testing.T) {
	t.Parallel()
	four := func(in *capability.Input) []*capability.Authorization {
		return []*capability.Authorization{
			&in.Request.RestrictedReadAuthorization, &in.Request.DataEgressAuthorization,
			&in.Request.CredentialUseAuthorization, &in.Request.ExternalCommunicationAuthorization,
		}
	}
	words := []capability.Authorization{"authorized", "not_applicable", "missing", "", "maybe"}
	for _, domain := range []capability.TrustDomain{"external", "unknown", "", "Host-Native", "host-native"} {
		native := domain == "host-native"
		for i := range 4 {
			for _, word := range words {
				for _, packet := range []capability.Packet{
					{Minimized: true, Allowlisted: true, SecretRedacted: true},
					{Allowlisted: true, SecretRedacted: true, ContentSourceRefs: true},
					{Minimized: true, SecretRedacted: true},
					{Minimized: true, Allowlisted: true},
				} {
					in := ready(func(in *capability.Input) {
						in.Request.ProviderTrustDomain, in.Packet = domain, packet
						*four(in)[i] = word
					})
					r := capability.Evaluate(in)
					clean := packet.Minimized && packet.Allowlisted && packet.SecretRedacted
					passes := native && word != "missing" || !native && word == "authorized" && clean
					if passes {
						require.Equal(t, capability.ActionAttempt, r.Action, "%s %d %s %v", domain, i, word, packet)
						continue
					}
					require.Equal(t, capability.ActionBlock, r.Action, "%s %d %s %v", domain, i, word, packet)
					require.Equal(t, codes(capability.WorkerDataAuthorizationMissing), r.Outcome.ReasonCodes)
					require.Equal(t, capability.CapabilityAvailable, r.Outcome.WorkerDispatchCapability)
				}
			}
		}
		want := domain
		if domain != "host-native" && domain != "external" {
			want = "unknown"
		}
		r := capability.Evaluate(ready(func(in *capability.Input) { in.Request.ProviderTrustDomain = domain }))
		require.Equal(t, want, r.Outcome.ProviderTrustDomain)
	}
}

func TestIsolationBeforeACall(t *testing.T) {
	t.Parallel()
	for _, need := range []capability.IsolationNeed{"required", "", "absolute", "preferred", "irrelevant"} {
		for _, fact := range []capability.Isolation{"isolated", "inherited", "unknown", "", "none"} {
			in := ready(func(in *capability.Input) {
				in.Request.ContextIsolationNeed = need
				in.CapabilityFacts.WorkerContextIsolation = fact
			})
			r := capability.Evaluate(in)
			if fact == "inherited" && need != "preferred" && need != "irrelevant" {
				require.Equal(t, codes(capability.IsolationRequirementUnmet), r.Outcome.ReasonCodes)
				require.Equal(t, capability.ActionBlock, r.Action)
				continue
			}
			require.Equal(t, capability.ActionAttempt, r.Action, "%s %s", need, fact)
			require.Equal(t, capability.GateOpen, r.IndependenceGate)
		}
	}
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	// Neither the session nor its answers matter yet.
	for _, in := range []capability.Input{
		ready(), settled(), ready(func(in *capability.Input) { in.Discovery = nil }), ready(hostNative, forbidden),
		ready(beforeCall[6].fail),
	} {
		r, ok := capability.Preflight(in)
		require.True(t, ok)
		require.Zero(t, r)
	}
	for _, i := range []int{0, 3, 4, 5} {
		g := beforeCall[i]
		in := settled(g.fail, func(in *capability.Input) { in.Discovery = nil })
		r, ok := capability.Preflight(in)
		require.False(t, ok, g.name)
		require.Equal(t, codes(g.code), r.Outcome.ReasonCodes, g.name)
		require.Equal(t, g.action, r.Action, g.name)
		requireStatus(t, g.status, r)
		require.Equal(t, capability.ProbeNotApplicable, r.Outcome.CapabilityProbe)
		require.Equal(t, capability.CapabilityUnknown, r.Outcome.WorkerDispatchCapability)
	}
	// Freshness is judged at now, whatever a live call says.
	_, ok := capability.Preflight(settled(func(in *capability.Input) { in.Now = "2026-08-20T18:00:00Z" }))
	require.False(t, ok)
}
