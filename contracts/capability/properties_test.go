// Properties over inputs of every kind: what holds however the facts are mixed.

package capability_test

import (
	"encoding/json"
	"slices"
	"testing"

	"countersign/contracts/capability"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// edits are single changes to an input, good and bad ones, over every field. Drawing a few of them
// from a good input mixes the facts in every way while most gates still pass.
var edits = func() []edit {
	var all []edit
	add := func(e ...edit) { all = append(all, e...) }
	for _, w := range []capability.Authorization{"authorized", "missing", "not_applicable", ""} {
		add(
			func(in *capability.Input) { in.Request.RestrictedReadAuthorization = w },
			func(in *capability.Input) { in.Request.DataEgressAuthorization = w },
			func(in *capability.Input) { in.Request.CredentialUseAuthorization = w },
			func(in *capability.Input) { in.Request.ExternalCommunicationAuthorization = w },
		)
	}
	for _, w := range []capability.Authorization{"missing", ""} {
		add(func(in *capability.Input) { in.Request.WorkerDispatchAuthorization = w })
	}
	for _, w := range []capability.TrustDomain{"host-native", "external", "unknown", "x"} {
		add(func(in *capability.Input) { in.Request.ProviderTrustDomain = w })
	}
	for _, w := range []capability.Isolation{"isolated", "inherited", "unknown", "none", ""} {
		add(func(in *capability.Input) { in.CapabilityFacts.WorkerContextIsolation = w },
			live(func(l *capability.Live) { l.ObservedContextIsolation = w }))
	}
	for _, w := range []capability.IsolationNeed{"required", "preferred", "irrelevant", "x"} {
		add(func(in *capability.Input) { in.Request.ContextIsolationNeed = w })
	}
	for _, w := range []capability.ModelNeed{"explicit-tier", "inherited-ok", "x"} {
		add(func(in *capability.Input) { in.Request.ModelSelectionNeed = w })
	}
	for _, w := range []capability.Support{"supported", "unsupported", "unknown", ""} {
		add(func(in *capability.Input) { in.CapabilityFacts.WorkerModelOverride = w },
			func(in *capability.Input) { in.CapabilityFacts.WorkerBoundedParallelism = w })
	}
	for _, w := range []capability.ModelSelection{"requested", "inherited", "unknown", "none"} {
		add(live(func(l *capability.Live) { l.ObservedModelSelection = w }))
	}
	for _, w := range []capability.Parallelism{"bounded", "serial", "none", "unknown", ""} {
		add(func(in *capability.Input) { in.Request.DesiredConcurrency = w },
			live(func(l *capability.Live) { l.ObservedParallelism = w }))
	}
	for _, w := range []capability.CallStatus{"succeeded", "failed", "not_invoked", ""} {
		add(live(func(l *capability.Live) { l.CallStatus = w }))
	}
	for _, w := range []capability.OutputValidation{"passed", "failed", "not_applicable", ""} {
		add(live(func(l *capability.Live) { l.OutputValidation = w }))
	}
	for _, w := range []capability.AttemptResult{"accepted", "capacity_limited", "error", "x"} {
		add(live(func(l *capability.Live) { l.Attempts = append(l.Attempts, capability.Attempt{Result: w}) }),
			live(func(l *capability.Live) { l.Attempts = []capability.Attempt{{Result: w}} }))
	}
	for _, w := range []string{"2026-08-20T08:00:00Z", "2026-08-20T09:00:00Z", "2026-08-20T11:45:00Z", "2026-08-20T12:00:00Z", "2026-08-20T18:00:00Z", "2026-08-20T20:00:00+02:00", "", "x"} {
		add(func(in *capability.Input) { in.Now = w }, live(func(l *capability.Live) { l.InvocationStartedAt = &w }),
			grant(func(r *capability.ScopeReceipt) { r.CapturedAt = w }), grant(func(r *capability.ScopeReceipt) { r.FreshnessExpiresAt = w }),
			seen(func(o *capability.Observation) { o.PreObservedAt = w }), seen(func(o *capability.Observation) { o.PostObservedAt = w }))
	}
	for _, w := range []string{"current-task:T", "owning-workflow:W", "upstream-handoff:H", "worker:x", "current-task:", ""} {
		add(grant(func(r *capability.ScopeReceipt) { r.AuthorityOrigin = w }))
	}
	for _, w := range [][]string{nil, {}, {surfaceA}, {surfaceB}, {surfaceA, surfaceB}, {"repo:x:write"}, {"repo:../x:write"}, {""}} {
		add(func(in *capability.Input) { in.Request.AllowedMutationSurfaces = w },
			grant(func(r *capability.ScopeReceipt) { r.AllowedMutationSurfaces = w }),
			seen(func(o *capability.Observation) { o.ObservedSurfaces = w }))
	}
	for _, w := range []*string{nil, new(""), new(scopeRef), new("scope/other.json")} {
		add(func(in *capability.Input) { in.Request.MutationAuthorizationRef = w })
	}
	for _, w := range []capability.MutationScope{"forbidden", "explicitly-scoped", "x"} {
		add(func(in *capability.Input) { in.Request.MutationScope = w })
	}
	for _, owned := range []*bool{nil, new(true), new(false)} {
		for _, s := range []string{surfaceA, "repo:x:write", "elsewhere", ""} {
			add(seen(func(o *capability.Observation) {
				o.ChangedSurfaces = append(o.ChangedSurfaces, capability.Change{Surface: s, RunOwned: owned})
				o.PostStateSHA256 = digestB
			}))
		}
	}
	for _, list := range [][]capability.Candidate{
		nil, {}, {candidate("w1")}, {candidate("w1"), candidate("w2")}, {excluded("w1")}, {candidate("w1"), undetermined("w2")}, {inner("password: hunter2hunter2")}, {{}},
	} {
		add(find(func(d *capability.Discovery) { d.Candidates = list }))
	}
	for _, s := range []*capability.Selection{nil, {Winner: "w1", Basis: "schema-behaviour"}, {Winner: "w1", Basis: "host-name"}, {Winner: "w9", Basis: "schema-behaviour"}} {
		add(find(func(d *capability.Discovery) { d.Selection = s }))
	}
	for _, s := range []string{digestA, digestB, "", "x"} {
		add(seen(func(o *capability.Observation) { o.PreStateSHA256 = s }), seen(func(o *capability.Observation) { o.PostStateSHA256 = s }))
	}
	for i := range 8 {
		add(func(in *capability.Input) {
			in.Packet = capability.Packet{Minimized: i&1 == 0, Allowlisted: i&2 == 0, SecretRedacted: i&4 == 0}
		})
	}
	for n := range 4 {
		add(func(in *capability.Input) { in.DispatchPolicy.MaxCapacityAttempts = n })
	}
	add(
		forbidden, forbidden, hostNative, hostNative, serialLax,
		func(in *capability.Input) { in.FallbackMode = "inline" },
		func(in *capability.Input) { in.Discovery = nil },
		func(in *capability.Input) { in.Live = nil },
		func(in *capability.Input) { in.Observation = nil },
		func(in *capability.Input) { in.ScopeReceipts = nil },
		func(in *capability.Input) { in.ClaimsRequested = nil },
		func(in *capability.Input) { in.ClaimsRequested = []capability.Claim{"zeal", "parallel"} },
		find(func(d *capability.Discovery) { d.Surface = "none" }),
		find(func(d *capability.Discovery) { d.Surface = "failed" }),
		find(func(d *capability.Discovery) { d.CaptureMethod = "cli-help" }),
		find(func(d *capability.Discovery) { d.CaptureMethod = capability.CaptureEquivalent }),
		find(func(d *capability.Discovery) { d.SchemaCompleteness = "unconfirmed" }),
		find(func(d *capability.Discovery) { d.CompletenessBasis = nil }),
		live(func(l *capability.Live) { l.Attempts = nil }),
		live(func(l *capability.Live) { l.InvocationStartedAt = nil }),
		seen(func(o *capability.Observation) { o.Source = "worker-self-report" }),
		seen(func(o *capability.Observation) { o.PostStateRef = o.PreStateRef }),
		seen(func(o *capability.Observation) { o.ChangedSurfaces = nil }),
		seen(func(o *capability.Observation) {
			o.ChangedSurfaces, o.PostStateSHA256 = []capability.Change{}, o.PreStateSHA256
		}),
	)
	return all
}()

func live(change func(*capability.Live)) edit {
	return func(in *capability.Input) {
		if in.Live != nil {
			change(in.Live)
		}
	}
}

func seen(change func(*capability.Observation)) edit {
	return func(in *capability.Input) {
		if in.Observation != nil {
			change(in.Observation)
		}
	}
}

func find(change func(*capability.Discovery)) edit {
	return func(in *capability.Input) {
		if in.Discovery != nil {
			change(in.Discovery)
		}
	}
}

func grant(change func(*capability.ScopeReceipt)) edit {
	return func(in *capability.Input) {
		if r, ok := in.ScopeReceipts[scopeRef]; ok {
			change(&r)
			in.ScopeReceipts[scopeRef] = r
		}
	}
}

func drawInput(t *rapid.T) capability.Input {
	chosen := rapid.SliceOfN(rapid.SampledFrom(edits), 0, 5).Draw(t, "edits")
	if rapid.Bool().Draw(t, "called") {
		return settled(chosen...)
	}
	return ready(chosen...)
}

func TestEveryResultIsConsistent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		r := capability.Evaluate(in)
		if law := inconsistency(in, r); law != "" {
			t.Fatalf("%s\n%+v\n%+v", law, in, r)
		}
	})
}

