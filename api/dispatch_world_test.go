// A revision that the worker dispatch capability contract binds, and what its node reports when all is
// in order.

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

const (
	digestA = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
	digestB = "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d"

	greetingSurface = "repo:greeting.txt:create"
	readmeSurface   = "repo:README.md:write"
)

// workerDispatch lets a worker write two files, on a receipt that is fresh for d.
func workerDispatch(d time.Duration) *workflow.WorkerDispatch {
	now := time.Now()
	surfaces := []string{greetingSurface, readmeSurface}
	return &workflow.WorkerDispatch{
		Contract: capability.Version,
		Request: workflow.WorkerRequest{
			WorkerDispatchAuthorization: capability.Authorized, ProviderTrustDomain: capability.DomainHostNative,
			RestrictedReadAuthorization: capability.AuthorizationNotNeeded, DataEgressAuthorization: capability.AuthorizationNotNeeded,
			CredentialUseAuthorization: capability.AuthorizationNotNeeded, ExternalCommunicationAuthorization: capability.AuthorizationNotNeeded,
			IntentLabels: []string{"implement"}, DesiredConcurrency: capability.ParallelismSerial,
			ContextIsolationNeed: capability.IsolationPreferred, ModelSelectionNeed: capability.ModelInheritedOK,
			MutationScope: capability.MutationScoped, MutationAuthorizationRef: ptr("scope/task.json"), AllowedMutationSurfaces: surfaces,
			InputRefs: []string{"task"}, OutputContract: "worker-completion/v1", StopCondition: "One result, then stop.",
		},
		AuthorizationReceipts: []workflow.AuthorizationReceipt{
			{Authorization: "worker_dispatch_authorization", Ref: "decision/7", Basis: "The owner decided it."},
		},
		ScopeReceipts: map[string]workflow.ScopeReceipt{"scope/task.json": {
			AuthorityOrigin: "current-task:greeting", CapturedAt: now.Add(-time.Hour).UTC().Format(time.RFC3339Nano),
			FreshnessExpiresAt: now.Add(d).UTC().Format(time.RFC3339Nano), AllowedMutationSurfaces: surfaces,
		}},
		Packet: capability.Packet{Minimized: true, Allowlisted: true, SecretRedacted: true},
		Policy: workflow.DispatchPolicy{MaxCapacityAttempts: ptr(3)},
	}
}

// bound is a stack with one dispatch under the contract.
type bound struct {
	*apitest.Stack
	t    testing.TB
	spec workflow.Spec
	held *apitest.Held // of the verification
	workflow.Detail
}

// newBound dispatches after the changes were made to the dispatch.
func newBound(t testing.TB, o apitest.Options, changes ...func(*workflow.WorkerDispatch)) *bound {
	t.Helper()
	s := apitest.New(t, o)
	b := &bound{Stack: s, t: t, spec: s.Spec(s.AddTask(t))}
	b.spec.WorkerDispatch = workerDispatch(time.Hour)
	for _, change := range changes {
		change(b.spec.WorkerDispatch)
	}
	b.Detail = s.DispatchSpec(b.spec)
	return b
}

// now reads the revision again.
func (b *bound) now() workflow.Detail {
	b.t.Helper()
	return b.Stack.Detail(b.TaskID)
}

