// The mutation gate: receipts, freshness, surfaces.

package capability_test

import (
	"fmt"
	"testing"

	"countersign/contracts/capability"

	"github.com/stretchr/testify/require"
)

// requireScope checks what the mutation gate says before a call.
func requireScope(t *testing.T, good bool, edits ...edit) {
	t.Helper()
	in := ready(edits...)
	r := capability.Evaluate(in)
	require.Empty(t, inconsistency(in, r))
	if good {
		require.Equal(t, capability.ActionAttempt, r.Action)
		return
	}
	require.Equal(t, capability.ActionBlock, r.Action)
	requireStatus(t, "blocked", r)
	require.Equal(t, codes(capability.WorkerMutationUnproven), r.Outcome.ReasonCodes)
	require.Equal(t, capability.CapabilityAvailable, r.Outcome.WorkerDispatchCapability)
	require.Empty(t, r.Outcome.AuthorizationReceipts)
}

func receipt(change func(*capability.ScopeReceipt)) edit {
	return func(in *capability.Input) {
		r := in.ScopeReceipts[scopeRef]
		change(&r)
		in.ScopeReceipts[scopeRef] = r
	}
}

func TestForbiddenNamesNothing(t *testing.T) {
	t.Parallel()
	requireScope(t, true, forbidden)
	requireScope(t, true, forbidden, func(in *capability.Input) { in.Request.AllowedMutationSurfaces = []string{} })
	for _, ref := range []string{"", scopeRef, "scope/missing.json"} {
		requireScope(t, false, forbidden, func(in *capability.Input) { in.Request.MutationAuthorizationRef = &ref })
	}
	for _, surfaces := range [][]string{{""}, {surfaceA}, {"nonsense"}} {
		requireScope(t, false, forbidden, func(in *capability.Input) { in.Request.AllowedMutationSurfaces = surfaces })
	}
	// A receipt that nobody refers to grants nothing and takes nothing.
	requireScope(t, true, forbidden, func(in *capability.Input) { in.ScopeReceipts = ready().ScopeReceipts })
}

func TestUnknownScopeIsUnproven(t *testing.T) {
	t.Parallel()
	for _, word := range []capability.MutationScope{"", "Forbidden", "scoped", "anything"} {
		requireScope(t, false, func(in *capability.Input) { in.Request.MutationScope = word })
		requireScope(t, false, forbidden, func(in *capability.Input) { in.Request.MutationScope = word })
	}
}

func TestReceiptIsResolved(t *testing.T) {
	t.Parallel()
	requireScope(t, true)
	for _, ref := range []*string{nil, new(""), new("scope/b.json"), new("scope/A.json"), new("./scope/a.json"), new("scope/a.json ")} {
		requireScope(t, false, func(in *capability.Input) { in.Request.MutationAuthorizationRef = ref })
	}
	requireScope(t, false, func(in *capability.Input) { in.ScopeReceipts = nil })
	requireScope(t, false, func(in *capability.Input) { in.ScopeReceipts[scopeRef] = capability.ScopeReceipt{} })
	// Not even a receipt filed under nothing.
	requireScope(t, false, func(in *capability.Input) {
		in.Request.MutationAuthorizationRef = new("")
		in.ScopeReceipts[""] = in.ScopeReceipts[scopeRef]
	})
}

func TestReceiptOrigin(t *testing.T) {
	t.Parallel()
	for _, origin := range []string{"current-task:T-1", "owning-workflow:W", "upstream-handoff:H-4"} {
		requireScope(t, true, receipt(func(r *capability.ScopeReceipt) { r.AuthorityOrigin = origin }))
	}
	for _, origin := range []string{
		"", "current-task", "current-task:", "current-task: ", "Current-Task:T", " current-task:T", "worker:self-declared",
		"provider:current-task:T", "owning_workflow:W", "handoff:H", "upstream-handoff",
	} {
		requireScope(t, false, receipt(func(r *capability.ScopeReceipt) { r.AuthorityOrigin = origin }))
	}
}

func TestReceiptFreshness(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		now, captured, expires string
		good                   bool
	}{
		{"2026-08-20T12:00:00Z", "2026-08-20T12:00:00Z", "2026-08-20T12:00:00.000000001Z", true},
		{"2026-08-20T12:00:00Z", "2026-08-20T09:00:00Z", "2026-08-20T12:00:00Z", false},
		{"2026-08-20T12:00:00Z", "2026-08-20T09:00:00Z", "2026-08-20T14:00:00+02:00", false},
		{"2026-08-20T12:00:00Z", "2026-08-20T09:00:00Z", "2026-08-20T14:00:01+02:00", true},
		{"2026-08-20T12:00:00Z", "2026-08-20T09:00:00Z", "2026-08-20T12:30:00+02:00", false},
		{"2026-08-20T12:00:00Z", "2026-08-20T12:00:00.001Z", "2026-08-20T18:00:00Z", false},
		{"2026-08-20T12:00:00Z", "2026-08-20T18:00:00Z", "2026-08-20T09:00:00Z", false},
		{"2026-08-20T12:00:00Z", "2026-08-20T12:00:00Z", "2026-08-20T12:00:00Z", false},
		{"2026-08-20T12:00:00Z", "", "2026-08-20T18:00:00Z", false},
		{"2026-08-20T12:00:00Z", "2026-08-20T09:00:00Z", "", false},
		{"2026-08-20T12:00:00Z", "2026-08-20T09:00:00Z", "never", false},
		{"2026-08-20T12:00:00Z", "2026-08-20", "2026-08-20T18:00:00Z", false},
		{"2026-08-20T12:00:00Z", "2026-08-20T09:00:00", "2026-08-20T18:00:00Z", false},
		{"2026-08-20T12:00:00Z", "2026-08-20T09:00:00Z", "2026-02-30T18:00:00Z", false},
		{"", "2026-08-20T09:00:00Z", "2026-08-20T18:00:00Z", false},
		{"yesterday", "2026-08-20T09:00:00Z", "2026-08-20T18:00:00Z", false},
		// A time that cannot be read is not the beginning of the calendar.
		{"yesterday", "0001-01-01T00:00:00Z", "2026-08-20T18:00:00Z", false},
		{"0000-06-01T00:00:00Z", "0000-01-01T00:00:00Z", "tomorrow", false},
	} {
		requireScope(t, c.good, func(in *capability.Input) { in.Now = c.now }, receipt(func(r *capability.ScopeReceipt) {
			r.CapturedAt, r.FreshnessExpiresAt = c.captured, c.expires
		}))
	}
	// Without a scope there is nothing that could be stale.
	requireScope(t, true, forbidden, func(in *capability.Input) { in.Now = "" })
}

