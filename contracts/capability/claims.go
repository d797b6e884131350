// Claims: which of the words somebody wants to say would not be true.

package capability

import (
	"regexp"
	"slices"
)

// Denied are those of all claims, sorted, that what was seen of a worker contradicts, however well its
// result settled.
func (o Outcome) Denied() []Claim {
	denied, _ := denyClaims(Claims(), o.belies)
	return denied
}

// belies reports whether what was seen of a worker contradicts a claim about it.
func (o Outcome) belies(c Claim) bool {
	switch c {
	case ClaimIndependent, ClaimFreshContext, ClaimIsolated:
		return o.RealizedIsolation != IsolationIsolated
	case ClaimParallel, ClaimMultiAgent:
		return o.RealizedParallelism != ParallelismBounded
	case ClaimPermission, ClaimCapacity, ClaimExecution, ClaimSupport:
		return false
	}
	return true // a word the contract does not know
}

var plainClaim = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)

// denyClaims lists those of the requested claims that untrue says so of, sorted, once each. A word
// that could be anything is not repeated; a note says that it is denied.
func denyClaims(requested []Claim, untrue func(Claim) bool) (denied []Claim, notes []string) {
	denied = []Claim{}
	for _, c := range requested {
		switch {
		case !untrue(c):
		case len(c) > 32 || !plainClaim.MatchString(string(c)) || SecretLike(string(c)):
			notes = []string{"A requested claim is no word of the contract and is denied unnamed."}
		default:
			denied = append(denied, c)
		}
	}
	slices.Sort(denied)
	return slices.Compact(denied), notes
}