// report is one that lets the attempt go on.
func report(changes ...func(*capability.Report)) workflow.Event {
	quoted := capability.Quote(map[string]string{"name": "worker", "description": "Runs one packet to its end."}).Candidate("worker")
	quoted.PromptLikeDirective = ptr(false)
	quoted.Eligibility = capability.Eligibility{
		SelfContainedPacket: ptr(true), BoundedStop: ptr(true), MutationScopeExpressible: ptr(true), ReadableOutput: ptr(true), NoHostMapping: ptr(true),
	}
	r := &capability.Report{
		SessionIdentity: capability.SessionIdentity{Host: "host", HostVersion: "1.0", Tool: "worker", ToolVersion: "2.0", Contract: capability.Version},
		CapturedAt:      time.Now().UTC().Format(time.RFC3339Nano),
		Discovery: &capability.Discovery{
			Surface: capability.DiscoveryPresent, CaptureMethod: capability.CaptureStartupRegistration,
			SchemaCompleteness: capability.CompletenessConfirmed, CompletenessBasis: ptr("the host registers one tool"),
			Candidates: []capability.Candidate{quoted},
		},
		CapabilityFacts: capability.CapabilityFacts{
			WorkerContextIsolation: capability.IsolationIsolated, WorkerModelOverride: capability.Supported, WorkerBoundedParallelism: capability.Unsupported,
		},
		Capacity: capability.CapacityAvailable,
	}
	for _, change := range changes {
		change(r)
	}
	return workflow.Event{State: workflow.EventPreparing, CapabilityReport: r}
}

func noCapacity(r *capability.Report) { r.Capacity = capability.CapacityLimited }

// started is the running event with the look before the call.
func started(h *apitest.Held) workflow.Event {
	return workflow.Event{State: workflow.EventRunning, ProviderSessionID: &h.Session, PreObservation: &workflow.StateObservation{
		Source: capability.ObservedByCaller, StateRef: "git:before", StateSHA256: digestA, ObservedAt: time.Now(),
	}}
}

// seen completes a terminal event with what a node in order saw of the call: the named surfaces changed
// and nothing else.
func seen(e workflow.Event, changed ...string) workflow.Event {
	e.Live = &workflow.LiveFacts{
		CallStatus: capability.CallSucceeded, ObservedContextIsolation: capability.IsolationIsolated, ObservedModelSelection: capability.ModelInherited,
		ObservedParallelism: capability.ParallelismSerial, OutputValidation: capability.OutputPassed,
	}
	e.PostObservation = &workflow.ChangeObservation{
		StateObservation: workflow.StateObservation{Source: capability.ObservedByCaller, StateRef: "git:after", StateSHA256: digestA, ObservedAt: time.Now()},
		ObservedSurfaces: []string{greetingSurface, readmeSurface}, ChangedSurfaces: []workflow.SurfaceChange{},
	}
	for _, surface := range changed {
		e.PostObservation.StateSHA256 = digestB
		e.PostObservation.ChangedSurfaces = append(e.PostObservation.ChangedSurfaces, workflow.SurfaceChange{Surface: surface, RunOwned: ptr(true)})
	}
	return e
}

// run claims what is offered and takes it to running.
func (b *bound) run() *apitest.Held {
	b.t.Helper()
	h := b.Claim()
	a := apitest.Into[workflow.EventAnswer](b.t, http.StatusOK, h.Event(report()))
	require.Equal(b.t, capability.ActionAttempt, a.Decision.Action)
	apitest.Into[workflow.EventAnswer](b.t, http.StatusOK, h.Event(started(h)))
	return h
}

// end sends an attempt's terminal event.
func (b *bound) end(h *apitest.Held, e workflow.Event) workflow.EventAnswer {
	b.t.Helper()
	return apitest.Into[workflow.EventAnswer](b.t, http.StatusOK, h.Event(e))
}

// work makes a candidate in order.
func (b *bound) work() {
	b.t.Helper()
	h := b.run()
	require.Equal(b.t, workflow.PhaseAwaitingVerification, b.end(h, seen(h.Completed(candidate), greetingSurface)).WorkflowPhase)
}

// judged is a verifier's terminal event in order, failing the criteria named.
func judged(h *apitest.Held, failing ...string) workflow.Event {
	e := seen(h.Completed(*h.Plan.Workflow.CandidateCommit))
	e.PostObservation.ObservedSurfaces = nil
	e.Verdict = h.Verdict(failing...)
	return e
}

