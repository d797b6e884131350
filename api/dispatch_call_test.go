// What becomes of a call that the capability contract binds: waiting, changes, output, expiry, replay.

package api_test

import (
	"net/http"
	"testing"
	"time"

	"countersign/api/apitest"
	"countersign/contracts"
	"countersign/contracts/capability"
	"countersign/contracts/workflow"

	"github.com/stretchr/testify/require"
)

// TestWaitingForCapacity is bounded by number, by time and by the deadline.
func TestWaitingForCapacity(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	t.Run("by number", func(t *testing.T) {
		t.Parallel()
		b, h := onOwnNode(t, s, nil)
		for range 2 {
			a := b.end(h, report(noCapacity))
			require.Equal(t, capability.ActionWait, a.Decision.Action)
			require.Empty(t, a.Decision.ReasonCodes)
			require.Equal(t, workflow.PhasePreparing, a.WorkflowPhase)
		}
		a := b.end(h, report(noCapacity))
		require.Equal(t, []capability.ReasonCode{"dispatch_backpressure_exhausted"}, a.Decision.ReasonCodes)
		b.blockedFor("fallback", "dispatch_backpressure_exhausted")
		kinds := []workflow.EntryKind{}
		for _, e := range b.now().History {
			kinds = append(kinds, e.Kind)
		}
		require.Equal(t, []workflow.EntryKind{"dispatched", "offered", "claimed", "preparing", "preparing", "preparing", "failed", "blocked"}, kinds)
	})
	t.Run("by time", func(t *testing.T) {
		t.Parallel()
		b, h := onOwnNode(t, s, func(w *workflow.WorkerDispatch) { w.Policy.CapacityWaitS = ptr(0) })
		require.Equal(t, capability.ActionFallback, b.end(h, report(noCapacity)).Decision.Action)
		b.blockedFor("fallback", "dispatch_backpressure_exhausted")
	})
	t.Run("in the end there is room", func(t *testing.T) {
		t.Parallel()
		b, h := onOwnNode(t, s, nil)
		b.end(h, report(noCapacity))
		b.end(h, report(noCapacity))
		require.Equal(t, capability.ActionAttempt, b.end(h, report()).Decision.Action)
		b.end(h, started(h))
		require.Equal(t, workflow.PhaseAwaitingVerification, b.end(h, seen(h.Completed(candidate), greetingSurface)).WorkflowPhase)
		require.Equal(t, capability.StatusSucceeded, *b.decision(0).Outcome.Status)
	})
	t.Run("an error after waiting", func(t *testing.T) {
		t.Parallel()
		b, h := onOwnNode(t, s, nil)
		b.end(h, report(noCapacity))
		a := b.end(h, report(func(r *capability.Report) { r.Capacity = capability.CapacityError }))
		require.Equal(t, []capability.ReasonCode{"worker_dispatch_failed"}, a.Decision.ReasonCodes)
	})
	t.Run("by the deadline", func(t *testing.T) {
		t.Parallel()
		b := newBound(t, apitest.Options{Lease: 6 * time.Second, Deadline: 6 * time.Second})
		h := b.Claim()
		require.Equal(t, capability.ActionWait, b.end(h, report(noCapacity)).Decision.Action)
		b.untilBlocked(workflow.ReasonDeadlineExceeded)
		r := b.decision(0)
		require.Equal(t, capability.ActionFallback, r.Action)
		require.Equal(t, []capability.ReasonCode{"dispatch_backpressure_exhausted"}, r.Outcome.ReasonCodes)
		b.sound()
	})
}

// untilBlocked waits until somebody noticed that the attempt is over.
func (b *bound) untilBlocked(reason workflow.Reason) {
	b.t.Helper()
	require.Eventually(b.t, func() bool { return b.now().Phase.Final() }, 60*time.Second, 50*time.Millisecond)
	require.Equal(b.t, reason, *b.now().Reason)
}