func TestWithoutAuthorizationNeverProbes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		in.Request.WorkerDispatchAuthorization = rapid.SampledFrom([]capability.Authorization{"missing", "", "not_applicable", "x"}).Draw(t, "word")
		r := capability.Evaluate(in)
		if r.Outcome.CapabilityProbe != "not_applicable" || r.Outcome.WorkerDispatchCapability != "unknown" ||
			!slices.Contains(r.Outcome.ReasonCodes, "dispatch_authorization_missing") ||
			slices.Contains(r.Outcome.ReasonCodes, "worker_capability_unproven") || slices.Contains(r.Outcome.ReasonCodes, "subagent_capability_missing") {
			t.Fatalf("%+v", r)
		}
		// What a session would have shown makes no difference.
		in.Discovery = nil
		if !equal(capability.Evaluate(in), r) {
			t.Fatal("the discovery was looked at")
		}
	})
}

func TestSameInputSameOutput(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		before, _ := json.Marshal(in)
		r := capability.Evaluate(in)
		if !equal(capability.Evaluate(in), r) {
			t.Fatal("two results for one input")
		}
		after, _ := json.Marshal(in)
		if string(before) != string(after) {
			t.Fatal("the input was changed")
		}
		read, err := capability.Decode(before)
		if err != nil {
			t.Fatal(err)
		}
		if !equal(capability.Evaluate(read), r) {
			t.Fatalf("another result for the input read back\n%s", before)
		}
	})
}

