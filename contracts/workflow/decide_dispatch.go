// The machine's part in a dispatch that the capability contract binds: when it is judged, and what a
// judgement stops.

package workflow

import (
	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/capability"
)

// DispatchState is where an attempt's dispatch stands: its last action, undecided before the first, and
// nothing where the contract binds none.
type DispatchState string

// The states that let an attempt go on. Any other decision ends it.
const (
	DispatchUndecided DispatchState = "undecided"
	DispatchAttempt   DispatchState = DispatchState(capability.ActionAttempt)
	DispatchWait      DispatchState = DispatchState(capability.ActionWait)
)

// Judgement is one decision on a dispatch with the RFC 8785 bytes of the input it was made on.
type Judgement struct {
	Record DispatchRecord
	Input  []byte
}

// bound is the contract's worker_dispatch, nil when there is none or the facts have no contract.
func (f Facts) bound() *WorkerDispatch {
	if f.Contract == nil {
		return nil
	}
	return f.Contract.WorkerDispatch
}

// checkDispatchState holds a start to the decision before it, and a repeated report to a wait.
func (a *Attempt) checkDispatchState(state EventState) *contracts.Error {
	if state == EventRunning && (a.Phase == AttemptClaimed || a.Phase == AttemptPreparing) &&
		a.Dispatch != "" && a.Dispatch != DispatchAttempt {
		return contracts.Refuse(contracts.CodeDispatchNotEligible, "the last decision on this worker is %s, not %s", a.Dispatch, DispatchAttempt)
	}
	return nil
}

// reportsAgain says that a report may follow one that met no capacity.
func (a *Attempt) reportsAgain(state EventState) bool {
	return state == EventPreparing && a.Phase == AttemptPreparing && a.Dispatch == DispatchWait
}

// judge evaluates and keeps the judgement. It returns nil when nothing was to be said, as of an offer
// that may be made.
func (d *Decision) judge(f Facts, stage DispatchStage, purpose Purpose, execution string, who *capability.SessionIdentity, in capability.Input) *DispatchRecord {
	w := f.bound()
	result, said := w.Judge(stage, in)
	if !said {
		return nil
	}
	data, err := canonjson.Marshal(in)
	if err != nil {
		// Everything in it was read from JSON.
		panic("unmarshallable capability input: " + err.Error())
	}
	record := DispatchRecord{
		Contract: w.Contract, Stage: stage, ExecutionID: execution, Purpose: purpose, SessionIdentity: who,
		DecidedAt: f.Now, InputSHA256: canonjson.Digest(data), Result: result,
	}
	d.Judged = append(d.Judged, Judgement{record, data})
	return &record
}

// judgeReport decides on the report of a preparing event; nil without a worker dispatch.
func (d *Decision) judgeReport(f Facts, a *Attempt) *DispatchRecord {
	w := f.bound()
	if w == nil {
		return nil
	}
	in := w.input(a.Purpose, f.Now)
	report := f.Event.CapabilityReport
	who := session(&in, report)
	if who != nil {
		reported := append(f.Reported[:len(f.Reported):len(f.Reported)], ReportedEvent{*f.Event, f.Now})
		w.uncalled(&in, reported, report.Capacity, f.Now)
	}
	record := d.judge(f, StagePreparing, a.Purpose, a.ExecutionID, who, in)
	a.Dispatch = DispatchState(record.Action)
	return record
}

// settle decides on what became of the attempt's call, once and for all; nil when there was none, or no
// worker dispatch. end is the node's terminal event, nil when the node was not heard.
func (d *Decision) settle(f Facts, a *Attempt, end *Event) *DispatchRecord {
	w := f.bound()
	if w == nil || a == nil {
		return nil
	}
	in := w.input(a.Purpose, f.Now)
	who := session(&in, lastReport(f.Reported))
	switch {
	case a.Phase == AttemptRunning:
		called(&in, f.Reported, end, f.Now)
		if o := in.Observation; o != nil && len(o.ChangedSurfaces) == 0 && moved(in.Request, a, end) {
			in.Observation = nil // it says that nothing changed, and the result is another commit
		}
	case a.Dispatch == DispatchWait && end == nil && !f.Now.Before(a.DeadlineAt):
		// The deadline ended the waiting for capacity.
		limited, _ := waited(f.Reported)
		in.Live = &capability.Live{Attempts: attempts(limited), CallStatus: capability.CallNotInvoked}
		in.DispatchPolicy.MaxCapacityAttempts = min(in.DispatchPolicy.MaxCapacityAttempts, limited)
	default:
		return nil
	}
	return d.judge(f, StageSettle, a.Purpose, a.ExecutionID, who, in)
}

// moved reports a result other than the attempt's base although nothing may change.
func moved(r capability.Request, a *Attempt, end *Event) bool {
	return end != nil && r.MutationScope == capability.MutationForbidden && end.ResultCommit != nil && *end.ResultCommit != a.BaseCommit
}

func lastReport(reported []ReportedEvent) (last *capability.Report) {
	for _, e := range reported {
		if e.Event.State == EventPreparing {
			last = e.Event.CapabilityReport
		}
	}
	return last
}

// offerable judges whether a further attempt may be offered now. A verifier's request holds nothing that
// grows stale, so only work is asked about.
func (d *Decision) offerable(f Facts) *DispatchRecord {
	w := f.bound()
	if w == nil {
		return nil
	}
	return d.judge(f, StageOffer, PurposeWork, "", nil, w.input(PurposeWork, f.Now))
}

// failDispatch ends the active attempt and the revision for what a judgement says.
func (d *Decision) failDispatch(r *DispatchRecord) {
	id := d.Step.Active.ExecutionID
	d.end(AttemptFailed, OutcomeFailed, ReasonWorkerDispatch)
	d.entry(EntryFailed, id, withCodes(map[string]any{"reason": string(ReasonWorkerDispatch)}, r))
	d.blockDispatch(id, r)
}

// blockDispatch blocks the revision for what a judgement says, and keeps its codes.
func (d *Decision) blockDispatch(attempt string, r *DispatchRecord) {
	d.block(attempt, ReasonWorkerDispatch)
	withCodes(d.Entries[len(d.Entries)-1].Data, r)
}

// withCodes adds a judgement's action and codes to a history entry.
func withCodes(data map[string]any, r *DispatchRecord) map[string]any {
	if r != nil {
		data["action"], data["reason_codes"] = string(r.Action), r.Outcome.ReasonCodes
	}
	return data
}

// decided is what an event's answer tells of a judgement.
func decided(r *DispatchRecord) *DispatchDecision {
	if r == nil {
		return nil
	}
	answer := r.decision()
	return &answer
}
