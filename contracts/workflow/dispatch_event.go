// What a node's events say of a worker that the capability contract binds.

package workflow

import (
	"errors"
	"strings"
	"time"

	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/capability"
)

// LiveFacts is what the node saw of the call it made. The server knows by itself which reports of
// capacity came before and when the call started.
type LiveFacts struct {
	CallStatus               capability.CallStatus       `json:"call_status" validate:"required,oneof=not_invoked succeeded failed"`
	ObservedContextIsolation capability.Isolation        `json:"observed_context_isolation,omitzero" validate:"omitempty,oneof=isolated inherited unknown none"`
	ObservedModelSelection   capability.ModelSelection   `json:"observed_model_selection,omitzero" validate:"omitempty,oneof=requested inherited unknown"`
	ObservedParallelism      capability.Parallelism      `json:"observed_parallelism,omitzero" validate:"omitempty,oneof=bounded serial none unknown"`
	OutputValidation         capability.OutputValidation `json:"output_validation,omitzero" validate:"omitempty,oneof=passed failed not_applicable"`
}

// StateObservation is one look at the state that a worker may change. ObservedAt is the node's own time
// and only recorded; the server stamps when it was told.
type StateObservation struct {
	// Source is who looked: capability.ObservedByCaller, or it proves nothing.
	Source string `json:"source" validate:"required,max=64,text"`
	// StateRef names this record of the state, StateSHA256 its content in lowercase hex.
	StateRef    string    `json:"state_ref" validate:"required,max=200,text"`
	StateSHA256 string    `json:"state_sha256" validate:"required,sha64"`
	ObservedAt  time.Time `json:"observed_at"`
}

// ChangeObservation is the look after the call, with what differs from the one before.
type ChangeObservation struct {
	StateObservation `json:",inline"`
	// ObservedSurfaces are what was watched: every allowed surface, where there are any.
	ObservedSurfaces []string `json:"observed_surfaces" validate:"max=1000,dive,max=1200,text"`
	// ChangedSurfaces are all that differ; an empty list says that nothing does, an absent one says nothing.
	ChangedSurfaces []SurfaceChange `json:"changed_surfaces" validate:"max=2000,dive"`
}

// SurfaceChange is one surface that differs; RunOwned says whether the run did it, null when nobody
// knows. A false counts as true: nobody else works in an attempt's own place.
type SurfaceChange struct {
	Surface  string `json:"surface" validate:"required,max=1200,text"`
	RunOwned *bool  `json:"run_owned"`
}

// DispatchDecision is what the server decided on a report or on a call, as it is answered and as
// Temporal may know it: codes and a digest.
type DispatchDecision struct {
	Action      capability.Action       `json:"action"`
	ReasonCodes []capability.ReasonCode `json:"reason_codes"`
	// InputSHA256 is the digest of the RFC 8785 bytes of the evaluator's input.
	InputSHA256 string `json:"input_sha256"`
}

// readReport reads the capability report of an event; a null is none.
func (e *Event) readReport(data []byte) error {
	if data == nil || string(data) == "null" {
		return nil
	}
	r, err := capability.DecodeReport(data)
	if fault, ok := errors.AsType[*contracts.Error](err); ok {
		return contracts.Invalid("$.capability_report"+strings.TrimPrefix(fault.Path, "$"), "%s", fault.Detail)
	}
	e.CapabilityReport = &r
	return err
}

// StoredEvent is the body of an event as it is kept, and its digest, which names the event to the
// workflow and at replays. It is the body as sent, but for a capability report, of which the sealed form
// is kept: no word of a provider gets further than this.
func StoredEvent(body []byte, e Event) (digest string, stored []byte, err error) {
	if e.CapabilityReport == nil {
		digest, stored = canonjson.BodyDigest(body)
		return digest, stored, nil
	}
	sealed := e.CapabilityReport.Seal()
	e.CapabilityReport = &sealed
	if stored, err = canonjson.Marshal(e); err != nil {
		return "", nil, err
	}
	return canonjson.Digest(stored), stored, nil
}

// checkDispatch refuses what only a dispatch under the capability contract may carry, and a start
// without the look at the state before it.
func (e *Event) checkDispatch(bound bool) *contracts.Error {
	if bound {
		if e.State == EventRunning && e.PreObservation == nil {
			return contracts.Invalid("$.pre_observation", "is required: the contract binds the worker's call")
		}
		return nil
	}
	for _, f := range e.dispatchFields() {
		if f.set {
			return contracts.Invalid("$."+f.name, "does not belong here: the contract has no worker_dispatch")
		}
	}
	return nil
}

func (e *Event) dispatchFields() []eventField {
	return []eventField{
		{"capability_report", e.CapabilityReport != nil, e.State == EventPreparing},
		{"pre_observation", e.PreObservation != nil, e.State == EventRunning},
		{"post_observation", e.PostObservation != nil, e.State.Terminal()},
		{"live", e.Live != nil, e.State.Terminal()},
	}
}
