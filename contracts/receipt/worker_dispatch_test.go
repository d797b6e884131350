// Receipts of revisions whose workers the capability contract binds.

package receipt_test

import (
	"testing"

	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/capability"
	"countersign/contracts/receipt"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"github.com/stretchr/testify/require"
)

// boundScene is an acceptance in order under a contract with a worker_dispatch.
func boundScene() *scene {
	s := newScene()
	s.contract.WorkerDispatch = &workflow.WorkerDispatch{
		Contract: capability.Version, Request: workflow.WorkerRequest{WorkerDispatchAuthorization: capability.Authorized},
		AuthorizationReceipts: []workflow.AuthorizationReceipt{{Authorization: "worker_dispatch_authorization", Ref: "r", Basis: "b"}},
	}
	for _, a := range s.attempts {
		s.settled = append(s.settled, workflow.DispatchRecord{
			Contract: capability.Version, Stage: workflow.StageSettle, ExecutionID: a.ExecutionID, Purpose: a.Purpose, DecidedAt: a.EndedAt,
			SessionIdentity: &capability.SessionIdentity{Host: "h", HostVersion: "1", Tool: "t", ToolVersion: "2", Contract: capability.Version},
			InputSHA256:     canonjson.Digest([]byte(a.ExecutionID)),
			Result: capability.Result{
				Action: capability.ActionSettle, IndependenceGate: capability.GateClosed, ResultPromotable: true,
				ClaimsDenied: []capability.Claim{"multi-agent", "parallel"},
				Outcome: capability.Outcome{
					ExecutionMode: capability.ModeDispatched, Status: new(capability.StatusDegraded), RealizedIsolation: capability.IsolationIsolated,
					WorkerDispatchCapability: capability.CapabilityAvailable, RealizedParallelism: capability.ParallelismSerial,
					MutationObservation: capability.MutationWithinScope, CoverageClaim: capability.CoverageClaimScoped,
					ReasonCodes: []capability.ReasonCode{capability.ModelOverrideUnknown},
				},
			},
		})
	}
	return s
}

func TestBoundReceiptsSayHowTheirWorkersWereCalled(t *testing.T) {
	t.Parallel()
	s := boundScene()
	envelope := s.sign(t, ed25519Key(t, "a"))
	_, err := receipt.VerifyWith(envelope, s.contractBytes(t), receipt.Trust{Pins: pin(ed25519Key(t, "a")), Pinned: []receipt.PublicKey{ed25519Key(t, "a").Public()}})
	require.NoError(t, err)
	var e dsse.Envelope
	require.NoError(t, json.Unmarshal(envelope, &e))
	payload, err := e.DecodeB64Payload()
	require.NoError(t, err)
	var st receipt.Statement
	require.NoError(t, json.Unmarshal(payload, &st))
	require.Len(t, st.Predicate.WorkerDispatch, 2)
	require.Equal(t, "server", st.Predicate.AssertedBy["worker_dispatch.decision"])
	require.Equal(t, "worker", st.Predicate.AssertedBy["worker_dispatch.observation"])

	require.NoError(t, json.Unmarshal(newScene().sign(t, ed25519Key(t, "a")), &e))
	payload, err = e.DecodeB64Payload()
	require.NoError(t, err)
	require.NotContains(t, string(payload), "worker_dispatch", "a receipt without the part is as it always was")
}

