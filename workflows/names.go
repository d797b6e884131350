// How the revision workflow is called, by clients and in Temporal's UI.

// Package workflows is the Temporal wiring of the machine in contracts/workflow: the revision
// workflow, and the gateway through which the API and the worker's loops reach it.
package workflows

import (
	contract "countersign/contracts/workflow"

	"go.temporal.io/sdk/temporal"
)

const (
	// TypeRevision is the workflow type of a revision.
	TypeRevision = "RevisionWorkflow"
	// DefaultTaskQueue is where revisions and their activities run.
	DefaultTaskQueue = "countersign"
	// QueryLive answers a contract.Live.
	QueryLive = "live"
)

// Updates of a revision. All but UpdateCatchUp take a contract.Command and answer a store.Outcome.
const (
	UpdateClaim   = "claim"
	UpdateEvent   = "event"
	UpdateControl = "control" // cancel, reconcile
	UpdateSettle  = "settle"  // settle, expire
	UpdateBlock   = "block"
	// UpdateCatchUp writes no step: it makes the workflow read what was recorded without it, and then
	// arm or close.
	UpdateCatchUp = "catch_up"
)

// updateOf is the update that carries a command.
func updateOf(kind contract.CommandKind) string {
	switch kind {
	case contract.CommandCancel, contract.CommandReconcile:
		return UpdateControl
	case contract.CommandSettle, contract.CommandExpire:
		return UpdateSettle
	}
	return string(kind)
}

// Search attributes of a revision, all keywords.
var (
	keyPhase     = temporal.NewSearchAttributeKeyKeyword("Phase")
	keyTaskID    = temporal.NewSearchAttributeKeyKeyword("TaskId")
	keyProjectID = temporal.NewSearchAttributeKeyKeyword("ProjectId")
	keyNodeID    = temporal.NewSearchAttributeKeyKeyword("NodeId")
	keyPurpose   = temporal.NewSearchAttributeKeyKeyword("Purpose")
	keyReason    = temporal.NewSearchAttributeKeyKeyword("Reason")
)

// ActorTemporalUI is who cancelled when the cancellation came through Temporal itself.
const ActorTemporalUI = "temporal-ui"

// actorTemporal is who noticed a time-out.
const actorTemporal = "temporal"
