// The machine under the worker dispatch capability contract: whatever comes, nothing counts that was not
// decided, observed and settled so.

package workflow_test

import (
	"testing"
	"time"

	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/capability"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const (
	surface = "repo:a.txt:write"
	told    = "the node's own words"
	before  = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
	after   = "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d"
)

// dispatchFor lets a worker write one file, on a receipt that expires at a time.
func dispatchFor(expires time.Time) *workflow.WorkerDispatch {
	return &workflow.WorkerDispatch{
		Contract: capability.Version,
		Request: workflow.WorkerRequest{
			WorkerDispatchAuthorization: capability.Authorized, ProviderTrustDomain: capability.DomainHostNative, DesiredConcurrency: capability.ParallelismSerial,
			ContextIsolationNeed: capability.IsolationPreferred, ModelSelectionNeed: capability.ModelInheritedOK,
			MutationScope: capability.MutationScoped, MutationAuthorizationRef: ptr("scope"), AllowedMutationSurfaces: []string{surface},
		},
		AuthorizationReceipts: []workflow.AuthorizationReceipt{{Authorization: "worker_dispatch_authorization", Ref: "r", Basis: "b"}},
		ScopeReceipts: map[string]workflow.ScopeReceipt{"scope": {
			AuthorityOrigin: "current-task:t", CapturedAt: "2025-12-31T00:00:00Z", FreshnessExpiresAt: expires.Format(time.RFC3339), AllowedMutationSurfaces: []string{surface},
		}},
		Policy: workflow.DispatchPolicy{MaxCapacityAttempts: ptr(3), CapacityWaitS: ptr(60), OnModelUnsupported: workflow.ModelFail},
	}
}

// bind makes the world's contract one with a worker_dispatch.
func (w *world) bind(d *workflow.WorkerDispatch) *world {
	w.contract.WorkerDispatch, w.reported = d, map[string][]workflow.ReportedEvent{}
	w.state.Active.Dispatch = workflow.DispatchUndecided
	w.attempts["x0"].Dispatch = workflow.DispatchUndecided
	w.holds = w.holdsBound
	return w
}

// goodReport is one that lets an attempt go on.
func goodReport() *capability.Report {
	quoted := capability.Quote(map[string]string{"name": "worker", "description": told}).Candidate("worker")
	quoted.PromptLikeDirective = ptr(false)
	quoted.Eligibility = capability.Eligibility{
		SelfContainedPacket: ptr(true), BoundedStop: ptr(true), MutationScopeExpressible: ptr(true), ReadableOutput: ptr(true), NoHostMapping: ptr(true),
	}
	return &capability.Report{
		SessionIdentity: capability.SessionIdentity{Host: "h", HostVersion: "1", Tool: "t", ToolVersion: "1", Contract: capability.Version},
		Discovery: &capability.Discovery{
			Surface: capability.DiscoveryPresent, CaptureMethod: capability.CaptureToolRegistry, SchemaCompleteness: capability.CompletenessConfirmed,
			CompletenessBasis: ptr(told), Candidates: []capability.Candidate{quoted},
		},
		CapabilityFacts: capability.CapabilityFacts{WorkerContextIsolation: capability.IsolationIsolated, WorkerModelOverride: capability.Supported},
		Capacity:        capability.CapacityAvailable,
	}
}

// dressed adds to an event what a node in order says at that point.
func dressed(a *workflow.Attempt, e *workflow.Event) {
	look := workflow.StateObservation{Source: capability.ObservedByCaller, StateRef: "1", StateSHA256: before}
	switch e.State {
	case workflow.EventPreparing:
		e.CapabilityReport = goodReport()
	case workflow.EventRunning:
		e.PreObservation = &look
	case workflow.EventCompleted:
		e.Live = &workflow.LiveFacts{
			CallStatus: capability.CallSucceeded, ObservedContextIsolation: capability.IsolationIsolated, ObservedModelSelection: capability.ModelInherited,
			ObservedParallelism: capability.ParallelismSerial, OutputValidation: capability.OutputPassed,
		}
		look.StateRef = "2"
		e.PostObservation = &workflow.ChangeObservation{StateObservation: look, ObservedSurfaces: []string{surface}, ChangedSurfaces: []workflow.SurfaceChange{}}
		if a.Purpose == workflow.PurposeWork {
			e.PostObservation.StateSHA256 = after
			e.PostObservation.ChangedSurfaces = []workflow.SurfaceChange{{Surface: surface, RunOwned: ptr(true)}}
		}
	}
}

