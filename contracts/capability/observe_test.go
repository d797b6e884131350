// The caller's comparison of before and after, in both scopes.

package capability_test

import (
	"strings"
	"testing"

	"countersign/contracts/capability"

	"github.com/stretchr/testify/require"
)

func requireObserved(t *testing.T, want capability.MutationVerdict, edits ...edit) {
	t.Helper()
	in := settled(edits...)
	r := capability.Evaluate(in)
	require.Empty(t, inconsistency(in, r))
	require.Equal(t, want, r.Outcome.MutationObservation)
	switch want {
	case capability.MutationWithinScope:
		require.Empty(t, r.Outcome.ReasonCodes)
		require.True(t, r.ResultPromotable)
	case capability.MutationViolated:
		requireStatus(t, "blocked", r)
		require.Equal(t, codes(capability.WorkerMutationScopeViolated), r.Outcome.ReasonCodes)
	default:
		requireStatus(t, "blocked", r)
		require.Equal(t, codes(capability.WorkerMutationUnproven), r.Outcome.ReasonCodes)
	}
}

func TestObservationThatProvesNothing(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*capability.Input, *capability.Observation){
		"none":                  func(in *capability.Input, _ *capability.Observation) { in.Observation = nil },
		"empty":                 func(_ *capability.Input, o *capability.Observation) { *o = capability.Observation{} },
		"self-report":           func(_ *capability.Input, o *capability.Observation) { o.Source = "worker-self-report" },
		"no source":             func(_ *capability.Input, o *capability.Observation) { o.Source = "" },
		"Caller":                func(_ *capability.Input, o *capability.Observation) { o.Source = "Caller" },
		"one record":            func(_ *capability.Input, o *capability.Observation) { o.PostStateRef = o.PreStateRef },
		"no pre ref":            func(_ *capability.Input, o *capability.Observation) { o.PreStateRef = "" },
		"blank post ref":        func(_ *capability.Input, o *capability.Observation) { o.PostStateRef = " " },
		"no pre digest":         func(_ *capability.Input, o *capability.Observation) { o.PreStateSHA256 = "" },
		"no post digest":        func(_ *capability.Input, o *capability.Observation) { o.PostStateSHA256 = "" },
		"short digest":          func(_ *capability.Input, o *capability.Observation) { o.PostStateSHA256 = digestB[1:] },
		"digest of other kind":  func(_ *capability.Input, o *capability.Observation) { o.PreStateSHA256 = "sha256:" + digestA },
		"upper-case digest":     func(_ *capability.Input, o *capability.Observation) { o.PreStateSHA256 = "A" + digestA[1:] },
		"no pre time":           func(_ *capability.Input, o *capability.Observation) { o.PreObservedAt = "" },
		"no post time":          func(_ *capability.Input, o *capability.Observation) { o.PostObservedAt = "" },
		"unreadable time":       func(_ *capability.Input, o *capability.Observation) { o.PreObservedAt = "2026-08-20 11:40:00Z" },
		"pre after the start":   func(_ *capability.Input, o *capability.Observation) { o.PreObservedAt = "2026-08-20T11:45:00.5Z" },
		"post before the start": func(_ *capability.Input, o *capability.Observation) { o.PostObservedAt = "2026-08-20T11:44:59Z" },
		"both after":            func(_ *capability.Input, o *capability.Observation) { o.PreObservedAt = o.PostObservedAt },
		"swapped": func(_ *capability.Input, o *capability.Observation) {
			o.PreObservedAt, o.PostObservedAt = o.PostObservedAt, o.PreObservedAt
		},
		"nothing watched":  func(_ *capability.Input, o *capability.Observation) { o.ObservedSurfaces = []string{} },
		"watched unsaid":   func(_ *capability.Input, o *capability.Observation) { o.ObservedSurfaces = nil },
		"watched blank":    func(_ *capability.Input, o *capability.Observation) { o.ObservedSurfaces = []string{"", " "} },
		"changes unsaid":   func(_ *capability.Input, o *capability.Observation) { o.ChangedSurfaces = nil },
		"digests disagree": func(_ *capability.Input, o *capability.Observation) { o.PreStateSHA256, o.PostStateSHA256 = digests(o) },
	} {
		spoilt := func(in *capability.Input) { spoil(in, in.Observation) }
		t.Run(name, func(t *testing.T) {
			requireObserved(t, "unproven", spoilt)
			requireObserved(t, "unproven", forbidden, spoilt)
		})
	}
	// A start that cannot be read leaves no before and after. In a scope it leaves no freshness either.
	for _, started := range []*string{nil, new(""), new("now")} {
		requireObserved(t, "unproven", forbidden, func(in *capability.Input) { in.Live.InvocationStartedAt = started })
	}
}

