// What the registry proves: surfaces, candidates, completeness and selection.

package capability_test

import (
	"fmt"
	"strings"
	"testing"

	"countersign/contracts/capability"

	"github.com/stretchr/testify/require"
)

func requireSeen(t *testing.T, probe capability.Probe, want capability.Availability, edits ...edit) {
	t.Helper()
	in := ready(edits...)
	r := capability.Evaluate(in)
	require.Empty(t, inconsistency(in, r))
	require.Equal(t, probe, r.Outcome.CapabilityProbe)
	require.Equal(t, want, r.Outcome.WorkerDispatchCapability)
	switch want {
	case capability.CapabilityAvailable:
		require.Equal(t, capability.ActionAttempt, r.Action)
		require.Empty(t, r.Outcome.ReasonCodes)
	case capability.CapabilityMissing:
		require.Equal(t, capability.ActionFallback, r.Action)
		require.Equal(t, codes(capability.SubagentCapabilityMissing), r.Outcome.ReasonCodes)
	default:
		require.Equal(t, capability.ActionFallback, r.Action)
		require.Equal(t, codes(capability.WorkerCapabilityUnproven), r.Outcome.ReasonCodes)
	}
}

func TestDiscoverySurface(t *testing.T) {
	t.Parallel()
	requireSeen(t, "unavailable", "unknown", func(in *capability.Input) { in.Discovery = nil })
	for _, word := range []capability.SurfaceState{"none", "failed", "", "Present", "partial"} {
		requireSeen(t, "unavailable", "unknown", func(in *capability.Input) { in.Discovery.Surface = word })
	}
	for _, method := range []string{"", "cli-help", "source-inventory", "host-session-tool-registry-api ", "HOST-SESSION-TOOL-REGISTRY-API", "model-statement"} {
		requireSeen(t, "unavailable", "unknown", func(in *capability.Input) { in.Discovery.CaptureMethod = method })
	}
	for _, method := range []string{"host-session-tool-registry-api", "host-startup-registration-record", "equivalent-current-session-source"} {
		requireSeen(t, "attempted", "available", func(in *capability.Input) { in.Discovery.CaptureMethod = method })
		// An unreliable candidate list behind a reliable surface was at least looked at.
		requireSeen(t, "attempted", "unknown", func(in *capability.Input) {
			in.Discovery.CaptureMethod, in.Discovery.Candidates = method, nil
		})
	}
}

func TestCompleteness(t *testing.T) {
	t.Parallel()
	for name, break_ := range map[string]edit{
		"unconfirmed":     func(in *capability.Input) { in.Discovery.SchemaCompleteness = "unconfirmed" },
		"another word":    func(in *capability.Input) { in.Discovery.SchemaCompleteness = "Confirmed" },
		"absent":          func(in *capability.Input) { in.Discovery.SchemaCompleteness = "" },
		"no basis":        func(in *capability.Input) { in.Discovery.CompletenessBasis = nil },
		"empty basis":     func(in *capability.Input) { in.Discovery.CompletenessBasis = new("") },
		"blank basis":     func(in *capability.Input) { in.Discovery.CompletenessBasis = new(" \t\u00a0") },
		"unseeable basis": func(in *capability.Input) { in.Discovery.CompletenessBasis = new("\u200b") },
	} {
		for _, list := range [][]capability.Candidate{{}, {candidate("a")}, {excluded("a")}} {
			t.Run(name, func(t *testing.T) {
				requireSeen(t, "attempted", "unknown", break_, func(in *capability.Input) { in.Discovery.Candidates = list })
			})
		}
	}
}

// Every mix of up to three candidates, with every kind of selection.
func TestCandidateMixes(t *testing.T) {
	t.Parallel()
	kinds := []func(string) capability.Candidate{candidate, excluded, undetermined}
	selections := []*capability.Selection{
		nil, {Winner: "w0", Basis: "schema-behaviour"}, {Winner: "w1", Basis: "schema-behaviour"}, {Winner: "w2", Basis: "schema-behaviour"},
		{Winner: "w9", Basis: "schema-behaviour"}, {Winner: "", Basis: "schema-behaviour"}, {Winner: "w0", Basis: "host-name"},
		{Winner: "w0", Basis: ""}, {Winner: "w0", Basis: "Schema-Behaviour"}, {Winner: " w0", Basis: "schema-behaviour"},
	}
	for n := range 4 {
		mixes := 1
		for range n {
			mixes *= len(kinds)
		}
		for mix := range mixes {
			list := []capability.Candidate{}
			count := [3]int{}
			eligible := map[string]bool{}
			for i, rest := 0, mix; i < n; i, rest = i+1, rest/len(kinds) {
				kind, id := rest%len(kinds), fmt.Sprintf("w%d", i)
				list = append(list, kinds[kind](id))
				count[kind]++
				eligible[id] = kind == 0
			}
			for _, s := range selections {
				want := capability.CapabilityUnknown
				switch {
				case count[2] > 0:
				case count[0] == 0:
					want = "missing"
				case count[0] == 1, s != nil && s.Basis == "schema-behaviour" && eligible[s.Winner]:
					want = "available"
				}
				requireSeen(t, "attempted", want, func(in *capability.Input) {
					in.Discovery.Candidates, in.Discovery.Selection = list, s
				})
			}
		}
	}
}

