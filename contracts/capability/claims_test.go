// Which claims fall, by what was seen.

package capability_test

import (
	"strings"
	"testing"

	"countersign/contracts/capability"

	"github.com/stretchr/testify/require"
)

func TestClaimsDenied(t *testing.T) {
	t.Parallel()
	claims := func(words ...capability.Claim) []capability.Claim { return words }
	none := []capability.Claim{}
	for _, c := range []struct {
		name string
		in   capability.Input
		want []capability.Claim
	}{
		{"before the call", ready(), allClaims},
		{"fallback", ready(beforeCall[0].fail), allClaims},
		{"block", ready(beforeCall[4].fail), allClaims},
		{"wait", ready(func(in *capability.Input) { in.Live = answers("capacity_limited") }), allClaims},
		{"exhausted", ready(func(in *capability.Input) {
			in.Live, in.DispatchPolicy.MaxCapacityAttempts = answers("capacity_limited"), 1
		}), allClaims},
		{"all seen", settled(), none},
		{"not isolated", settled(afterCall[1].fail), claims("fresh-context", "independent", "isolated")},
		{"not isolated, irrelevant", settled(serialLax, afterCall[1].fail), claims("fresh-context", "independent", "isolated")},
		{"not bounded", settled(afterCall[3].fail), claims("multi-agent", "parallel")},
		{"not bounded, serial wanted", settled(serialLax, afterCall[3].fail), claims("multi-agent", "parallel")},
		{"neither", settled(afterCall[1].fail, afterCall[3].fail), claims("fresh-context", "independent", "isolated", "multi-agent", "parallel")},
		{"model inherited", settled(afterCall[2].fail), none},
		{"failed", settled(afterCall[0].fail), allClaims},
		{"output", settled(afterCall[4].fail), allClaims},
		{"violated", settled(afterCall[5].fail), allClaims},
		{"unobserved", settled(afterCall[6].fail), allClaims},
		{"unauthorised", settled(beforeCall[0].fail), allClaims},
	} {
		require.Equal(t, c.want, capability.Evaluate(c.in).ClaimsDenied, c.name)
		c.in.ClaimsRequested = nil
		require.Equal(t, none, capability.Evaluate(c.in).ClaimsDenied, c.name)
		for _, claim := range allClaims {
			c.in.ClaimsRequested = claims(claim, claim)
			want := none
			for _, w := range c.want {
				if w == claim {
					want = claims(claim)
				}
			}
			require.Equal(t, want, capability.Evaluate(c.in).ClaimsDenied, c.name)
		}
	}
}

// An unknown claim never stands, and is repeated only when it is a plain word.
func TestUnknownClaims(t *testing.T) {
	t.Parallel()
	for _, in := range []capability.Input{ready(), settled()} {
		in.ClaimsRequested = []capability.Claim{"zeal", "verified-by-all", "Isolated", "", "a b", "password=hunter2hunter2", "sk-abcdefghij", "<b>", capability.Claim(strings.Repeat("a", 33))}
		r := capability.Evaluate(in)
		require.Equal(t, []capability.Claim{"verified-by-all", "zeal"}, r.ClaimsDenied)
		require.Equal(t, []string{"A requested claim is no word of the contract and is denied unnamed."}, r.Diagnostics)
	}
}