// TestResultsThatDoNotStand: a completed call whose settlement says no makes no candidate.
func TestResultsThatDoNotStand(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	forbid := func(w *workflow.WorkerDispatch) {
		w.Request.MutationScope, w.Request.MutationAuthorizationRef, w.Request.AllowedMutationSurfaces = "forbidden", nil, nil
	}
	for name, c := range map[string]struct {
		spec   func(*workflow.WorkerDispatch)
		change func(*workflow.Event)
		codes  []capability.ReasonCode
	}{
		"a file outside": {nil, func(e *workflow.Event) {
			e.PostObservation.ChangedSurfaces = append(e.PostObservation.ChangedSurfaces, workflow.SurfaceChange{Surface: "repo:go.mod:write", RunOwned: ptr(true)})
		}, []capability.ReasonCode{"worker_mutation_scope_violated"}},
		"another effect": {nil, func(e *workflow.Event) { e.PostObservation.ChangedSurfaces[0].Surface = "repo:greeting.txt:delete" },
			[]capability.ReasonCode{"worker_mutation_scope_violated"}},
		"somebody else's, it says": {nil, func(e *workflow.Event) {
			e.PostObservation.ChangedSurfaces = append(e.PostObservation.ChangedSurfaces, workflow.SurfaceChange{Surface: "repo:go.mod:write", RunOwned: ptr(false)})
		}, []capability.ReasonCode{"worker_mutation_scope_violated"}},
		"nobody knows who": {nil, func(e *workflow.Event) {
			e.PostObservation.ChangedSurfaces[0] = workflow.SurfaceChange{Surface: "repo:go.mod:write"}
		}, []capability.ReasonCode{"worker_mutation_unproven"}},
		"an unobserved surface": {nil, func(e *workflow.Event) { e.PostObservation.ObservedSurfaces = []string{greetingSurface} },
			[]capability.ReasonCode{"worker_mutation_unproven"}},
		"the worker's own word": {nil, func(e *workflow.Event) { e.PostObservation.Source = "worker" },
			[]capability.ReasonCode{"worker_mutation_unproven"}},
		"no observation": {nil, func(e *workflow.Event) { e.PostObservation = nil }, []capability.ReasonCode{"worker_mutation_unproven"}},
		"one record for both": {nil, func(e *workflow.Event) { e.PostObservation.StateRef = "git:before" },
			[]capability.ReasonCode{"worker_mutation_unproven"}},
		"a contradiction":    {nil, func(e *workflow.Event) { e.PostObservation.StateSHA256 = digestA }, []capability.ReasonCode{"worker_mutation_unproven"}},
		"a hidden change":    {nil, func(e *workflow.Event) { e.PostObservation.ChangedSurfaces = nil }, []capability.ReasonCode{"worker_mutation_unproven"}},
		"nothing seen":       {nil, func(e *workflow.Event) { e.Live = nil }, []capability.ReasonCode{"isolation_degraded_inherited", "worker_dispatch_failed"}},
		"a failed call":      {nil, func(e *workflow.Event) { e.Live.CallStatus = "failed" }, []capability.ReasonCode{"worker_dispatch_failed"}},
		"bad output":         {nil, func(e *workflow.Event) { e.Live.OutputValidation = "failed" }, []capability.ReasonCode{"worker_output_invalid"}},
		"unchecked output":   {nil, func(e *workflow.Event) { e.Live.OutputValidation = "" }, []capability.ReasonCode{"worker_output_invalid"}},
		"a change forbidden": {forbid, func(*workflow.Event) {}, []capability.ReasonCode{"worker_mutation_scope_violated"}},
		"another result than the base": {forbid, func(e *workflow.Event) {
			e.PostObservation.ChangedSurfaces, e.PostObservation.StateSHA256 = nil, digestA
		}, []capability.ReasonCode{"worker_mutation_unproven"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, h := onOwnNode(t, s, c.spec)
			b.end(h, report())
			b.end(h, started(h))
			e := seen(h.Completed(candidate), greetingSurface)
			c.change(&e)
			a := b.end(h, e)
			require.Equal(t, workflow.PhaseBlocked, a.WorkflowPhase)
			require.Equal(t, workflow.ReasonWorkerDispatch, a.Reason)
			require.Equal(t, capability.ActionSettle, a.Decision.Action)
			require.ElementsMatch(t, c.codes, a.Decision.ReasonCodes)
			b.blockedFor(capability.ActionSettle, c.codes...)
			r := b.decision(0)
			require.False(t, r.ResultPromotable)
			require.Equal(t, capability.CoverageNone, r.Outcome.CoverageClaim)
		})
	}
	t.Run("nothing to change", func(t *testing.T) {
		t.Parallel()
		b, h := onOwnNode(t, s, forbid)
		b.end(h, report())
		b.end(h, started(h))
		e := seen(h.Completed(h.Plan.BaseCommit))
		e.PostObservation.ObservedSurfaces = nil
		a := b.end(h, e)
		require.Equal(t, workflow.PhaseAwaitingVerification, a.WorkflowPhase)
		require.Empty(t, a.Decision.ReasonCodes)
	})
	t.Run("a look before the call that is the worker's own", func(t *testing.T) {
		t.Parallel()
		b, h := onOwnNode(t, s, nil)
		b.end(h, report())
		own := started(h)
		own.PreObservation.Source = "worker"
		b.end(h, own)
		a := b.end(h, seen(h.Completed(candidate), greetingSurface))
		require.Equal(t, []capability.ReasonCode{"worker_mutation_unproven"}, a.Decision.ReasonCodes)
		b.blockedFor(capability.ActionSettle, "worker_mutation_unproven")
	})
}

