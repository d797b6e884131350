// The evaluator's input at each stage, made of the frozen contract and of what was recorded since.

package workflow

import (
	"slices"
	"strings"
	"time"

	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/capability"
)

// ReportedEvent is a recorded event and the database's clock when it was recorded.
type ReportedEvent struct {
	Event Event
	At    time.Time
}

// Judge evaluates an input as the life cycle does at a stage: by the capability contract, and before the
// call by the frozen policy for sessions that cannot choose a model. ok is false when an offer has
// nothing to say; the same input always gives the same result.
func (w *WorkerDispatch) Judge(stage DispatchStage, in capability.Input) (r capability.Result, ok bool) {
	if stage == StageOffer {
		r, ok = capability.Preflight(in)
		return r, !ok
	}
	r = capability.Evaluate(in)
	open := r.Action == capability.ActionAttempt || r.Action == capability.ActionWait
	if open && w.Policy.OnModelUnsupported != ModelInherit && in.Request.ModelSelectionNeed != capability.ModelInheritedOK &&
		in.CapabilityFacts.WorkerModelOverride == capability.Unsupported {
		r = capability.Withhold(in, capability.ModelOverrideUnsupported,
			"A model tier is needed, the session cannot choose one, and the dispatch does not allow to inherit the session's.")
	}
	if r.Action == capability.ActionAttempt || r.Action == capability.ActionWait || r.Action == capability.ActionSettle {
		given := authorizations(&in.Request)
		for _, receipt := range w.AuthorizationReceipts {
			a, known := given[receipt.Authorization]
			if known && *a == capability.Authorized && !slices.Contains(r.Outcome.AuthorizationReceipts, receipt.Ref) {
				r.Outcome.AuthorizationReceipts = append(r.Outcome.AuthorizationReceipts, receipt.Ref)
			}
		}
	}
	return r, true
}

// RefuseDispatch says why a dispatch may not even be offered at now, nil when it may: the first check of
// its authorizations, packet and mutation scope. The capability is unknown at this stage. A verifier's
// request, which is derived, asks for nothing more.
func RefuseDispatch(w *WorkerDispatch, now time.Time) *contracts.Error {
	if w == nil {
		return nil
	}
	r, refused := w.Judge(StageOffer, w.input(PurposeWork, now))
	if !refused {
		return nil
	}
	code := r.Outcome.ReasonCodes[0]
	said, _ := capability.Explain(code)
	why := strings.Join(r.Diagnostics, " ")
	if why == "" {
		why = said.Sentence
	}
	e := contracts.Refuse(contracts.CodeDispatchRefused, "%s %s", why, said.Remedy)
	e.Reason = string(code)
	var err error
	if e.Outcome, err = canonjson.Marshal(r.Outcome); err != nil {
		// An outcome is made of the contract's words and of refs that were validated.
		panic("unmarshallable outcome: " + err.Error())
	}
	return e
}

// input is the evaluator's input of an attempt of whose session nothing is known. Every claim is asked
// for, so that the result lists all that may not be said.
func (w *WorkerDispatch) input(p Purpose, now time.Time) capability.Input {
	receipts := make(map[string]capability.ScopeReceipt, len(w.ScopeReceipts))
	for ref, r := range w.ScopeReceipts {
		receipts[ref] = capability.ScopeReceipt(r)
	}
	return capability.Input{
		Now: instant(now), Request: w.For(p), Packet: w.Packet, ScopeReceipts: receipts,
		DispatchPolicy: capability.DispatchPolicy{MaxCapacityAttempts: *w.Policy.MaxCapacityAttempts},
		FallbackMode:   capability.ModeInline, ClaimsRequested: capability.Claims(),
	}
}

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// session puts into an input what a report says of a session. A report that does not name its host and
// tool is about nobody's session, and proves nothing.
func session(in *capability.Input, r *capability.Report) *capability.SessionIdentity {
	if r == nil || !r.SessionIdentity.Complete() {
		return nil
	}
	in.Discovery, in.CapabilityFacts = r.Discovery, r.CapabilityFacts
	return &r.SessionIdentity
}

