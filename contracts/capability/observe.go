// The mutation observation: what changed while the worker ran, as the caller saw it.

package capability

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

var digest = regexp.MustCompile(`^[0-9a-f]{64}$`)

// observe compares the observed changes with the scope. Changes that nobody had authorised can never
// have been within it.
func observe(in Input) (MutationVerdict, []finding) {
	verdict, why := in.Observation.judge(in.Request, in.Live.startedAt())
	if verdict == MutationWithinScope && scopeFault(in) != "" {
		verdict, why = MutationUnproven, "The changes have no valid authorisation to be within."
	}
	switch verdict {
	case MutationViolated:
		return verdict, []finding{{WorkerMutationScopeViolated, why}}
	case MutationUnproven:
		return verdict, []finding{{WorkerMutationUnproven, why}}
	}
	return verdict, nil
}

// judge says whether the changes stayed within the request's scope, and if not, why.
func (o *Observation) judge(req Request, started string) (MutationVerdict, string) {
	if why := o.fault(started); why != "" {
		return MutationUnproven, why
	}
	allowed := req.AllowedMutationSurfaces
	if req.MutationScope != MutationScoped {
		allowed = nil
	}
	inside, unexplained := setOf(allowed), false
	for _, change := range o.ChangedSurfaces {
		if inside[change.Surface] {
			continue
		}
		if change.RunOwned != nil && *change.RunOwned {
			return MutationViolated, fmt.Sprintf("The run changed %s, which is outside of its scope.", shown(change.Surface))
		}
		// Where nothing may change, every change has to be explained. Elsewhere somebody else's change
		// is none of the worker's, if it is clear what changed and that it was somebody else's.
		_, err := ParseSurface(change.Surface)
		unexplained = unexplained || req.MutationScope != MutationScoped || change.RunOwned == nil || err != nil
	}
	if unexplained {
		return MutationUnproven, "Something changed outside of the scope and it is not clear who did it."
	}
	watched := setOf(o.ObservedSurfaces)
	for _, surface := range allowed {
		if !watched[surface] {
			return MutationUnproven, fmt.Sprintf("The allowed surface %s was not observed.", shown(surface))
		}
	}
	return MutationWithinScope, ""
}

// shown is a surface in a sentence: quoted, short, and without what looks like a secret. Cut first, a
// secret could lose its form and stay.
func shown(surface string) string {
	surface = redact(surface)
	if runes := []rune(surface); len(runes) > 200 {
		surface = string(runes[:200]) + "…"
	}
	return strconv.Quote(surface)
}

// fault says why an observation proves nothing, or "".
func (o *Observation) fault(started string) string {
	if o == nil {
		return "The caller observed nothing."
	}
	if o.Source != ObservedByCaller {
		return "The observation is not the caller's own."
	}
	if blank(o.PreStateRef) || blank(o.PostStateRef) || o.PreStateRef == o.PostStateRef {
		return "The states before and after the call are not two records."
	}
	if !digest.MatchString(o.PreStateSHA256) || !digest.MatchString(o.PostStateSHA256) {
		return "A recorded state has no digest."
	}
	pre, ok1 := parseTime(o.PreObservedAt)
	start, ok2 := parseTime(started)
	post, ok3 := parseTime(o.PostObservedAt)
	if !ok1 || !ok2 || !ok3 || pre.After(start) || start.After(post) {
		return "The states were not observed before and after the start of the call."
	}
	if o.ChangedSurfaces == nil || !slices.ContainsFunc(o.ObservedSurfaces, func(s string) bool { return !blank(s) }) {
		return "The observation does not say what was watched and what changed."
	}
	if (o.PreStateSHA256 == o.PostStateSHA256) != (len(o.ChangedSurfaces) == 0) {
		return "The states' digests and the list of changes contradict each other."
	}
	return ""
}
