// How a revision is called in Temporal.

package activities

import (
	"errors"
	"strings"

	"go.temporal.io/api/serviceerror"
)

// Activity types as Temporal's UI shows them. An attempt is called by its purpose, so that the
// timeline reads like the list of phases.
const (
	NameWork   = "work"
	NameVerify = "verify"
	NameCommit = "commit"
	NameAdopt  = "adopt"
	NameSteps  = "steps"
)

const idPrefix = "revision/"

// TemporalID is the Temporal workflow id of a revision.
func TemporalID(workflowID string) string { return idPrefix + workflowID }

// RevisionID is the inverse of TemporalID; ok is false for other workflows' ids.
func RevisionID(temporalID string) (workflowID string, ok bool) {
	return strings.CutPrefix(temporalID, idPrefix)
}

func isNotFound(err error) bool {
	_, ok := errors.AsType[*serviceerror.NotFound](err)
	return ok
}