// holdsBound is what must be true of every step under the contract.
func (w *world) holdsBound(t require.TestingT, was workflow.State, d workflow.Decision) {
	step := d.Step
	var settled, offer *workflow.DispatchRecord
	for i := range d.Judged {
		r := &d.Judged[i].Record
		require.Equal(t, canonjson.Digest(d.Judged[i].Input), r.InputSHA256)
		in, err := capability.Decode(d.Judged[i].Input)
		require.NoError(t, err)
		again, said := w.contract.WorkerDispatch.Judge(r.Stage, in)
		require.True(t, said)
		require.Equal(t, again.Outcome, r.Outcome, "the stored input leads to the stored outcome")
		require.ElementsMatch(t, capability.Claims(), in.ClaimsRequested)
		switch r.Stage {
		case workflow.StageSettle:
			require.Nil(t, settled, "a call is settled once")
			settled = r
		case workflow.StageOffer:
			offer = r
		}
	}
	ran := was.Active != nil && was.Active.Phase == workflow.AttemptRunning
	require.Equal(t, ran && step.Ended != nil, settled != nil && settled.Action == capability.ActionSettle, "a call that was made is settled when it ends, and no other")
	if a := step.Active; a != nil {
		require.NotEmpty(t, a.Dispatch)
		if a.Phase == workflow.AttemptRunning {
			require.Equal(t, workflow.DispatchAttempt, a.Dispatch, "only a decided worker runs")
		}
	}
	if step.CandidateCommit != was.CandidateCommit {
		require.True(t, settled.Stands(), "no candidate without a result that stands")
	}
	if step.Has(workflow.EntryChangesRequested) || step.Phase == workflow.PhaseAccepted {
		require.True(t, settled.Stands() && settled.IndependenceGate == capability.GateClosed, "no verdict counts but an independent one")
	}
	if step.Has(workflow.EntryChangesRequested) {
		require.Nil(t, offer)
		expires, err := time.Parse(time.RFC3339, w.contract.WorkerDispatch.ScopeReceipts["scope"].FreshnessExpiresAt)
		require.NoError(t, err)
		require.True(t, w.now.Before(expires), "nothing is offered on a stale receipt")
	}
	if step.Reason == workflow.ReasonWorkerDispatch {
		last := d.Judged[len(d.Judged)-1].Record
		require.NotEmpty(t, last.Outcome.ReasonCodes)
		require.Equal(t, last.Outcome.ReasonCodes, d.Entries[len(d.Entries)-1].Data["reason_codes"])
	}
	// The step goes to Temporal: it holds none of the node's words.
	data, err := json.Marshal(step)
	require.NoError(t, err)
	require.NotContains(t, string(data), told)
	require.NotContains(t, string(data), surface)
}

func TestTheMachineKeepsTheCapabilityContract(t *testing.T) {
	t.Parallel()
	accepted, corrected, refused := 0, 0, 0
	for tries := 0; tries < 200 && (accepted == 0 || corrected == 0 || refused == 0); tries++ {
		rapid.Check(t, func(t *rapid.T) {
			w := newWorld(2)
			w.bind(dispatchFor(w.now.Add(time.Duration(rapid.IntRange(20, 400).Draw(t, "fresh")) * time.Second)))
			w.dress = spoiled
			w.walk(t)
			switch {
			case w.state.Phase == workflow.PhaseAccepted:
				accepted++
			case w.state.Reason == workflow.ReasonWorkerDispatch:
				refused++
			}
			if w.state.WorkAttempts == 2 {
				corrected++
			}
		})
	}
	require.NotZero(t, accepted)
	require.NotZero(t, corrected)
	require.NotZero(t, refused)
}