// TestFailuresAfterACall keep their own reason, and settle the call.
func TestFailuresAfterACall(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	for name, c := range map[string]struct {
		event  workflow.Event
		reason workflow.Reason
		codes  []capability.ReasonCode
	}{
		"failed":      {workflow.Event{State: workflow.EventFailed, Reason: ptr("It broke.")}, "attempt_failed", []capability.ReasonCode{"worker_dispatch_failed"}},
		"interrupted": {workflow.Event{State: workflow.EventInterrupted, Reason: ptr("Stopped.")}, "attempt_interrupted", []capability.ReasonCode{"worker_dispatch_failed"}},
		"refused": {workflow.Event{State: workflow.EventFailed, Refusal: []byte(`{"contract":"worker-completion/v1","kind":"underspecified","detail":"d","question":"q?"}`)},
			"refused_underspecified", []capability.ReasonCode{"worker_dispatch_failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, h := onOwnNode(t, s, nil)
			b.end(h, report())
			b.end(h, started(h))
			e := seen(c.event)
			e.ProviderSessionID = &h.Session
			a := b.end(h, e)
			require.Equal(t, c.reason, a.Reason)
			require.ElementsMatch(t, c.codes, a.Decision.ReasonCodes)
			require.False(t, b.decision(0).ResultPromotable)
		})
	}
	t.Run("a payload outside its contract", func(t *testing.T) {
		t.Parallel()
		b, h := onOwnNode(t, s, nil)
		b.end(h, report())
		b.end(h, started(h))
		e := seen(h.Completed(candidate), greetingSurface)
		e.Completion = []byte(`{"contract":"worker-completion/v1","kind":"completion"}`)
		apitest.Refused(t, http.StatusUnprocessableEntity, contracts.CodeContractViolation, h.Event(e))
		require.Equal(t, []capability.ReasonCode{"worker_output_invalid"}, b.decision(0).Outcome.ReasonCodes)
		require.Equal(t, workflow.ReasonContractViolation, *b.now().Reason)
	})
	t.Run("before any call", func(t *testing.T) {
		t.Parallel()
		b, h := onOwnNode(t, s, nil)
		a := b.end(h, workflow.Event{State: workflow.EventFailed, Reason: ptr("No disk.")})
		require.Nil(t, a.Decision)
		require.Nil(t, b.now().WorkerDispatch)
	})
	t.Run("evidence is missing", func(t *testing.T) {
		t.Parallel()
		b, h := onOwnNode(t, s, nil)
		b.end(h, report())
		b.end(h, started(h))
		e := seen(h.Completed(candidate), greetingSurface)
		e.CleanWorkspace = nil
		a := b.end(h, e)
		require.Equal(t, workflow.ReasonEvidenceMissing, a.Reason)
		require.Equal(t, capability.StatusSucceeded, *b.decision(0).Outcome.Status)
	})
}

