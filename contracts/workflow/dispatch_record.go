// What was decided on a worker's dispatch, as it is kept, shown and signed.

package workflow

import (
	"time"

	"countersign/contracts/capability"
)

// DispatchStage is where in a revision's life a dispatch is judged.
type DispatchStage string

// The stages: an offer is judged by authorizations and scope alone, preparing by the node's report, the
// settlement by the call and what it changed.
const (
	StageOffer     DispatchStage = "offer"
	StagePreparing DispatchStage = "preparing"
	StageSettle    DispatchStage = "settle"
)

// DispatchRecord is one decision with what it rests on. It never changes and holds no word of a provider.
type DispatchRecord struct {
	// Contract is the capability contract judged by; SessionIdentity the exact host and tool that the
	// claims hold for, null before a report named them.
	Contract string        `json:"contract"`
	Stage    DispatchStage `json:"stage"`
	// ExecutionID is the attempt judged; absent for an offer that was not made.
	ExecutionID     string                      `json:"execution_id,omitzero"`
	Purpose         Purpose                     `json:"purpose"`
	SessionIdentity *capability.SessionIdentity `json:"session_identity"`
	// DecidedAt is the database's clock.
	DecidedAt time.Time `json:"decided_at"`
	// InputSHA256 is the digest of the RFC 8785 bytes of the evaluator's input.
	InputSHA256       string `json:"input_sha256"`
	capability.Result `json:",inline"`
}

// DispatchSummary is the last decision of a revision in lists.
type DispatchSummary struct {
	Stage            DispatchStage           `json:"stage"`
	Action           capability.Action       `json:"action"`
	Status           *capability.Status      `json:"status"`
	ReasonCodes      []capability.ReasonCode `json:"reason_codes"`
	ClaimsDenied     []capability.Claim      `json:"claims_denied"`
	IndependenceGate capability.Gate         `json:"independence_gate"`
	ResultPromotable bool                    `json:"result_promotable"`
}

// Summary is the record in lists.
func (r DispatchRecord) Summary() DispatchSummary {
	return DispatchSummary{
		Stage: r.Stage, Action: r.Action, Status: r.Outcome.Status, ReasonCodes: r.Outcome.ReasonCodes, ClaimsDenied: r.ClaimsDenied,
		IndependenceGate: r.IndependenceGate, ResultPromotable: r.ResultPromotable,
	}
}

// Stands reports whether a settled attempt of that purpose may count: a worker's result has to be
// promotable, a verifier's has to be independent besides.
func (r DispatchRecord) Stands() bool {
	return r.Stage == StageSettle && r.Action == capability.ActionSettle && r.ResultPromotable &&
		(r.Purpose != PurposeVerify || r.IndependenceGate == capability.GateClosed)
}

// decision is the part of a record that travels.
func (r DispatchRecord) decision() DispatchDecision {
	return DispatchDecision{r.Action, r.Outcome.ReasonCodes, r.InputSHA256}
}