// spoiled dresses an event up and, now and then, takes something away or puts something wrong in.
func spoiled(t *rapid.T, a *workflow.Attempt, e *workflow.Event) {
	if a.Phase == workflow.AttemptPreparing && a.Dispatch == workflow.DispatchWait && rapid.IntRange(0, 9).Draw(t, "again") > 0 {
		e.State, e.ProviderSessionID = workflow.EventPreparing, nil
	}
	dressed(a, e)
	if rapid.IntRange(0, 5).Draw(t, "spoil") > 0 {
		return
	}
	which := rapid.IntRange(0, 5).Draw(t, "how")
	switch {
	case e.CapabilityReport != nil:
		r := e.CapabilityReport
		[]func(){
			func() { e.CapabilityReport = nil }, func() { r.Discovery = nil }, func() { r.Capacity = capability.CapacityLimited },
			func() { r.Capacity = capability.CapacityLimited }, func() { r.Capacity = "" }, func() { r.SessionIdentity.Tool = "" },
		}[which]()
	case e.PreObservation != nil:
		[]func(){
			func() { e.PreObservation = nil }, func() { e.PreObservation.Source = "worker" }, func() { e.PreObservation.StateRef = "2" },
			func() {}, func() {}, func() {},
		}[which]()
	case e.PostObservation != nil:
		p := e.PostObservation
		[]func(){
			func() { e.PostObservation = nil }, func() { p.Source = "worker" }, func() { e.Live = nil },
			func() { e.Live.ObservedContextIsolation = capability.IsolationInherited },
			func() {
				p.ChangedSurfaces = append(p.ChangedSurfaces, workflow.SurfaceChange{Surface: "repo:b:write", RunOwned: ptr(true)})
			},
			func() { p.ObservedSurfaces = nil },
		}[which]()
	}
}

// play is a world whose node does everything in order, event by event.
type play struct {
	*world
	t *testing.T
}

// inOrder runs f in a world with the dispatch.
func inOrder(t *testing.T, d *workflow.WorkerDispatch, f func(p *play)) {
	t.Helper()
	f(&play{newWorld(2).bind(d), t})
}

// later lets time pass while the lease is renewed.
func (p *play) later(d time.Duration) {
	p.now = p.now.Add(d)
	renewed := *p.state.Active
	renewed.LeaseExpiresAt = p.now.Add(time.Minute)
	p.state.Active, p.attempts[renewed.ExecutionID] = &renewed, &renewed
}

var far = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)

func (p *play) claim() {
	d := p.do(p.t, workflow.Command{Kind: workflow.CommandClaim, ExecutionID: p.state.Active.ExecutionID, ClaimID: "c"}, nil)
	require.NotNil(p.t, d.Step)
}

// send hands in the active attempt's next event after the change.
func (p *play) send(state workflow.EventState, change func(*workflow.Event)) workflow.Decision {
	a := p.state.Active
	e := &workflow.Event{Fence: workflow.Fence{LeaseID: a.LeaseID, FencingToken: a.FencingToken}, Sequence: a.LastEvent + 1, State: state}
	session := "p" + a.ExecutionID
	if state != workflow.EventPreparing {
		e.ProviderSessionID = &session
	}
	if state == workflow.EventCompleted {
		e.ExitCode, e.ResultCommit, e.EvidencePath, e.CleanWorkspace = ptr(0), ptr("commit"), ptr("e"), ptr(true)
		if a.Purpose == workflow.PurposeVerify {
			e.ResultCommit = ptr(p.state.CandidateCommit)
			e.Verdict = &workflow.Verdict{
				ContractDigest: "d", CandidateCommit: p.state.CandidateCommit, WorkerExecutionID: p.state.WorkerExecutionID, VerifierExecutionID: a.ExecutionID,
				Results: []workflow.VerdictResult{{CriterionID: "a", Outcome: "fail", Feedback: "f"}, {CriterionID: "b", Outcome: "pass", Feedback: "f"}},
			}
		}
	}
	dressed(a, e)
	if change != nil {
		change(e)
	}
	return p.do(p.t, workflow.Command{Kind: workflow.CommandEvent, ExecutionID: a.ExecutionID, Sequence: e.Sequence}, e)
}

