// The mutation gate: whether the worker's changes are authorised by a fresh, source-owned receipt.

package capability

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// origins are the sources that may own a mutation scope.
var origins = []string{"current-task:", "owning-workflow:", "upstream-handoff:"}

// mutationGate asks forbidden to name nothing, and an explicit scope to stay within a receipt that is
// fresh now or, once a call was accepted, was fresh when it started.
func mutationGate(in Input) []finding {
	if why := scopeFault(in); why != "" {
		return []finding{{WorkerMutationUnproven, why}}
	}
	return nil
}

// scopeFault says what is wrong with the requested mutation scope, or "".
func scopeFault(in Input) string {
	req := in.Request
	switch req.MutationScope {
	case MutationForbidden:
		if req.MutationAuthorizationRef != nil || len(req.AllowedMutationSurfaces) > 0 {
			return "Mutation is forbidden and yet a scope is named."
		}
		return ""
	case MutationScoped:
	default:
		return "The mutation scope is neither forbidden nor explicit."
	}
	if req.MutationAuthorizationRef == nil {
		return "The explicit mutation scope has no authorisation."
	}
	receipt, ok := in.ScopeReceipts[*req.MutationAuthorizationRef]
	if !ok || blank(*req.MutationAuthorizationRef) {
		return "The mutation scope's authorisation cannot be resolved."
	}
	if !receipt.sourceOwned() {
		return "The scope receipt does not come from the task, the owning workflow or a visible handoff."
	}
	if why := receipt.staleAt(in.scopeTime()); why != "" {
		return why
	}
	if len(req.AllowedMutationSurfaces) == 0 {
		return "The explicit mutation scope names no surface."
	}
	granted := setOf(receipt.AllowedMutationSurfaces)
	for i, surface := range req.AllowedMutationSurfaces {
		if _, err := ParseSurface(surface); err != nil {
			return fmt.Sprintf("The requested surface %d is not a clean path of this repository with a side effect.", i)
		}
		if !granted[surface] {
			return fmt.Sprintf("The requested surface %d is not one of the receipt's.", i)
		}
	}
	return ""
}

// setOf makes a list quick to look things up in: surfaces come by the thousand.
func setOf(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, item := range list {
		set[item] = true
	}
	return set
}

// scopeTime is when the receipt has to be fresh: when the accepted call started, or else now.
func (in Input) scopeTime() string {
	if in.Live.accepted() {
		return in.Live.startedAt()
	}
	return in.Now
}

func (r ScopeReceipt) sourceOwned() bool {
	return slices.ContainsFunc(origins, func(origin string) bool {
		source, ok := strings.CutPrefix(r.AuthorityOrigin, origin)
		return ok && !blank(source)
	})
}

// staleAt says why a receipt is not fresh, which it is for captured ≤ at < expiry; "" when it is. A time
// that cannot be read is never fresh.
func (r ScopeReceipt) staleAt(at string) string {
	captured, ok1 := parseTime(r.CapturedAt)
	expires, ok2 := parseTime(r.FreshnessExpiresAt)
	t, ok3 := parseTime(at)
	switch {
	case !ok1:
		return "The scope receipt's captured_at is no RFC 3339 time."
	case !ok2:
		return "The scope receipt's freshness_expires_at is no RFC 3339 time."
	case !ok3:
		return "The time at which the scope receipt has to be fresh is not known."
	case captured.After(t):
		return "The scope receipt is captured in the future."
	case !t.Before(expires):
		return "The scope receipt has expired."
	}
	return ""
}

// parseTime reads an RFC 3339 time.
func parseTime(s string) (t time.Time, ok bool) {
	err := t.UnmarshalText([]byte(s))
	return t, err == nil
}

// receiptsUsed are the refs of the receipts that authorise the call: the mutation scope's, if any. A
// ref that looks like a secret is named without it.
func receiptsUsed(in Input) []string {
	if in.Request.MutationScope != MutationScoped || scopeFault(in) != "" {
		return []string{}
	}
	return []string{redact(*in.Request.MutationAuthorizationRef)}
}
