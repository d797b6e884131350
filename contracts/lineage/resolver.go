// What grounds a figure: a record of the log, or an acceptance receipt.

package lineage

import "countersign/contracts/figures"

// Found is the record an anchor names.
type Found struct {
	// Position is the line's number in the log, counted from 1.
	Position int64
	// Fault says why the record does not verify; "" when it does.
	Fault string
}

// Resolver answers anchors. An attachment or artifact is what find knows by its content hash: find must
// return only an entry whose kind is Attachment for the one and not Attachment for the other, and false
// when there is none. A receipt is an acceptance receipt's id and is receipts' to answer; when receipts is
// nil, no receipt resolves.
func Resolver(find func(figures.Anchor) (Found, bool), receipts figures.Resolver) figures.Resolver {
	return func(a figures.Anchor) figures.Resolution {
		if a.Kind == figures.AnchorReceipt {
			if receipts == nil {
				return figures.Missing(a)
			}
			return receipts(a)
		}
		found, ok := find(a)
		switch {
		case !ok:
			return figures.Missing(a)
		case found.Fault != "":
			return figures.Unverified(a, found.Fault)
		}
		return figures.Traced(a, int(found.Position))
	}
}