// After a call the receipt has to have been fresh when the call started; now does not matter.
func TestReceiptFreshnessAfterACall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		started           *string
		captured, expires string
		good              bool
	}{
		{new("2026-08-20T11:45:00Z"), "2026-08-20T11:45:00Z", "2026-08-20T11:45:01Z", true},
		{new("2026-08-20T11:45:00Z"), "2026-08-20T09:00:00Z", "2026-08-20T11:45:00Z", false},
		{new("2026-08-20T11:45:00Z"), "2026-08-20T11:45:01Z", "2026-08-20T18:00:00Z", false},
		{new("2026-08-20T11:45:00Z"), "2026-08-20T09:00:00Z", "2026-08-20T11:50:00Z", true},
		{nil, "2026-08-20T09:00:00Z", "2026-08-20T18:00:00Z", false},
		{new("soon"), "2026-08-20T09:00:00Z", "2026-08-20T18:00:00Z", false},
	} {
		in := settled(func(in *capability.Input) { in.Live.InvocationStartedAt = c.started }, receipt(func(r *capability.ScopeReceipt) {
			r.CapturedAt, r.FreshnessExpiresAt = c.captured, c.expires
		}))
		r := capability.Evaluate(in)
		require.Empty(t, inconsistency(in, r))
		if c.good {
			requireStatus(t, "succeeded", r)
			continue
		}
		requireStatus(t, "blocked", r)
		require.Equal(t, codes(capability.WorkerMutationUnproven), r.Outcome.ReasonCodes)
		require.Equal(t, capability.MutationUnproven, r.Outcome.MutationObservation)
		require.Empty(t, r.Outcome.AuthorizationReceipts)
	}
	// Answers without an acceptance are still before the call.
	in := ready(func(in *capability.Input) {
		in.Live = &capability.Live{Attempts: []capability.Attempt{{Result: "capacity_limited"}}}
		in.Now = "2026-08-20T18:00:00Z"
	})
	require.Equal(t, codes(capability.WorkerMutationUnproven), capability.Evaluate(in).Outcome.ReasonCodes)
}

func TestRequestedSurfaces(t *testing.T) {
	t.Parallel()
	request := func(surfaces ...string) edit {
		return func(in *capability.Input) { in.Request.AllowedMutationSurfaces = surfaces }
	}
	requireScope(t, true, request(surfaceA))
	requireScope(t, true, request(surfaceB, surfaceA, "repo:src/c.go:delete"))
	requireScope(t, true, request(surfaceA, surfaceA))
	for _, surfaces := range [][]string{
		nil, {}, {""}, {surfaceA, ""}, {surfaceA, "repo:src/x.go:write"}, {"repo:docs/a.md:create"}, {"repo:docs:write"}, {"repo:docs/a.md/b:write"},
		{"repo:./docs/a.md:write"}, {"repo:Docs/a.md:write"}, {"repo:docs/a.md:write "}, {"docs/a.md"},
	} {
		requireScope(t, false, request(surfaces...))
	}
	// A surface that version 1 cannot express is not made good by a receipt that names it too.
	for _, text := range badSurfaces {
		requireScope(t, false, request(text), receipt(func(r *capability.ScopeReceipt) { r.AllowedMutationSurfaces = []string{text} }))
	}
	// Nor does it spoil a receipt when nobody asks for it.
	requireScope(t, true, receipt(func(r *capability.ScopeReceipt) {
		r.AllowedMutationSurfaces = append(r.AllowedMutationSurfaces, badSurfaces...)
	}))
}

// A scope of a whole repository is looked through once, not once for every surface.
func TestManySurfaces(t *testing.T) {
	t.Parallel()
	many := make([]string, 100_000)
	for i := range many {
		many[i] = fmt.Sprintf("repo:src/%06d.go:write", i)
	}
	in := settled(changed(capability.Change{Surface: many[7], RunOwned: new(true)}), func(in *capability.Input) {
		in.Request.AllowedMutationSurfaces, in.Observation.ObservedSurfaces = many, many
	}, receipt(func(r *capability.ScopeReceipt) { r.AllowedMutationSurfaces = many }))
	requireStatus(t, "succeeded", capability.Evaluate(in))
}

func TestRefThatHoldsASecretIsNotRepeated(t *testing.T) {
	t.Parallel()
	const ref = "scope?api_key=hunter2hunter2"
	r := capability.Evaluate(ready(func(in *capability.Input) {
		in.Request.MutationAuthorizationRef = new(ref)
		in.ScopeReceipts[ref] = in.ScopeReceipts[scopeRef]
	}))
	require.Equal(t, capability.ActionAttempt, r.Action)
	require.Equal(t, []string{"scope?[***]"}, r.Outcome.AuthorizationReceipts)
}