// TestVerifiersHaveToBeIndependent: a verdict of one that changed something, or was not seen to be
// isolated, is none, whatever it says.
func TestVerifiersHaveToBeIndependent(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	for name, c := range map[string]struct {
		change func(*workflow.Event)
		code   capability.ReasonCode
	}{
		"changed a file": {func(e *workflow.Event) {
			*e = seen(*e, greetingSurface)
		}, "worker_mutation_scope_violated"},
		"inherited its context": {func(e *workflow.Event) { e.Live.ObservedContextIsolation = "inherited" }, "isolation_requirement_unmet"},
		"unknown isolation":     {func(e *workflow.Event) { e.Live.ObservedContextIsolation = "" }, "isolation_requirement_unmet"},
		"observed itself":       {func(e *workflow.Event) { e.PostObservation.Source = "verifier" }, "worker_mutation_unproven"},
		"unobserved":            {func(e *workflow.Event) { e.PostObservation = nil }, "worker_mutation_unproven"},
	} {
		for verdict, failing := range map[string][]string{"pass": nil, "fail": {"tests"}} {
			t.Run(name+" "+verdict, func(t *testing.T) {
				t.Parallel()
				b, h := onOwnNode(t, s, nil)
				b.end(h, report())
				b.end(h, started(h))
				require.Equal(t, workflow.PhaseAwaitingVerification, b.end(h, seen(h.Completed(candidate), greetingSurface)).WorkflowPhase)
				v := b.verifier()
				require.Equal(t, capability.MutationForbidden, v.Plan.WorkerDispatch.Request.MutationScope)
				require.Equal(t, capability.IsolationRequired, v.Plan.WorkerDispatch.Request.ContextIsolationNeed)
				e := judged(v, failing...)
				c.change(&e)
				a := b.end(v, e)
				require.Equal(t, workflow.PhaseBlocked, a.WorkflowPhase)
				require.Equal(t, workflow.ReasonWorkerDispatch, a.Reason)
				require.Contains(t, a.Decision.ReasonCodes, c.code)
				d := b.now()
				require.Len(t, d.Attempts, 2, "no correction is offered")
				require.Nil(t, d.ReceiptID)
				require.Empty(t, d.Feedback)
				require.Equal(t, capability.GateOpen, d.WorkerDispatch.IndependenceGate)
				require.Contains(t, d.WorkerDispatch.ClaimsDenied, capability.ClaimIndependent)
				apitest.Refused(t, http.StatusNotFound, contracts.CodeNotFound, b.Operator("GET", "/v1/tasks/"+b.TaskID+"/receipt", nil))
			})
		}
	}
}

// TestAStaleScopeStopsTheCorrection: the receipt is asked again at the second offer.
func TestAStaleScopeStopsTheCorrection(t *testing.T) {
	t.Parallel()
	fresh := 20 * time.Second
	b := newBound(t, apitest.Options{}, func(w *workflow.WorkerDispatch) { *w = *workerDispatch(fresh) })
	expires, err := time.Parse(time.RFC3339Nano, b.spec.WorkerDispatch.ScopeReceipts["scope/task.json"].FreshnessExpiresAt)
	require.NoError(t, err)
	b.work()
	h := b.verifier()
	require.Eventually(t, func() bool {
		var now time.Time
		require.NoError(t, b.Pool.QueryRow(t.Context(), `SELECT clock_timestamp()`).Scan(&now))
		return !now.Before(expires)
	}, time.Minute, 20*time.Millisecond)
	a := b.end(h, judged(h, "tests"))
	require.Equal(t, workflow.PhaseBlocked, a.WorkflowPhase)
	require.Equal(t, workflow.ReasonWorkerDispatch, a.Reason)
	require.Empty(t, a.Decision.ReasonCodes, "the verifier itself did well")
	d := b.now()
	require.Len(t, d.Attempts, 2)
	require.Equal(t, workflow.StageOffer, d.WorkerDispatch.Stage)
	require.Equal(t, []capability.ReasonCode{"worker_mutation_unproven"}, d.WorkerDispatch.ReasonCodes)
	require.Equal(t, "tests", failed(d), "what the verdict found is kept")
	require.Contains(t, string(d.History[len(d.History)-1].Data), "worker_mutation_unproven")
	b.sound()
}