func TestBoundReceiptsAreJudgedAgain(t *testing.T) {
	t.Parallel()
	outcome := func(i int, change func(*capability.Outcome)) func(*scene) {
		return func(s *scene) {
			change(&s.settled[i].Outcome)
			s.settled[i].ClaimsDenied = s.settled[i].Outcome.Denied()
		}
	}
	for name, change := range map[string]func(*scene){
		"no dispatch was settled":            func(s *scene) { s.settled = nil },
		"the worker's was not":               func(s *scene) { s.settled = s.settled[1:] },
		"the verifier's was not":             func(s *scene) { s.settled = s.settled[:1] },
		"one was settled twice":              func(s *scene) { s.settled = append(s.settled, s.settled[0]) },
		"one is nobody's":                    func(s *scene) { s.settled[0].ExecutionID = "e9" },
		"one is of another purpose":          func(s *scene) { s.settled[1].Purpose = workflow.PurposeWork },
		"another contract":                   func(s *scene) { s.settled[0].Contract = "worker-dispatch/v2" },
		"another stage":                      func(s *scene) { s.settled[0].Stage = workflow.StagePreparing },
		"no session is named":                func(s *scene) { s.settled[0].SessionIdentity = nil },
		"a session is named in part":         func(s *scene) { s.settled[0].SessionIdentity.ToolVersion = "" },
		"the worker's is not promotable":     func(s *scene) { s.settled[0].ResultPromotable = false },
		"the verifier's is not promotable":   func(s *scene) { s.settled[1].ResultPromotable = false },
		"the verifier's gate is open":        func(s *scene) { s.settled[1].IndependenceGate = capability.GateOpen },
		"the verifier was not isolated":      outcome(1, func(o *capability.Outcome) { o.RealizedIsolation = capability.IsolationInherited }),
		"the work was done inline":           outcome(0, func(o *capability.Outcome) { o.ExecutionMode = capability.ModeInline }),
		"the judgement was made serially":    outcome(1, func(o *capability.Outcome) { o.ExecutionMode = capability.ModeSerial }),
		"no status":                          outcome(0, func(o *capability.Outcome) { o.Status = nil }),
		"the worker failed":                  outcome(0, func(o *capability.Outcome) { o.Status = new(capability.StatusFailed) }),
		"the changes are unproven":           outcome(0, func(o *capability.Outcome) { o.MutationObservation = capability.MutationUnproven }),
		"the verifier changed something":     outcome(1, func(o *capability.Outcome) { o.MutationObservation = capability.MutationViolated }),
		"a code stands against it":           outcome(0, func(o *capability.Outcome) { o.ReasonCodes = []capability.ReasonCode{capability.WorkerOutputInvalid} }),
		"no claim is denied":                 func(s *scene) { s.settled[0].ClaimsDenied = nil },
		"too little is denied":               func(s *scene) { s.settled[0].ClaimsDenied = s.settled[0].ClaimsDenied[:1] },
		"the status hides a code":            outcome(1, func(o *capability.Outcome) { o.Status = new(capability.StatusSucceeded) }),
		"the codes are gone":                 outcome(1, func(o *capability.Outcome) { o.ReasonCodes = nil }),
		"the session offered no worker":      outcome(0, func(o *capability.Outcome) { o.WorkerDispatchCapability = capability.CapabilityUnknown }),
		"nothing settled":                    func(s *scene) { s.settled[0].Action = capability.ActionFallback },
		"the contract binds nobody":          func(s *scene) { s.contract.WorkerDispatch = nil },
		"the contract authorises nobody":     func(s *scene) { s.contract.WorkerDispatch.AuthorizationReceipts = nil },
		"the contract's word is missing too": func(s *scene) { s.contract.WorkerDispatch.Request.WorkerDispatchAuthorization = "" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := boundScene()
			change(s)
			_, err := ed25519Key(t, "a").Accept(s.acceptance(t))
			requireCode(t, receipt.CodeUnproven, err)
		})
	}
	// A worker that was preferred isolated and was not may count; it closes no gate.
	s := boundScene()
	s.settled[0].IndependenceGate, s.settled[0].Outcome.RealizedIsolation = capability.GateOpen, capability.IsolationInherited
	s.settled[0].Outcome.ReasonCodes = []capability.ReasonCode{capability.IsolationDegradedInherited}
	s.settled[0].ClaimsDenied = s.settled[0].Outcome.Denied()
	_, err := ed25519Key(t, "a").Accept(s.acceptance(t))
	requireCode(t, contracts.Code(""), err)
}