func equal(a, b capability.Result) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// passes says independently of the evaluator whether nothing stands against a dispatch.
func passes(in capability.Input) bool {
	req, d := in.Request, in.Discovery
	if req.WorkerDispatchAuthorization != "authorized" || d == nil || d.Surface != "present" || d.CaptureMethod == "cli-help" ||
		d.SchemaCompleteness != "confirmed" || d.CompletenessBasis == nil {
		return false
	}
	yes, no := []string{}, 0
	for _, c := range d.Candidates {
		if capability.Admissible(c) != nil || c.PromptLikeDirective == nil || *c.PromptLikeDirective {
			return false
		}
		e := c.Eligibility
		five := []*bool{e.SelfContainedPacket, e.BoundedStop, e.MutationScopeExpressible, e.ReadableOutput, e.NoHostMapping}
		switch {
		case slices.ContainsFunc(five, func(b *bool) bool { return b != nil && !*b }):
			no++
		case !slices.Contains(five, nil):
			yes = append(yes, c.ID)
		}
	}
	won := d.Selection != nil && d.Selection.Basis == "schema-behaviour" && slices.Contains(yes, d.Selection.Winner)
	if len(yes)+no != len(d.Candidates) || len(yes) == 0 || len(yes) > 1 && !won {
		return false
	}
	four := []capability.Authorization{req.RestrictedReadAuthorization, req.DataEgressAuthorization, req.CredentialUseAuthorization, req.ExternalCommunicationAuthorization}
	if req.ProviderTrustDomain == "host-native" {
		if slices.Contains(four, "missing") {
			return false
		}
	} else if slices.ContainsFunc(four, func(a capability.Authorization) bool { return a != "authorized" }) || in.Packet != (capability.Packet{Minimized: true, Allowlisted: true, SecretRedacted: true}) {
		return false
	}
	if req.MutationScope == "forbidden" {
		if req.MutationAuthorizationRef != nil || len(req.AllowedMutationSurfaces) != 0 {
			return false
		}
	} else {
		if req.MutationScope != "explicitly-scoped" || req.MutationAuthorizationRef == nil || *req.MutationAuthorizationRef != scopeRef || len(req.AllowedMutationSurfaces) == 0 {
			return false
		}
		r := in.ScopeReceipts[scopeRef]
		if !slices.Contains([]string{"current-task:T-1", "current-task:T", "owning-workflow:W", "upstream-handoff:H"}, r.AuthorityOrigin) {
			return false
		}
		hours := map[string]int{"2026-08-20T08:00:00Z": 800, "2026-08-20T09:00:00Z": 900, "2026-08-20T11:45:00Z": 1145, "2026-08-20T12:00:00Z": 1200, "2026-08-20T18:00:00Z": 1800, "2026-08-20T20:00:00+02:00": 1800}
		now, captured, expires := hours[in.Now], hours[r.CapturedAt], hours[r.FreshnessExpiresAt]
		if now == 0 || captured == 0 || captured > now || now >= expires {
			return false
		}
		for _, s := range req.AllowedMutationSurfaces {
			if !slices.Contains([]string{surfaceA, surfaceB, "repo:x:write"}, s) || !slices.Contains(r.AllowedMutationSurfaces, s) {
				return false
			}
		}
	}
	relaxed := req.ContextIsolationNeed == "preferred" || req.ContextIsolationNeed == "irrelevant"
	return relaxed || in.CapabilityFacts.WorkerContextIsolation != "inherited"
}