func failed(d workflow.Detail) (ids string) {
	for _, f := range d.Feedback {
		if f.Outcome == workflow.CriterionFail {
			ids += f.CriterionID
		}
	}
	return ids
}

// TestAnEndWithoutAWordSettlesTheCall: lease, cancel and revocation.
func TestAnEndWithoutAWordSettlesTheCall(t *testing.T) {
	t.Parallel()
	lost := []capability.ReasonCode{"worker_mutation_unproven", "worker_dispatch_failed"}
	end := func(t *testing.T, o apitest.Options, reason workflow.Reason, how func(*bound)) *bound {
		b := newBound(t, o, func(w *workflow.WorkerDispatch) { w.Request.ContextIsolationNeed = "irrelevant" })
		b.held = b.run()
		how(b)
		require.Eventually(t, func() bool { return b.now().Phase.Final() }, 60*time.Second, 50*time.Millisecond)
		if d := b.now(); reason == "" {
			require.Equal(t, workflow.PhaseCancelled, d.Phase)
		} else {
			require.Equal(t, reason, *d.Reason)
		}
		r := b.decision(0)
		require.Equal(t, workflow.StageSettle, r.Stage)
		require.ElementsMatch(t, lost, r.Outcome.ReasonCodes)
		require.Equal(t, capability.MutationUnproven, r.Outcome.MutationObservation)
		require.False(t, r.ResultPromotable)
		b.sound()
		return b
	}
	t.Run("lease", func(t *testing.T) {
		t.Parallel()
		b := end(t, apitest.Options{Lease: 6 * time.Second}, workflow.ReasonLeaseExpired, func(*bound) {})
		late := b.held.Event(seen(b.held.Completed(candidate), greetingSurface))
		apitest.Refused(t, http.StatusConflict, contracts.CodeExecutionTerminal, late)
		require.ElementsMatch(t, lost, b.decision(0).Outcome.ReasonCodes, "a late word changes nothing")
	})
	t.Run("a call that runs into it", func(t *testing.T) {
		t.Parallel()
		end(t, apitest.Options{Lease: 6 * time.Second, NoSweeper: true}, workflow.ReasonLeaseExpired, func(b *bound) {
			require.Eventually(t, func() bool { return b.now().Attempts[0].LeaseExpired || b.now().Phase.Final() }, 60*time.Second, 20*time.Millisecond)
			a := b.held.Event(seen(b.held.Completed(candidate), greetingSurface))
			require.Equal(t, http.StatusConflict, a.Status)
		})
	})
	t.Run("cancel", func(t *testing.T) {
		t.Parallel()
		end(t, apitest.Options{}, "", func(b *bound) {
			require.Equal(t, http.StatusOK, b.Control(b.TaskID, workflow.ControlCancel).Status)
		})
	})
	t.Run("revocation", func(t *testing.T) {
		t.Parallel()
		end(t, apitest.Options{}, workflow.ReasonNodeRevoked, func(b *bound) {
			wc := b.WriteContext()
			a := b.Operator("PATCH", "/v1/nodes/"+b.Node.ID, workflow.PatchNode{Status: ptr(workflow.NodeRevoked), WriteContext: &wc})
			require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
		})
	})
}