func (p *play) run() {
	p.claim()
	require.Equal(p.t, capability.ActionAttempt, p.send(workflow.EventPreparing, nil).Step.Answer.Event.Decision.Action)
	require.NotNil(p.t, p.send(workflow.EventRunning, nil).Step)
}

func codesOf(d workflow.Decision) []capability.ReasonCode {
	return d.Judged[len(d.Judged)-1].Record.Outcome.ReasonCodes
}

// TestFreshnessAtEachStage: the receipt has to be fresh at the offer, at the report and at the start.
func TestFreshnessAtEachStage(t *testing.T) {
	t.Parallel()
	start := newWorld(1).now
	expires := start.Add(40 * time.Second)
	stale := []capability.ReasonCode{capability.WorkerMutationUnproven}
	require.Nil(t, workflow.RefuseDispatch(dispatchFor(expires), expires.Add(-time.Second)))
	refused := workflow.RefuseDispatch(dispatchFor(expires), expires)
	require.Equal(t, contracts.CodeDispatchRefused, refused.Code)
	require.Equal(t, string(capability.WorkerMutationUnproven), refused.Reason)
	require.Nil(t, workflow.RefuseDispatch(nil, expires))
	inOrder(t, dispatchFor(expires), func(p *play) {
		p.claim()
		p.now = expires
		d := p.send(workflow.EventPreparing, nil)
		require.Equal(t, stale, codesOf(d))
		require.Equal(t, capability.ActionBlock, d.Step.Answer.Event.Decision.Action)
		require.Equal(t, workflow.ReasonWorkerDispatch, p.state.Reason)
	})
	inOrder(t, dispatchFor(expires), func(p *play) {
		p.claim()
		p.send(workflow.EventPreparing, nil)
		p.now = expires
		p.send(workflow.EventRunning, nil)
		d := p.send(workflow.EventCompleted, nil)
		require.Equal(t, stale, codesOf(d), "it started on a stale receipt")
		require.Empty(t, p.state.CandidateCommit)
	})
	inOrder(t, dispatchFor(expires), func(p *play) {
		p.run()
		p.now = expires.Add(time.Second)
		require.Empty(t, codesOf(p.send(workflow.EventCompleted, nil)), "it was fresh when the call started")
		require.Equal(t, workflow.PhaseAwaitingVerification, p.state.Phase)
		p.run()
		d := p.send(workflow.EventCompleted, nil)
		require.Equal(t, stale, codesOf(d), "no correction on a stale receipt")
		require.Equal(t, workflow.StageOffer, d.Judged[len(d.Judged)-1].Record.Stage)
		require.Equal(t, workflow.ReasonWorkerDispatch, p.state.Reason)
		require.Equal(t, 1, p.state.WorkAttempts)
	})
}

// TestAnAbsentListOfChangesSaysNothing: only an empty one says that nothing changed.
func TestAnAbsentListOfChangesSaysNothing(t *testing.T) {
	t.Parallel()
	const body = `{"lease_id":"l","fencing_token":1,"sequence":3,"state":"failed","reason":"r","post_observation":{"source":"caller",
		"state_ref":"2","state_sha256":"` + before + `","observed_at":"2026-01-01T00:00:00Z","observed_surfaces":["` + surface + `"]`
	for list, want := range map[string][]capability.ReasonCode{
		``: {capability.WorkerMutationUnproven}, `,"changed_surfaces":null`: {capability.WorkerMutationUnproven}, `,"changed_surfaces":[]`: {},
	} {
		told, err := workflow.DecodeEvent([]byte(body + list + `}}`))
		require.NoError(t, err)
		inOrder(t, dispatchFor(far), func(p *play) {
			p.run()
			d := p.send(workflow.EventCompleted, func(e *workflow.Event) { e.PostObservation = told.PostObservation })
			require.Equal(t, want, codesOf(d), list)
			require.Equal(t, len(want) == 0, p.state.CandidateCommit != "", list)
		})
	}
}