func TestTwoCandidatesOfOneName(t *testing.T) {
	t.Parallel()
	requireSeen(t, "attempted", "unknown", func(in *capability.Input) {
		in.Discovery.Candidates = []capability.Candidate{candidate("w"), candidate("w")}
		in.Discovery.Selection = &capability.Selection{Winner: "w", Basis: "schema-behaviour"}
	})
	// The same name on one that is out does not confuse the choice.
	requireSeen(t, "attempted", "available", func(in *capability.Input) {
		in.Discovery.Candidates = []capability.Candidate{candidate("w"), candidate("v"), excluded("w")}
		in.Discovery.Selection = &capability.Selection{Winner: "w", Basis: "schema-behaviour"}
	})
}

// A selection that names nobody does not choose the candidate that nobody named.
func TestNobodyIsNoWinner(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", " ", "\u200b"} {
		requireSeen(t, "attempted", "unknown", func(in *capability.Input) {
			in.Discovery.Candidates = []capability.Candidate{candidate("w"), candidate(name)}
			in.Discovery.Selection = &capability.Selection{Winner: name, Basis: "schema-behaviour"}
		})
	}
}

// Each of the five conditions, alone and against each other one.
func TestEligibilityConditions(t *testing.T) {
	t.Parallel()
	conditions := func(c *capability.Candidate) []**bool {
		e := &c.Eligibility
		return []**bool{&e.SelfContainedPacket, &e.BoundedStop, &e.MutationScopeExpressible, &e.ReadableOutput, &e.NoHostMapping}
	}
	for i := range 5 {
		for j := range 5 {
			for _, values := range [][2]*bool{{nil, nil}, {new(false), nil}, {new(false), new(false)}, {new(false), new(true)}, {nil, new(true)}} {
				c := candidate("w")
				*conditions(&c)[j] = values[1]
				*conditions(&c)[i] = values[0]
				want := capability.CapabilityUnknown
				if values[0] != nil {
					want = "missing"
				}
				requireSeen(t, "attempted", want, func(in *capability.Input) { in.Discovery.Candidates = []capability.Candidate{c} })
			}
		}
	}
}

func TestOneBadExcerptSpoilsTheProbe(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*capability.Candidate){
		"directive":        func(c *capability.Candidate) { c.PromptLikeDirective = new(true) },
		"directive absent": func(c *capability.Candidate) { c.PromptLikeDirective = nil },
		"label":            func(c *capability.Candidate) { c.ProvenanceLabel = "trusted-host" },
		"no label":         func(c *capability.Candidate) { c.ProvenanceLabel = "" },
		"digest":           func(c *capability.Candidate) { c.ExcerptSHA256 = digestA },
		"no digest":        func(c *capability.Candidate) { c.ExcerptSHA256 = "" },
		"upper digest":     func(c *capability.Candidate) { c.ExcerptSHA256 = strings.ToUpper(c.ExcerptSHA256) },
		"no excerpt":       func(c *capability.Candidate) { *c = withExcerpt(*c, "") },
		"field":            func(c *capability.Candidate) { c.ExcerptFields = []string{"name", "examples"} },
		"no fields":        func(c *capability.Candidate) { c.ExcerptFields = nil },
		"everything":       func(c *capability.Candidate) { *c = capability.Candidate{} },
	} {
		for _, make := range []func(string) capability.Candidate{candidate, excluded} {
			bad := make("bad")
			spoil(&bad)
			for _, list := range [][]capability.Candidate{{bad}, {candidate("w"), bad}, {bad, candidate("w")}, {excluded("w"), bad}} {
				t.Run(name, func(t *testing.T) {
					requireSeen(t, "attempted", "unknown", func(in *capability.Input) { in.Discovery.Candidates = list })
				})
			}
		}
	}
	requireSeen(t, "attempted", "available", func(in *capability.Input) {
		c := candidate("w")
		c.ExcerptFields = []string{}
		in.Discovery.Candidates = []capability.Candidate{c}
	})
}