// TestReplayedEventsGiveTheRecordedDecision, also after the end, byte for byte.
func TestReplayedEventsGiveTheRecordedDecision(t *testing.T) {
	t.Parallel()
	b := newBound(t, apitest.Options{})
	h := b.Claim()
	events := []workflow.Event{report(noCapacity), report(), started(h), seen(h.Completed(candidate), greetingSurface)}
	var answers [][]byte
	for i := range events {
		events[i].Fence, events[i].Sequence = h.Fence(), i+1
		a := h.Post("events", events[i])
		require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
		answers = append(answers, a.Body)
		again := h.Post("events", events[i])
		require.Equal(t, http.StatusOK, again.Status)
		require.Equal(t, string(a.Body), string(again.Body))
	}
	for i := range events {
		require.Equal(t, string(answers[i]), string(h.Post("events", events[i]).Body))
	}
	other := events[0]
	other.CapabilityReport.Capacity = capability.CapacityAvailable
	apitest.Refused(t, http.StatusConflict, contracts.CodeExecutionTerminal, h.Post("events", other))
	require.Equal(t, 3, count(t, b.Stack, `SELECT count(*) FROM dispatch_decisions`))
	_, err := b.Pool.Exec(t.Context(), `UPDATE dispatch_decisions SET action = 'settle'`)
	require.ErrorContains(t, err, "never changed")
	_, err = b.Pool.Exec(t.Context(), `DELETE FROM dispatch_decisions`)
	require.ErrorContains(t, err, "never changed")
}

// TestNothingOfItWithoutAWorkerDispatch: an ordinary revision takes none of it.
func TestNothingOfItWithoutAWorkerDispatch(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	d := s.DispatchTask()
	h := s.Claim()
	refusedEvent(t, h, report(), http.StatusUnprocessableEntity, contracts.CodeInvalid, "$.capability_report")
	apitest.Into[workflow.EventAnswer](t, http.StatusOK, h.Event(workflow.Event{State: workflow.EventPreparing}))
	refusedEvent(t, h, started(h), http.StatusUnprocessableEntity, contracts.CodeInvalid, "$.pre_observation")
	apitest.Into[workflow.EventAnswer](t, http.StatusOK, h.Event(workflow.Event{State: workflow.EventRunning, ProviderSessionID: &h.Session}))
	refusedEvent(t, h, seen(h.Completed(candidate)), http.StatusUnprocessableEntity, contracts.CodeInvalid, "$.post_observation")
	a := apitest.Into[workflow.EventAnswer](t, http.StatusOK, h.Event(h.Completed(candidate)))
	require.Nil(t, a.Decision)
	require.Nil(t, s.Detail(d.TaskID).WorkerDispatch)
	// And each part has its place.
	b := newBound(t, apitest.Options{})
	h = b.Claim()
	e := report()
	e.PreObservation = started(h).PreObservation
	refusedEvent(t, h, e, http.StatusUnprocessableEntity, contracts.CodeInvalid, "$.pre_observation")
	e = report()
	e.Live = seen(workflow.Event{}).Live
	refusedEvent(t, h, e, http.StatusUnprocessableEntity, contracts.CodeInvalid, "$.live")
}

// TestMissingDecisionsShow: a report and a call that nothing was decided on any more are found.
func TestMissingDecisionsShow(t *testing.T) {
	t.Parallel()
	b := newBound(t, apitest.Options{})
	b.work()
	b.end(b.verifier(), judged(b.held))
	require.Equal(t, workflow.PhaseAccepted, b.now().Phase)
	b.sound()
	_, err := b.Pool.Exec(t.Context(), `ALTER TABLE dispatch_decisions DISABLE TRIGGER dispatch_decisions_stay`)
	require.NoError(t, err)
	for want, stage := range []string{"", "preparing", "settle"} {
		_, err := b.Pool.Exec(t.Context(), `DELETE FROM dispatch_decisions WHERE stage = $1`, stage)
		require.NoError(t, err)
		findings, err := b.Store.Fsck(t.Context())
		require.NoError(t, err)
		require.Len(t, findings, 2*want, "of the worker and of its verifier")
		for _, f := range findings {
			require.Equal(t, "dispatches_are_decided", f.Rule)
		}
	}
}