// attempt is the nth attempt's last decision.
func (b *bound) decision(n int) workflow.DispatchRecord {
	b.t.Helper()
	d := b.now()
	require.Greater(b.t, len(d.Attempts), n)
	require.NotNil(b.t, d.Attempts[n].WorkerDispatch)
	return *d.Attempts[n].WorkerDispatch
}

// sound checks the database's invariants.
func (b *bound) sound() {
	b.t.Helper()
	findings, err := b.Store.Fsck(b.t.Context())
	require.NoError(b.t, err)
	require.Empty(b.t, findings)
}

// verifier claims the verification and takes it to running.
func (b *bound) verifier() *apitest.Held {
	b.t.Helper()
	b.held = b.run()
	require.Equal(b.t, workflow.PurposeVerify, b.held.Plan.Workflow.Purpose)
	return b.held
}

// onOwnNode dispatches on a stack that others use too, to a node of its own, and claims the offer.
func onOwnNode(t testing.TB, s *apitest.Stack, change func(*workflow.WorkerDispatch)) (*bound, *apitest.Held) {
	t.Helper()
	node, token := s.AddNode(t)
	own := s.As(t, node, token)
	b := &bound{Stack: own, t: t, spec: own.Spec(own.AddTask(t))}
	b.spec.WorkerDispatch = workerDispatch(time.Hour)
	if change != nil {
		change(b.spec.WorkerDispatch)
	}
	b.Detail = own.DispatchSpec(b.spec)
	return b, own.Claim()
}

// blockedFor holds the revision to being blocked for a decision, with nothing to verify, and shown so
// wherever it is shown.
func (b *bound) blockedFor(action capability.Action, codes ...capability.ReasonCode) {
	b.t.Helper()
	d := b.now()
	require.Equal(b.t, workflow.PhaseBlocked, d.Phase)
	require.Equal(b.t, workflow.ReasonWorkerDispatch, *d.Reason)
	require.Nil(b.t, d.CandidateCommit)
	require.Nil(b.t, d.ActiveAttempt)
	require.Equal(b.t, action, d.WorkerDispatch.Action)
	require.Subset(b.t, d.WorkerDispatch.ReasonCodes, codes)
	require.Equal(b.t, capability.GateOpen, d.WorkerDispatch.IndependenceGate)
	require.ElementsMatch(b.t, capability.Claims(), d.WorkerDispatch.ClaimsDenied)
	for _, a := range d.Attempts {
		require.Equal(b.t, workflow.PurposeWork, a.Purpose, "nothing is offered to a verifier")
	}
	last := d.History[len(d.History)-1]
	require.Equal(b.t, workflow.EntryBlocked, last.Kind)
	require.Contains(b.t, string(last.Data), string(codes[0]))
	task := apitest.Into[workflow.Task](b.t, http.StatusOK, b.Operator("GET", "/v1/tasks/"+b.TaskID, nil))
	require.Equal(b.t, d.WorkerDispatch, task.Workflow.WorkerDispatch)
	require.Equal(b.t, workflow.TaskOpen, task.Status)
	inbox := apitest.Into[workflow.Inbox](b.t, http.StatusOK, b.Operator("GET", "/v1/inbox", nil))
	found := false
	for _, item := range inbox.Items {
		if item.TaskID == b.TaskID {
			found = true
			said, _ := capability.Explain(d.WorkerDispatch.ReasonCodes[0])
			require.Equal(b.t, d.WorkerDispatch.ReasonCodes, item.ReasonCodes)
			require.Equal(b.t, said.Remedy, item.NextAction)
		}
	}
	require.True(b.t, found, "the inbox has it")
	offers := apitest.Into[workflow.OfferList](b.t, http.StatusOK, b.Bridge("GET", "/bridge/v1/executions", nil))
	require.Empty(b.t, offers.Executions)
	apitest.Refused(b.t, http.StatusNotFound, contracts.CodeNotFound, b.Operator("GET", "/v1/tasks/"+b.TaskID+"/receipt", nil))
}