// TestCapacityIsWaitedForInBounds: three reports, or a minute from the first.
func TestCapacityIsWaitedForInBounds(t *testing.T) {
	t.Parallel()
	limited := func(e *workflow.Event) { e.CapabilityReport.Capacity = capability.CapacityLimited }
	for _, gap := range []time.Duration{0, 29 * time.Second, 30 * time.Second, 59 * time.Second, 60 * time.Second} {
		inOrder(t, dispatchFor(far), func(p *play) {
			p.claim()
			reports := 0
			for p.state.Active != nil {
				if reports > 0 {
					p.later(gap)
				}
				reports++
				d := p.send(workflow.EventPreparing, limited)
				if p.state.Active != nil {
					require.Equal(t, capability.ActionWait, d.Step.Answer.Event.Decision.Action)
					require.Empty(t, codesOf(d))
					continue
				}
				require.Equal(t, []capability.ReasonCode{capability.DispatchBackpressureExhausted}, codesOf(d))
			}
			want := 3
			if gap >= 60*time.Second {
				want = 2
			}
			require.Equal(t, want, reports, "%v apart", gap)
		})
	}
}

// TestNothingIsDecidedByAnotherContract than the frozen one.
func TestNothingIsDecidedByAnotherContract(t *testing.T) {
	t.Parallel()
	inOrder(t, dispatchFor(far), func(p *play) {
		p.claim()
		p.tampered = true
		require.Equal(t, contracts.CodeInternal, p.send(workflow.EventPreparing, nil).Refusal.Code)
		require.Equal(t, workflow.AttemptClaimed, p.state.Active.Phase)
	})
}

// TestAnEndWhileWaiting: the deadline ends the waiting, a lost lease only the attempt.
func TestAnEndWhileWaiting(t *testing.T) {
	t.Parallel()
	limited := func(e *workflow.Event) { e.CapabilityReport.Capacity = capability.CapacityLimited }
	inOrder(t, dispatchFor(far), func(p *play) {
		p.claim()
		p.send(workflow.EventPreparing, limited)
		a := p.state.Active
		p.now = a.LeaseExpiresAt
		d := p.do(t, workflow.Command{Kind: workflow.CommandExpire, ExecutionID: a.ExecutionID, ActivityID: a.ActivityID}, nil)
		require.Equal(t, workflow.ReasonLeaseExpired, d.Step.Reason)
		require.Empty(t, d.Judged, "nobody was called, and nobody knows whether there would have been room")
	})
	inOrder(t, dispatchFor(far), func(p *play) {
		p.claim()
		p.send(workflow.EventPreparing, limited)
		late := *p.state.Active
		late.LeaseExpiresAt = late.DeadlineAt
		p.state.Active, p.now = &late, late.DeadlineAt
		d := p.do(t, workflow.Command{Kind: workflow.CommandExpire, ExecutionID: late.ExecutionID, ActivityID: late.ActivityID}, nil)
		require.Equal(t, workflow.ReasonDeadlineExceeded, d.Step.Reason)
		require.Equal(t, []capability.ReasonCode{capability.DispatchBackpressureExhausted}, codesOf(d))
		require.Equal(t, capability.ActionFallback, d.Judged[0].Record.Action)
	})
}

// TestAModelThatCannotBeChosen fails unless the contract froze that it may be inherited.
func TestAModelThatCannotBeChosen(t *testing.T) {
	t.Parallel()
	unsupported := func(e *workflow.Event) {
		e.CapabilityReport.CapabilityFacts.WorkerModelOverride = capability.Unsupported
	}
	for policy, want := range map[workflow.ModelPolicy]capability.Action{
		workflow.ModelFail: capability.ActionBlock, "": capability.ActionBlock, workflow.ModelInherit: capability.ActionAttempt,
	} {
		for need, bound := range map[capability.ModelNeed]bool{capability.ModelExplicitTier: true, "": true, capability.ModelInheritedOK: false} {
			d := dispatchFor(far)
			d.Policy.OnModelUnsupported, d.Request.ModelSelectionNeed = policy, need
			inOrder(t, d, func(p *play) {
				p.claim()
				expected := want
				if !bound {
					expected = capability.ActionAttempt
				}
				require.Equal(t, expected, p.send(workflow.EventPreparing, unsupported).Step.Answer.Event.Decision.Action, "%q %q", policy, need)
			})
		}
	}
	// While there is no room either, it fails at once.
	d := dispatchFor(far)
	d.Request.ModelSelectionNeed = capability.ModelExplicitTier
	inOrder(t, d, func(p *play) {
		p.claim()
		p.send(workflow.EventPreparing, func(e *workflow.Event) { unsupported(e); e.CapabilityReport.Capacity = capability.CapacityLimited })
		require.Equal(t, workflow.ReasonWorkerDispatch, p.state.Reason)
	})
}