func TestNoFailingGateIsAttempted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := ready(rapid.SliceOfN(rapid.SampledFrom(edits), 0, 4).Draw(t, "edits")...)
		if got := capability.Evaluate(in).Action == capability.ActionAttempt; got != passes(in) {
			t.Fatalf("attempted: %v\n%+v", got, in)
		}
	})
}

// better says whether b lets anything pass that a does not.
func better(a, b capability.Result) bool {
	standing := func(r capability.Result) []capability.Claim {
		return slices.DeleteFunc(slices.Clone(allClaims), func(c capability.Claim) bool { return slices.Contains(r.ClaimsDenied, c) })
	}
	for _, c := range standing(b) {
		if !slices.Contains(standing(a), c) && len(a.ClaimsDenied) > 0 && len(b.ClaimsDenied) > 0 {
			return true
		}
	}
	return b.ResultPromotable && !a.ResultPromotable ||
		b.IndependenceGate == "closed" && a.IndependenceGate != "closed" ||
		b.Action == "attempt_dispatch" && a.Action != "attempt_dispatch" ||
		b.Outcome.WorkerDispatchCapability != "unknown" && a.Outcome.WorkerDispatchCapability == "unknown" ||
		b.Outcome.WorkerDispatchCapability == "available" && a.Outcome.WorkerDispatchCapability != "available" ||
		b.Outcome.MutationObservation == "within-scope" && a.Outcome.MutationObservation != "within-scope" ||
		b.ResultPromotable && len(b.Outcome.ReasonCodes) < len(a.Outcome.ReasonCodes)
}

