// How an anchor resolves, and the three sentences that say so.

package figures

import (
	"fmt"
	"strings"
	"time"
)

// Resolution is what became of an anchor: whether its record exists and verifies, and the sentence
// that says so.
type Resolution struct {
	OK        bool
	Statement string
}

// Resolver finds the lineage record an anchor names, of the anchor's kind, and verifies it. It is asked
// once for each different anchor of a bundle.
type Resolver func(Anchor) Resolution

// Traced says that the anchor's record verifies and stands at the position in the chain, counted from 1.
func Traced(a Anchor, position int) Resolution {
	ref := a.Ref
	if digits, ok := strings.CutPrefix(ref, "sha256:"); ok && len(digits) > 12 {
		ref = "sha256:" + digits[:12]
	}
	return Resolution{true, fmt.Sprintf("traces to %s %s, recorded at chain position %d", a.Kind, ref, position)}
}

// Accepted says that the anchor's acceptance receipt verifies, and when its task was accepted.
func Accepted(a Anchor, at time.Time) Resolution {
	return Resolution{true, fmt.Sprintf("traces to %s %s, accepted %s", a.Kind, a.Ref, at.UTC().Format(time.RFC3339))}
}

// Missing says that no record of the anchor's kind has its ref.
func Missing(a Anchor) Resolution {
	return Resolution{false, fmt.Sprintf("anchor %s resolves to no lineage record", a.Ref)}
}

// Unverified says that the anchor's record exists and does not verify.
func Unverified(a Anchor, reason string) Resolution {
	return Resolution{false, fmt.Sprintf("anchor %s record does not verify: %s", a.Ref, reason)}
}

// Statements resolves exactly the refs of the map, each with its statement.
func Statements(byRef map[string]string) Resolver {
	return func(a Anchor) Resolution {
		if statement, ok := byRef[a.Ref]; ok {
			return Resolution{true, statement}
		}
		return Missing(a)
	}
}