// TestTheOutcomeNamesTheReceiptsUsed, each once, and no other.
func TestTheOutcomeNamesTheReceiptsUsed(t *testing.T) {
	t.Parallel()
	d := dispatchFor(far)
	d.Request.DataEgressAuthorization, d.Request.RestrictedReadAuthorization = capability.Authorized, capability.AuthorizationNotNeeded
	for _, r := range [][2]string{{"data_egress_authorization", "egress"}, {"data_egress_authorization", "r"}, {"restricted_read_authorization", "unused"}} {
		d.AuthorizationReceipts = append(d.AuthorizationReceipts, workflow.AuthorizationReceipt{Authorization: r[0], Ref: r[1], Basis: "b"})
	}
	inOrder(t, d, func(p *play) {
		p.claim()
		require.Equal(t, []string{"scope", "r", "egress"}, p.send(workflow.EventPreparing, nil).Judged[0].Record.Outcome.AuthorizationReceipts)
		p.send(workflow.EventRunning, nil)
		require.Equal(t, []string{"scope", "r", "egress"}, p.send(workflow.EventCompleted, nil).Judged[0].Record.Outcome.AuthorizationReceipts)
	})
}

// TestADerivedRequestIsStricter: a verifier changes nothing and is isolated, whatever the worker may.
func TestADerivedRequestIsStricter(t *testing.T) {
	t.Parallel()
	d := dispatchFor(far)
	d.Request.DataEgressAuthorization = capability.Authorized
	work, verify := d.For(workflow.PurposeWork), d.For(workflow.PurposeVerify)
	require.Equal(t, capability.AuthorizationMissing, work.DataEgressAuthorization, "it has no receipt")
	require.Equal(t, capability.Authorized, work.WorkerDispatchAuthorization)
	require.Equal(t, capability.MutationScoped, work.MutationScope)
	require.Equal(t, capability.MutationForbidden, verify.MutationScope)
	require.Nil(t, verify.MutationAuthorizationRef)
	require.Empty(t, verify.AllowedMutationSurfaces)
	require.Equal(t, capability.IsolationRequired, verify.ContextIsolationNeed)
	require.Equal(t, capability.Authorized, d.Request.DataEgressAuthorization, "what is frozen stays")
}

// TestTheContractWithoutADispatchIsAsItWas, and one with it writes all its defaults.
func TestTheContractWithoutADispatchIsAsItWas(t *testing.T) {
	t.Parallel()
	spec := workflow.Spec{Assignment: workflow.Assignment{TaskID: "t"}}
	plain, err := workflow.Freeze(spec, "p", workflow.ContractTask{}, 1, 90, 900).Bytes()
	require.NoError(t, err)
	require.NotContains(t, string(plain), "worker_dispatch")
	require.Equal(t, "c5bbd2d24efe", canonjson.Digest(plain)[:12])
	spec.WorkerDispatch = &workflow.WorkerDispatch{Contract: capability.Version}
	bound, err := workflow.Freeze(spec, "p", workflow.ContractTask{}, 1, 90, 900).Bytes()
	require.NoError(t, err)
	require.Contains(t, string(bound), `"policy":{"capacity_wait_s":900,"max_capacity_attempts":1,"on_model_unsupported":"fail"}`)
	require.Contains(t, string(bound), `"scope_receipts":{}`)
	require.Contains(t, string(bound), `"authorization_receipts":[]`)
	require.Nil(t, spec.WorkerDispatch.Policy.MaxCapacityAttempts, "the spec stays as it was sent")
}

