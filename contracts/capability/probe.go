// The probe: what the current session's registry proves about a worker that may be attempted.

package capability

import (
	"slices"
	"strings"
)

// sighting is what the probe saw, and what it has against a dispatch.
type sighting struct {
	probe      Probe
	capability Availability
	found      []finding
}

// look reads the discovery, but only with the authorization to.
func look(in Input) sighting {
	if in.Request.WorkerDispatchAuthorization != Authorized {
		return sighting{probe: ProbeNotApplicable, capability: CapabilityUnknown}
	}
	d := in.Discovery
	if d == nil || d.Surface != DiscoveryPresent {
		return unproven(ProbeUnavailable, "The session has no discovery surface that could be read.")
	}
	switch d.CaptureMethod {
	case CaptureToolRegistry, CaptureStartupRegistration, CaptureEquivalent:
		return d.assess()
	}
	return unproven(ProbeUnavailable, "The schema was not captured from the current session's own registry.")
}

// assess decides between available, missing and unknown for a registry that was read.
func (d *Discovery) assess() sighting {
	if d.Candidates == nil {
		return unproven(ProbeAttempted, "There is no list of candidates.")
	}
	for _, c := range d.Candidates {
		if Admissible(c) != nil {
			return unproven(ProbeAttempted, "A candidate's excerpt is not properly quoted provider text.")
		}
		if c.PromptLikeDirective == nil || *c.PromptLikeDirective {
			return unproven(ProbeAttempted, "A candidate's schema is not clear of prompt-like directives.")
		}
	}
	if d.SchemaCompleteness != CompletenessConfirmed || d.CompletenessBasis == nil || blank(*d.CompletenessBasis) {
		return unproven(ProbeAttempted, "The registry's completeness is not confirmed with a basis.")
	}
	var eligible []string
	for _, c := range d.Candidates {
		switch yes, known := c.Eligibility.verdict(); {
		case !known:
			return unproven(ProbeAttempted, "A candidate's schema does not settle whether it qualifies.")
		case yes:
			eligible = append(eligible, c.ID)
		}
	}
	switch {
	case len(eligible) == 0:
		return sighting{ProbeAttempted, CapabilityMissing, []finding{
			{SubagentCapabilityMissing, "The complete registry offers no eligible candidate."}}}
	case len(eligible) == 1, d.Selection.picksOne(eligible):
		return sighting{probe: ProbeAttempted, capability: CapabilityAvailable}
	}
	return unproven(ProbeAttempted, "Several candidates qualify and none wins by its schema's behaviour.")
}

func unproven(probe Probe, why string) sighting {
	return sighting{probe, CapabilityUnknown, []finding{{WorkerCapabilityUnproven, why}}}
}

// verdict is known when all five conditions hold or one certainly does not.
func (e Eligibility) verdict() (yes, known bool) {
	yes = true
	for _, condition := range []*bool{
		e.SelfContainedPacket, e.BoundedStop, e.MutationScopeExpressible, e.ReadableOutput, e.NoHostMapping,
	} {
		if condition == nil {
			yes = false
		} else if !*condition {
			return false, true
		}
	}
	return yes, yes
}

// picksOne reports whether the selection names exactly one of the eligible ids, on the one basis
// that counts.
func (s *Selection) picksOne(eligible []string) bool {
	if s == nil || s.Basis != SelectionBySchema || blank(s.Winner) {
		return false // a winner that is not named would be any candidate that is not
	}
	first := slices.Index(eligible, s.Winner)
	return first >= 0 && !slices.Contains(eligible[first+1:], s.Winner)
}

// blank reports a text that shows nothing.
func blank(s string) bool {
	folded, _ := fold(s)
	return strings.TrimSpace(folded) == ""
}