func TestUnreadableTimesAreNotTheBeginning(t *testing.T) {
	t.Parallel()
	for _, times := range [][3]string{
		{"", "2026-08-20T11:45:00Z", "2026-08-20T11:55:00Z"},
		{"0001-01-01T00:00:00Z", "", "2026-08-20T11:55:00Z"},
		{"0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z", ""},
	} {
		requireObserved(t, "unproven", forbidden, func(in *capability.Input) {
			in.Observation.PreObservedAt, in.Live.InvocationStartedAt, in.Observation.PostObservedAt = times[0], &times[1], times[2]
		})
	}
}

// digests are two that say the opposite of the list of changes.
func digests(o *capability.Observation) (string, string) {
	if len(o.ChangedSurfaces) == 0 {
		return digestA, digestB
	}
	return digestA, digestA
}

func TestObservationAtTheStart(t *testing.T) {
	t.Parallel()
	same := func(in *capability.Input) {
		in.Observation.PreObservedAt = "2026-08-20T13:45:00+02:00"
		in.Observation.PostObservedAt = "2026-08-20T11:45:00.000Z"
	}
	requireObserved(t, "within-scope", same)
	requireObserved(t, "within-scope", forbidden, same)
}

// changed sets the list of changes, with digests that fit it.
func changed(changes ...capability.Change) edit {
	return func(in *capability.Input) {
		in.Observation.ChangedSurfaces = append([]capability.Change{}, changes...)
		in.Observation.PostStateSHA256 = digestA
		if len(changes) > 0 {
			in.Observation.PostStateSHA256 = digestB
		}
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	var (
		inside    = capability.Change{Surface: surfaceA, RunOwned: new(true)}
		insideNot = capability.Change{Surface: surfaceB, RunOwned: new(false)}
		insideWho = capability.Change{Surface: surfaceB}
		outside   = capability.Change{Surface: "repo:x.go:write", RunOwned: new(true)}
		effect    = capability.Change{Surface: "repo:docs/a.md:delete", RunOwned: new(true)}
		foreign   = capability.Change{Surface: "network:https://example.org:post", RunOwned: new(true)}
		nameless  = capability.Change{RunOwned: new(true)}
		others    = capability.Change{Surface: "repo:x.go:write", RunOwned: new(false)}
		whose     = capability.Change{Surface: "repo:x.go:write"}
		unclear   = capability.Change{Surface: "elsewhere", RunOwned: new(false)}
	)
	for _, c := range []struct {
		name              string
		changes           []capability.Change
		scoped, forbidden capability.MutationVerdict
	}{
		{"none", nil, "within-scope", "within-scope"},
		{"inside", []capability.Change{inside}, "within-scope", "violated"},
		{"inside twice", []capability.Change{inside, inside}, "within-scope", "violated"},
		{"inside, not the run's", []capability.Change{inside, insideNot}, "within-scope", "violated"},
		{"inside, nobody knows whose", []capability.Change{insideWho}, "within-scope", "unproven"},
		{"outside", []capability.Change{outside}, "violated", "violated"},
		{"outside after inside", []capability.Change{inside, outside}, "violated", "violated"},
		{"outside before inside", []capability.Change{outside, inside}, "violated", "violated"},
		{"other effect on the same path", []capability.Change{effect}, "violated", "violated"},
		{"outside of the repository", []capability.Change{foreign}, "violated", "violated"},
		{"something, by the run", []capability.Change{nameless}, "violated", "violated"},
		{"somebody else's", []capability.Change{others}, "within-scope", "unproven"},
		{"somebody else's and inside", []capability.Change{others, inside}, "within-scope", "violated"},
		{"nobody knows whose", []capability.Change{whose}, "unproven", "unproven"},
		{"nobody knows whose, then outside", []capability.Change{whose, outside}, "violated", "violated"},
		{"not the run's, but what?", []capability.Change{unclear}, "unproven", "unproven"},
		{"nothing named", []capability.Change{{}}, "unproven", "unproven"},
	} {
		t.Run(c.name, func(t *testing.T) {
			requireObserved(t, c.scoped, changed(c.changes...))
			requireObserved(t, c.forbidden, forbidden, changed(c.changes...))
		})
	}
}

// A surface the receipt grants and the request left out is outside.
func TestReceiptDoesNotWidenTheRequest(t *testing.T) {
	t.Parallel()
	requireObserved(t, "violated", changed(capability.Change{Surface: "repo:src/c.go:delete", RunOwned: new(true)}))
}

func TestEveryAllowedSurfaceIsWatched(t *testing.T) {
	t.Parallel()
	for _, watched := range [][]string{{surfaceA}, {surfaceB}, {"repo:x:state"}, {surfaceA, "repo:src/b.go:write"}} {
		watch := func(in *capability.Input) { in.Observation.ObservedSurfaces = watched }
		requireObserved(t, "unproven", watch)
		requireObserved(t, "unproven", watch, changed())
		// What was seen to go wrong was seen, watched or not.
		requireObserved(t, "violated", watch, changed(capability.Change{Surface: "repo:x:write", RunOwned: new(true)}))
		requireObserved(t, "within-scope", forbidden, watch)
	}
	requireObserved(t, "within-scope", func(in *capability.Input) {
		in.Observation.ObservedSurfaces = []string{"repo:x:state", surfaceB, surfaceA, surfaceA}
	})
}

// Changes within a scope that nobody granted are not within it; those outside still violate it.
func TestUnauthorisedScopeHoldsNothing(t *testing.T) {
	t.Parallel()
	for _, spoil := range []edit{
		func(in *capability.Input) { in.ScopeReceipts = nil },
		func(in *capability.Input) { in.Request.MutationScope = "whatever" },
	} {
		r := capability.Evaluate(settled(spoil, changed()))
		require.Equal(t, capability.MutationUnproven, r.Outcome.MutationObservation)
		require.Equal(t, codes(capability.WorkerMutationUnproven), r.Outcome.ReasonCodes)
		r = capability.Evaluate(settled(spoil, changed(capability.Change{Surface: "repo:x:write", RunOwned: new(true)})))
		require.Equal(t, capability.MutationViolated, r.Outcome.MutationObservation)
		require.Equal(t, codes(capability.WorkerMutationUnproven, capability.WorkerMutationScopeViolated), r.Outcome.ReasonCodes)
	}
	r := capability.Evaluate(settled(forbidden, func(in *capability.Input) { in.Request.MutationAuthorizationRef = new("x") }))
	require.Equal(t, capability.MutationUnproven, r.Outcome.MutationObservation)
	r = capability.Evaluate(settled(func(in *capability.Input) { in.Request.MutationScope = "whatever" },
		changed(capability.Change{Surface: surfaceA, RunOwned: new(true)})))
	require.Equal(t, capability.MutationViolated, r.Outcome.MutationObservation, "an unknown scope allows nothing")
}

// TestLongSurfacesHideNoSecret: a sentence shortens a surface, but never to the start of a secret.
func TestLongSurfacesHideNoSecret(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"sk-live0123456789", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJsaXZlIn0.sealed", "bearer live5678901234567890x"} {
		for at := 150; at < 200; at++ {
			in := settled(func(in *capability.Input) {
				in.Observation.PostStateSHA256 = digestB
				in.Observation.ChangedSurfaces = []capability.Change{{Surface: "repo:" + strings.Repeat("a", at) + "/" + secret + ":create", RunOwned: new(true)}}
			})
			said := strings.Join(capability.Evaluate(in).Diagnostics, "\n")
			require.Contains(t, said, "outside of its scope")
			for n := len(secret); n > 6; n-- {
				require.NotContains(t, said, secret[:n])
			}
		}
	}
}
