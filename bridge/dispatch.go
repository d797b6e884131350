// The bridge's part in a dispatch that the capability contract binds: it reports, asks, looks before and
// after the call, and says what it saw. It decides nothing.

package bridge

import (
	"context"
	"errors"
	"time"

	"countersign/contracts/capability"
	"countersign/contracts/workflow"
)

// errNotDispatched ends an attempt that the server has decided against, and ended.
var errNotDispatched = errors.New("the server has decided against the dispatch")

// bound reports whether the capability contract binds the attempt.
func (a *attempt) bound() bool { return a.plan.WorkerDispatch != nil }

// mayWrite reports whether the worker may change anything: both the profile and the dispatch have to
// allow it.
func (a *attempt) mayWrite() bool {
	return a.plan.Profile.AllowWorkspaceWrites &&
		(!a.bound() || a.plan.WorkerDispatch.Request.MutationScope == capability.MutationScoped)
}

// announce reports that the place is prepared, and asks whether the worker may be called. It waits and
// asks again as long as the server says so.
func (a *attempt) announce(ctx context.Context) error {
	if !a.bound() {
		_, err := a.send(ctx, workflow.Event{State: workflow.EventPreparing})
		return err
	}
	for try := 1; ; try++ {
		a.registered = a.runtime.Register(a.job, try)
		answer, err := a.send(ctx, workflow.Event{State: workflow.EventPreparing, CapabilityReport: a.registered.report(time.Now())})
		switch {
		case err != nil:
			return err
		case answer.Decision == nil:
			return failf("dispatch_undecided", "the server did not decide on the report")
		case answer.Decision.Action == capability.ActionAttempt:
			return nil
		case answer.Decision.Action != capability.ActionWait:
			a.log.Warn("the worker is not called", "action", answer.Decision.Action, "codes", answer.Decision.ReasonCodes)
			return errNotDispatched
		}
		a.log.Info("waiting for capacity", "reports", try)
		if err := pause(ctx, capacityPause.wait(try-1, 0)); err != nil {
			return err
		}
	}
}

// capacityPause is how long a session without room for a worker is left alone.
var capacityPause = backoff{first: 400 * time.Millisecond, most: 15 * time.Second}

// starting is the event of a session that runs.
func (a *attempt) starting(session string) workflow.Event {
	e := workflow.Event{State: workflow.EventRunning, ProviderSessionID: &session}
	if a.bound() {
		seen := a.before.observation()
		e.PreObservation = &seen
	}
	return e
}

// testify adds to the terminal event of a call that was made what was seen of it. result is the candidate
// or, where there is none, "" for whatever lies in the worktree.
func (a *attempt) testify(ctx context.Context, e *workflow.Event, result string) error {
	if !a.bound() || !a.called {
		return nil
	}
	live := &workflow.LiveFacts{
		CallStatus: capability.CallFailed, ObservedContextIsolation: a.registered.Isolation, ObservedModelSelection: a.registered.Model,
		// A node runs one attempt at a time.
		ObservedParallelism: capability.ParallelismSerial, OutputValidation: capability.OutputNotApplicable,
	}
	if e.State == workflow.EventCompleted {
		// It was proven before; the payload's own contract is the server's to judge.
		live.CallStatus, live.OutputValidation = capability.CallSucceeded, capability.OutputPassed
	}
	e.Live = live
	after, changes, err := a.lookAfter(ctx, result)
	if err != nil {
		return err
	}
	e.PostObservation = &workflow.ChangeObservation{
		StateObservation: after.observation(), ObservedSurfaces: watched(a.plan.WorkerDispatch.Request.AllowedMutationSurfaces), ChangedSurfaces: changes,
	}
	return nil
}

// lastLook adds to an event that is no result what can still be seen of the call, also when the node
// stops. What cannot be seen stays unproven.
func (a *attempt) lastLook(ctx context.Context, e *workflow.Event) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.node.late)
	defer cancel()
	if err := a.testify(ctx, e, ""); err != nil {
		a.log.Warn("what the worker left could not be looked at", "error", err)
	}
}