// TestWhatIsStoredOfAReport: the sealed form, named by its own digest; everything else as it was sent.
func TestWhatIsStoredOfAReport(t *testing.T) {
	t.Parallel()
	sent := workflow.Event{Fence: workflow.Fence{LeaseID: "l", FencingToken: 1}, Sequence: 1, State: workflow.EventPreparing, CapabilityReport: goodReport()}
	body, err := json.Marshal(sent)
	require.NoError(t, err)
	read, err := workflow.DecodeEvent(body)
	require.NoError(t, err)
	digest, stored, err := workflow.StoredEvent(body, read)
	require.NoError(t, err)
	require.Equal(t, canonjson.Digest(stored), digest)
	require.NotContains(t, string(stored), "description: "+told)
	again, err := workflow.DecodeEvent(stored)
	require.NoError(t, err)
	require.Equal(t, "candidate-1", again.CapabilityReport.Discovery.Candidates[0].ID)
	require.Equal(t, told, read.CapabilityReport.Discovery.Candidates[0].Excerpt[len("<provider_untrusted>name: worker\ndescription: "):][:len(told)], "what was read stays as it was sent")
	plain := []byte(`{"lease_id":"l","fencing_token":1,"sequence":1,"state":"preparing"}`)
	read, err = workflow.DecodeEvent(plain)
	require.NoError(t, err)
	digest, _, err = workflow.StoredEvent(plain, read)
	require.NoError(t, err)
	want, _ := canonjson.BodyDigest(plain)
	require.Equal(t, want, digest)
	for body, path := range map[string]string{
		`{"capability_report":{"x":1}}`: "$.capability_report", `{"capability_report":[]}`: "$.capability_report", `{"capability_report":{"discovery":{"candidates":[{"x":1}]}}}`: "$.capability_report.discovery.candidates[0]",
	} {
		_, err := workflow.DecodeEvent([]byte(body))
		require.Equal(t, contracts.CodeInvalid, contracts.CodeOf(err), body)
		require.ErrorContains(t, err, "at "+path+":", body)
	}
}

// A refused dispatch says what exactly does not hold, with what to do.
func TestARefusedDispatchSaysWhy(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for said, spoil := range map[string]func(*workflow.WorkerDispatch, *workflow.ScopeReceipt){
		"": func(*workflow.WorkerDispatch, *workflow.ScopeReceipt) {},
		"has expired": func(_ *workflow.WorkerDispatch, r *workflow.ScopeReceipt) {
			r.FreshnessExpiresAt = "2026-03-04T12:00:00Z"
		},
		"captured in the future":     func(_ *workflow.WorkerDispatch, r *workflow.ScopeReceipt) { r.CapturedAt = "2026-03-05T12:00:00Z" },
		"captured_at is no RFC 3339": func(_ *workflow.WorkerDispatch, r *workflow.ScopeReceipt) { r.CapturedAt = "yesterday" },
		"surface 0 is not one of":    func(_ *workflow.WorkerDispatch, r *workflow.ScopeReceipt) { r.AllowedMutationSurfaces = nil },
		"surface 0 is not a clean path": func(w *workflow.WorkerDispatch, _ *workflow.ScopeReceipt) {
			w.Request.AllowedMutationSurfaces = []string{"a.txt"}
		},
		"authorisation cannot be resolved": func(w *workflow.WorkerDispatch, _ *workflow.ScopeReceipt) {
			w.Request.MutationAuthorizationRef = ptr("other")
		},
	} {
		w := dispatchFor(now.Add(time.Hour))
		r := w.ScopeReceipts["scope"]
		spoil(w, &r)
		w.ScopeReceipts["scope"] = r
		refusal := workflow.RefuseDispatch(w, now)
		if said == "" {
			require.Nil(t, refusal)
			continue
		}
		require.NotNil(t, refusal, said)
		require.Contains(t, refusal.Detail, said)
		require.Contains(t, refusal.Detail, "Supply a fresh, source-owned scope receipt")
	}
}