// losses each take one piece of evidence away: something that speaks for a dispatch or its result.
var losses = func() []edit {
	all := []edit{
		func(in *capability.Input) { in.Request.WorkerDispatchAuthorization = "" },
		func(in *capability.Input) { in.Request.ContextIsolationNeed = "" },
		func(in *capability.Input) { in.Request.ModelSelectionNeed = "" },
		func(in *capability.Input) { in.Request.DesiredConcurrency = "" },
		func(in *capability.Input) { in.Request.MutationScope = "" },
		func(in *capability.Input) { in.Discovery = nil },
		func(in *capability.Input) { in.CapabilityFacts.WorkerModelOverride = "" },
		func(in *capability.Input) { in.CapabilityFacts.WorkerBoundedParallelism = "" },
		func(in *capability.Input) { in.Packet.Minimized = false },
		func(in *capability.Input) { in.Packet.Allowlisted = false },
		func(in *capability.Input) { in.Packet.SecretRedacted = false },
		func(in *capability.Input) { in.ScopeReceipts = nil },
		func(in *capability.Input) { in.DispatchPolicy.MaxCapacityAttempts = 0 },
		func(in *capability.Input) { in.Observation = nil },
		func(in *capability.Input) { in.Now = "" },
		find(func(d *capability.Discovery) { d.Surface = "" }),
		find(func(d *capability.Discovery) { d.CaptureMethod = "" }),
		find(func(d *capability.Discovery) { d.SchemaCompleteness = "" }),
		find(func(d *capability.Discovery) { d.CompletenessBasis = nil }),
		find(func(d *capability.Discovery) { d.Candidates = nil }),
		find(func(d *capability.Discovery) { d.Selection = nil }),
		grant(func(r *capability.ScopeReceipt) { r.AuthorityOrigin = "" }),
		grant(func(r *capability.ScopeReceipt) { r.CapturedAt = "" }),
		grant(func(r *capability.ScopeReceipt) { r.FreshnessExpiresAt = "" }),
		grant(func(r *capability.ScopeReceipt) { r.AllowedMutationSurfaces = nil }),
		grant(func(r *capability.ScopeReceipt) {
			r.AllowedMutationSurfaces = r.AllowedMutationSurfaces[:min(1, len(r.AllowedMutationSurfaces))]
		}),
		live(func(l *capability.Live) { l.InvocationStartedAt = nil }),
		live(func(l *capability.Live) { l.CallStatus = "" }),
		live(func(l *capability.Live) { l.ObservedContextIsolation = "" }),
		live(func(l *capability.Live) { l.ObservedModelSelection = "" }),
		live(func(l *capability.Live) { l.ObservedParallelism = "" }),
		live(func(l *capability.Live) { l.OutputValidation = "" }),
		live(func(l *capability.Live) { l.Attempts = nil }),
		seen(func(o *capability.Observation) { o.Source = "" }),
		seen(func(o *capability.Observation) { o.PreStateRef = "" }),
		seen(func(o *capability.Observation) { o.PostStateRef = "" }),
		seen(func(o *capability.Observation) { o.PreStateSHA256 = "" }),
		seen(func(o *capability.Observation) { o.PostStateSHA256 = "" }),
		seen(func(o *capability.Observation) { o.PreObservedAt = "" }),
		seen(func(o *capability.Observation) { o.PostObservedAt = "" }),
		seen(func(o *capability.Observation) { o.ObservedSurfaces = nil }),
		seen(func(o *capability.Observation) {
			o.ObservedSurfaces = o.ObservedSurfaces[:min(1, len(o.ObservedSurfaces))]
		}),
		seen(func(o *capability.Observation) { o.ChangedSurfaces = nil }),
		seen(func(o *capability.Observation) {
			o.ChangedSurfaces = slices.Clone(o.ChangedSurfaces)
			for i := range o.ChangedSurfaces {
				o.ChangedSurfaces[i].RunOwned = nil
			}
		}),
	}
	for _, spoil := range []func(*capability.Candidate){
		func(c *capability.Candidate) { c.ProvenanceLabel = "" },
		func(c *capability.Candidate) { c.Excerpt = "" },
		func(c *capability.Candidate) { c.ExcerptSHA256 = "" },
		func(c *capability.Candidate) { c.ExcerptFields = nil },
		func(c *capability.Candidate) { c.PromptLikeDirective = nil },
		func(c *capability.Candidate) { c.Eligibility = capability.Eligibility{} },
		func(c *capability.Candidate) { c.Eligibility.NoHostMapping = nil },
	} {
		for i := range 2 {
			all = append(all, find(func(d *capability.Discovery) {
				d.Candidates = slices.Clone(d.Candidates)
				if i < len(d.Candidates) {
					spoil(&d.Candidates[i])
				}
			}))
		}
	}
	for _, loss := range []func(*capability.Request){
		func(r *capability.Request) { r.RestrictedReadAuthorization = "" },
		func(r *capability.Request) { r.DataEgressAuthorization = "" },
		func(r *capability.Request) { r.CredentialUseAuthorization = "" },
		func(r *capability.Request) { r.ExternalCommunicationAuthorization = "" },
		func(r *capability.Request) { r.ProviderTrustDomain = "" },
	} {
		all = append(all, func(in *capability.Input) {
			// For the host's own provider an authorization that is marked missing speaks against it.
			if in.Request.ProviderTrustDomain != "host-native" {
				loss(&in.Request)
			}
		})
	}
	// A scope's ref and surfaces speak for a call; where mutation is forbidden they speak against it.
	for _, loss := range []func(*capability.Request){
		func(r *capability.Request) { r.MutationAuthorizationRef = nil },
		func(r *capability.Request) { r.AllowedMutationSurfaces = nil },
	} {
		all = append(all, func(in *capability.Input) {
			if in.Request.MutationScope != "forbidden" {
				loss(&in.Request)
			}
		})
	}
	return all
}()

func TestLosingEvidenceNeverImproves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		chosen := rapid.SliceOfN(rapid.SampledFrom(edits), 0, 4).Draw(t, "edits")
		base := ready
		if rapid.Bool().Draw(t, "called") {
			base = settled
		}
		lost := rapid.SliceOfN(rapid.SampledFrom(losses), 1, 3).Draw(t, "losses")
		before, after := capability.Evaluate(base(chosen...)), capability.Evaluate(base(append(chosen, lost...)...))
		if better(before, after) {
			t.Fatalf("better without evidence\n%+v\n%+v\n%+v", base(chosen...), before, after)
		}
	})
}

// Each loss alone costs a good input something, but for those nothing depends on there.
func TestEachLossAlone(t *testing.T) {
	t.Parallel()
	costless := 0
	for _, lose := range losses {
		for _, base := range []capability.Input{ready(), settled()} {
			before := capability.Evaluate(base)
			in := ready(lose)
			if base.Live != nil {
				in = settled(lose)
			}
			after := capability.Evaluate(in)
			require.False(t, better(before, after))
			if equal(before, after) {
				costless++
			}
		}
	}
	require.Less(t, costless, len(losses))
}
