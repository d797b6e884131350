// What an acceptance receipt is called on the wire, and how it can fail.

// Package receipt makes and checks acceptance receipts: an in-toto statement in a DSSE envelope, the
// chain of keys that sign, and the pack an auditor takes away. It is pure: keys and bytes are passed
// in, nothing is read or kept, and no clock is asked. A Key signs two things only, a statement that
// has passed the checks of this package and the link to its successor, each under its own type.
package receipt

import "countersign/contracts"

const (
	// PredicateType is the type of every statement signed here; nothing but an acceptance has it.
	PredicateType = "https://countersign.dev/acceptance/v1"
	// PayloadType is the DSSE type of the statement, and the only one that Verify takes.
	PayloadType = "application/vnd.in-toto+json"
	// LinkType is the DSSE type of a key's link to the one before it.
	LinkType = "application/vnd.countersign.key+json"
)

// How a verification ends when it does not succeed.
const (
	// CodeUnproven says that something does not hold: a signature, a digest, a chain, a form.
	CodeUnproven contracts.Code = "unproven"
	// CodeSignerUnknown says that all holds as far as it goes, but under a key nobody has vouched for.
	CodeSignerUnknown contracts.Code = "signer_unknown"
)

func unproven(format string, args ...any) *contracts.Error {
	return contracts.Refuse(CodeUnproven, format, args...)
}

// within names the file or member that a failure lies in.
func within(where string, err error) *contracts.Error {
	return unproven("%s: %v", where, err)
}