// waited counts the reports of no capacity that got no further, and says when the first of them came.
func waited(reported []ReportedEvent) (n int, since time.Time) {
	for _, e := range reported {
		if r := e.Event.CapabilityReport; e.Event.State == EventPreparing && r != nil && r.Capacity == capability.CapacityLimited {
			if n++; n == 1 {
				since = e.At
			}
		}
	}
	return n, since
}

func attempts(limited int, last ...capability.AttemptResult) []capability.Attempt {
	out := make([]capability.Attempt, 0, limited+len(last))
	for range limited {
		out = append(out, capability.Attempt{Result: capability.AttemptCapacityLimited})
	}
	for _, result := range last {
		out = append(out, capability.Attempt{Result: result})
	}
	return out
}

// uncalled are the live facts of a session that has not taken the call: nil when it has room for it.
func (w *WorkerDispatch) uncalled(in *capability.Input, reported []ReportedEvent, c capability.Capacity, now time.Time) {
	limited, since := waited(reported)
	switch c {
	case capability.CapacityAvailable:
		return
	case capability.CapacityLimited:
		in.Live = &capability.Live{Attempts: attempts(limited), CallStatus: capability.CallNotInvoked}
		// The evaluator bounds the waiting by its number alone; when the time is over, the number is.
		if now.Sub(since) >= time.Duration(*w.Policy.CapacityWaitS)*time.Second {
			in.DispatchPolicy.MaxCapacityAttempts = min(in.DispatchPolicy.MaxCapacityAttempts, limited)
		}
	default:
		in.Live = &capability.Live{Attempts: attempts(limited, capability.AttemptError), CallStatus: capability.CallNotInvoked}
	}
}

// called are the live facts of an accepted call and the observation around it; end is nil when the node
// said nothing at its end, and nothing of the call was seen then.
func called(in *capability.Input, reported []ReportedEvent, end *Event, now time.Time) {
	limited, _ := waited(reported)
	in.Live = &capability.Live{Attempts: attempts(limited, capability.AttemptAccepted), CallStatus: capability.CallFailed}
	var before *StateObservation
	for _, e := range reported {
		if e.Event.State == EventRunning {
			in.Live.InvocationStartedAt = new(instant(e.At))
			before = e.Event.PreObservation
		}
	}
	if end == nil {
		return
	}
	if seen := end.Live; seen != nil {
		in.Live.ObservedContextIsolation, in.Live.ObservedModelSelection = seen.ObservedContextIsolation, seen.ObservedModelSelection
		in.Live.ObservedParallelism, in.Live.OutputValidation = seen.ObservedParallelism, seen.OutputValidation
		if end.State == EventCompleted {
			in.Live.CallStatus = seen.CallStatus
		}
	}
	in.Observation = observation(in.Request.MutationScope, before, end.PostObservation, *in.Live.InvocationStartedAt, now)
}

// wholeState is the surface that a caller watched who compared the whole state, where no single one is
// allowed to change.
const wholeState = "repo:*:state"

// observation joins the two looks at the state. The server's clock says when each was told.
func observation(scope capability.MutationScope, before *StateObservation, after *ChangeObservation, started string, now time.Time) *capability.Observation {
	if before == nil || after == nil {
		return nil
	}
	o := &capability.Observation{
		Source: after.Source, PreStateRef: before.StateRef, PostStateRef: after.StateRef,
		PreStateSHA256: before.StateSHA256, PostStateSHA256: after.StateSHA256,
		PreObservedAt: started, PostObservedAt: instant(now),
		ObservedSurfaces: append([]string{}, after.ObservedSurfaces...),
	}
	if before.Source != capability.ObservedByCaller {
		o.Source = before.Source
	}
	if scope == capability.MutationForbidden {
		o.ObservedSurfaces = append(o.ObservedSurfaces, wholeState)
	}
	if after.ChangedSurfaces != nil {
		o.ChangedSurfaces = []capability.Change{}
	}
	for _, c := range after.ChangedSurfaces {
		if c.RunOwned != nil {
			// Nobody else works in an attempt's own place, and whatever differs there becomes its result.
			c.RunOwned = new(true)
		}
		o.ChangedSurfaces = append(o.ChangedSurfaces, capability.Change(c))
	}
	return o
}
