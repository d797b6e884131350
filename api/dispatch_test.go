// The worker dispatch capability contract in the life cycle, stage by stage, over HTTP.

package api_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"countersign/api/apitest"
	"countersign/api/client"
	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/capability"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

// TestBoundLife goes from dispatch over a correction to a receipt.
func TestBoundLife(t *testing.T) {
	t.Parallel()
	b := newBound(t, apitest.Options{})
	b.work()
	require.Equal(t, workflow.PhaseOffered, b.end(b.verifier(), judged(b.held, "tests")).WorkflowPhase)
	b.work()
	require.Equal(t, workflow.PhaseAccepted, b.end(b.verifier(), judged(b.held)).WorkflowPhase)
	d := b.now()
	require.Len(t, d.Attempts, 4)
	for _, a := range d.Attempts {
		r := a.WorkerDispatch
		require.Equal(t, workflow.StageSettle, r.Stage)
		require.Equal(t, capability.ActionSettle, r.Action)
		require.Equal(t, capability.StatusSucceeded, *r.Outcome.Status)
		require.Equal(t, capability.ModeDispatched, r.Outcome.ExecutionMode)
		require.Equal(t, capability.GateClosed, r.IndependenceGate)
		require.Equal(t, "2.0", r.SessionIdentity.ToolVersion)
		require.Contains(t, r.Outcome.AuthorizationReceipts, "decision/7")
	}
	require.Equal(t, workflow.StageSettle, d.WorkerDispatch.Stage)
	b.sound()
}

// TestRefusedDispatch: what may not be offered leaves nothing behind, not even its key.
func TestRefusedDispatch(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	for name, c := range map[string]struct {
		change func(*workflow.WorkerDispatch)
		code   capability.ReasonCode
	}{
		"not authorised":    {func(w *workflow.WorkerDispatch) { w.Request.WorkerDispatchAuthorization = "missing" }, "dispatch_authorization_missing"},
		"without a receipt": {func(w *workflow.WorkerDispatch) { w.AuthorizationReceipts = nil }, "dispatch_authorization_missing"},
		"a receipt for another": {func(w *workflow.WorkerDispatch) {
			w.AuthorizationReceipts[0].Authorization = "data_egress_authorization"
		}, "dispatch_authorization_missing"},
		"data missing":     {func(w *workflow.WorkerDispatch) { w.Request.RestrictedReadAuthorization = "missing" }, "worker_data_authorization_missing"},
		"data unreceipted": {func(w *workflow.WorkerDispatch) { w.Request.DataEgressAuthorization = "authorized" }, "worker_data_authorization_missing"},
		"an external provider": {func(w *workflow.WorkerDispatch) {
			w.Request.ProviderTrustDomain = "external"
		}, "worker_data_authorization_missing"},
		"no domain":           {func(w *workflow.WorkerDispatch) { w.Request.ProviderTrustDomain = "" }, "worker_data_authorization_missing"},
		"no scope":            {func(w *workflow.WorkerDispatch) { w.Request.MutationScope = "" }, "worker_mutation_unproven"},
		"unresolvable":        {func(w *workflow.WorkerDispatch) { w.ScopeReceipts = nil }, "worker_mutation_unproven"},
		"stale":               {func(w *workflow.WorkerDispatch) { *w = *workerDispatch(-time.Second) }, "worker_mutation_unproven"},
		"wider than granted":  {func(w *workflow.WorkerDispatch) { w.Request.AllowedMutationSurfaces = []string{"repo:go.mod:write"} }, "worker_mutation_unproven"},
		"another repository":  {func(w *workflow.WorkerDispatch) { w.Request.AllowedMutationSurfaces = []string{"other:x:write"} }, "worker_mutation_unproven"},
		"forbidden and named": {func(w *workflow.WorkerDispatch) { w.Request.MutationScope = "forbidden" }, "worker_mutation_unproven"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := s.AddTask(t)
			node, _ := s.AddNode(t)
			spec := s.Spec(task)
			spec.BridgeID, spec.WorkerDispatch = node.ID, workerDispatch(time.Hour)
			c.change(spec.WorkerDispatch)
			a := s.Operator("POST", "/v1/workflows", workflow.DispatchRequest{Spec: spec, WriteContext: s.WriteContext()})
			apitest.Refused(t, http.StatusConflict, contracts.CodeDispatchRefused, a)
			var p struct {
				Reason  string             `json:"reason"`
				Detail  string             `json:"detail"`
				Outcome capability.Outcome `json:"outcome"`
			}
			require.NoError(t, json.Unmarshal(a.Body, &p))
			require.Equal(t, string(c.code), p.Reason)
			require.Equal(t, []capability.ReasonCode{c.code}, p.Outcome.ReasonCodes)
			require.Equal(t, capability.CapabilityUnknown, p.Outcome.WorkerDispatchCapability)
			require.Equal(t, capability.ProbeNotApplicable, p.Outcome.CapabilityProbe)
			require.NotEqual(t, capability.ModeDispatched, p.Outcome.ExecutionMode)
			require.NotEmpty(t, p.Detail)
			apitest.Refused(t, http.StatusNotFound, contracts.CodeNotFound, s.Operator("GET", "/v1/tasks/"+task.ID+"/workflow", nil))
			require.Zero(t, count(t, s, `SELECT count(*) FROM idempotency WHERE key = $1`, spec.IdempotencyKey))
			require.Zero(t, count(t, s, `SELECT count(*) FROM revisions WHERE task_id = $1`, task.ID))
			require.Zero(t, count(t, s, `SELECT count(*) FROM ledger WHERE task_id = $1`, task.ID))
			require.Zero(t, count(t, s, `SELECT count(*) FROM executions WHERE node_id = $1`, node.ID))
			// The key still stands for nothing, so another request may use it.
			spec.WorkerDispatch = workerDispatch(time.Hour)
			d := s.DispatchSpec(spec)
			require.Equal(t, 1, d.Revision)
		})
	}
}

func count(t testing.TB, s *apitest.Stack, sql string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, s.Pool.QueryRow(t.Context(), sql, args...).Scan(&n))
	return n
}

// TestWorkerDispatchIsValidated: shape and words are refused with the path to the fault.
func TestWorkerDispatchIsValidated(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	spec := s.Spec(s.AddTask(t))
	spec.WorkerDispatch = workerDispatch(time.Hour)
	data, err := json.Marshal(workflow.DispatchRequest{Spec: spec, WriteContext: s.WriteContext()})
	require.NoError(t, err)
	const at = "$.spec.worker_dispatch"
	long := strings.Repeat("x", 201)
	for replaced, c := range map[string]struct{ with, path string }{
		`"contract":"worker-dispatch/v1"`:                 {`"contract":"worker-dispatch/v2"`, at + ".contract"},
		`"packet":{`:                                      {`"x":1,"packet":{`, at + ".x"},
		`"minimized":true`:                                {`"minimised":true`, at + ".packet.minimised"},
		`"mutation_scope":"explicitly-scoped"`:            {`"mutation_scope":"anything"`, at + ".request.mutation_scope"},
		`"context_isolation_need":"preferred"`:            {`"context_isolation_need":1`, at + ".request.context_isolation_need"},
		`"worker_dispatch_authorization":"authorized"`:    {`"worker_dispatch_authorization":"not_applicable"`, at + ".request.worker_dispatch_authorization"},
		`"authorization":"worker_dispatch_authorization"`: {`"authorization":"all"`, at + ".authorization_receipts[0].authorization"},
		`"ref":"decision/7"`:                              {`"ref":"` + long + `"`, at + ".authorization_receipts[0].ref"},
		`"basis":"The owner decided it."`:                 {`"basis":"api_key=0123456789abcdef"`, at + ".authorization_receipts[0].basis"},
		`"max_capacity_attempts":3`:                       {`"max_capacity_attempts":33`, at + ".policy.max_capacity_attempts"},
		`"policy":{`:                                      {`"policy":{"on_model_unsupported":"ignore",`, at + ".policy.on_model_unsupported"},
		`"authority_origin":"current-task:greeting"`:      {`"authority_origin":"` + long + `"`, at + ".scope_receipts.scope/task.json.authority_origin"},
		`"scope_receipts":{"scope/task.json":`:            {`"scope_receipts":{" ":`, at + ".scope_receipts"},
	} {
		require.Equal(t, 1, strings.Count(string(data), replaced), replaced)
		a := s.Operator("POST", "/v1/workflows", []byte(strings.Replace(string(data), replaced, c.with, 1)))
		apitest.Refused(t, http.StatusUnprocessableEntity, contracts.CodeInvalid, a)
		var p problem
		require.NoError(t, json.Unmarshal(a.Body, &p))
		require.Equal(t, c.path, p.Path, "%s", a.Body)
	}
}

// TestTheContractFreezesTheDispatch: with its defaults, and into the digest.
func TestTheContractFreezesTheDispatch(t *testing.T) {
	t.Parallel()
	b := newBound(t, apitest.Options{}, func(w *workflow.WorkerDispatch) { w.Policy = workflow.DispatchPolicy{} })
	var c workflow.Contract
	require.NoError(t, json.Unmarshal(b.Contract, &c))
	require.Equal(t, workflow.DispatchPolicy{MaxCapacityAttempts: ptr(1), CapacityWaitS: ptr(900), OnModelUnsupported: workflow.ModelFail}, c.WorkerDispatch.Policy)
	require.Equal(t, canonjson.Digest(b.Contract), b.ContractDigest)
	h := b.Claim()
	require.Equal(t, capability.MutationScoped, h.Plan.WorkerDispatch.Request.MutationScope)
	plain := b.Spec(b.AddTask(t))
	node, _ := b.AddNode(t)
	plain.BridgeID = node.ID
	require.NotContains(t, string(b.DispatchSpec(plain).Contract), "worker_dispatch")
}

// TestOnlyADecidedWorkerStarts: no start without the decision, and none without the look before it.
func TestOnlyADecidedWorkerStarts(t *testing.T) {
	t.Parallel()
	b := newBound(t, apitest.Options{})
	h := b.Claim()
	refusedEvent(t, h, started(h), http.StatusConflict, contracts.CodeDispatchNotEligible, "")
	a := b.end(h, report(noCapacity))
	require.Equal(t, capability.ActionWait, a.Decision.Action)
	require.Equal(t, workflow.AttemptPreparing, a.Phase)
	refusedEvent(t, h, started(h), http.StatusConflict, contracts.CodeDispatchNotEligible, "")
	require.Equal(t, capability.ActionAttempt, b.end(h, report()).Decision.Action)
	refusedEvent(t, h, report(), http.StatusConflict, contracts.CodeStateConflict, "")
	blind := started(h)
	blind.PreObservation = nil
	refusedEvent(t, h, blind, http.StatusUnprocessableEntity, contracts.CodeInvalid, "$.pre_observation")
	b.end(h, started(h))
	e := seen(h.Completed(candidate), greetingSurface)
	require.Equal(t, workflow.PhaseAwaitingVerification, b.end(h, e).WorkflowPhase)
	b.sound()
}

// refusedEvent sends an event that must be refused without using its sequence up.
func refusedEvent(t *testing.T, h *apitest.Held, e workflow.Event, status int, code contracts.Code, path string) {
	t.Helper()
	a := h.Event(e)
	apitest.Refused(t, status, code, a)
	var p problem
	require.NoError(t, json.Unmarshal(a.Body, &p))
	require.Equal(t, path, p.Path)
	h.Sequence--
}

// TestReportsThatStopAnAttempt: what the report does not prove is not attempted.
func TestReportsThatStopAnAttempt(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	first := func(r *capability.Report) *capability.Candidate { return &r.Discovery.Candidates[0] }
	required := func(w *workflow.WorkerDispatch) { w.Request.ContextIsolationNeed = "required" }
	tier := func(w *workflow.WorkerDispatch) { w.Request.ModelSelectionNeed = "explicit-tier" }
	for name, c := range map[string]struct {
		spec   func(*workflow.WorkerDispatch)
		report func(*capability.Report)
		action capability.Action
		code   capability.ReasonCode
	}{
		"nobody's session":    {nil, func(r *capability.Report) { r.SessionIdentity.HostVersion = "" }, "fallback", "worker_capability_unproven"},
		"no surface":          {nil, func(r *capability.Report) { r.Discovery.Surface = "none" }, "fallback", "worker_capability_unproven"},
		"no discovery":        {nil, func(r *capability.Report) { r.Discovery = nil }, "fallback", "worker_capability_unproven"},
		"a poor capture":      {nil, func(r *capability.Report) { r.Discovery.CaptureMethod = "documentation" }, "fallback", "worker_capability_unproven"},
		"incomplete":          {nil, func(r *capability.Report) { r.Discovery.SchemaCompleteness = "unconfirmed" }, "fallback", "worker_capability_unproven"},
		"a directive":         {nil, func(r *capability.Report) { first(r).PromptLikeDirective = ptr(true) }, "fallback", "worker_capability_unproven"},
		"not quoted":          {nil, func(r *capability.Report) { first(r).Excerpt = "Runs." }, "fallback", "worker_capability_unproven"},
		"not settled":         {nil, func(r *capability.Report) { first(r).Eligibility.BoundedStop = nil }, "fallback", "worker_capability_unproven"},
		"none eligible":       {nil, func(r *capability.Report) { first(r).Eligibility.BoundedStop = ptr(false) }, "fallback", "subagent_capability_missing"},
		"inherits, may not":   {required, func(r *capability.Report) { r.CapabilityFacts.WorkerContextIsolation = "inherited" }, "block", "isolation_requirement_unmet"},
		"no choice of model":  {tier, func(r *capability.Report) { r.CapabilityFacts.WorkerModelOverride = "unsupported" }, "block", "model_override_unsupported"},
		"an error":            {nil, func(r *capability.Report) { r.Capacity = "error" }, "fallback", "worker_dispatch_failed"},
		"no word on capacity": {nil, func(r *capability.Report) { r.Capacity = "" }, "fallback", "worker_dispatch_failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, h := onOwnNode(t, s, c.spec)
			a := b.end(h, report(c.report))
			require.Equal(t, c.action, a.Decision.Action)
			require.Equal(t, []capability.ReasonCode{c.code}, a.Decision.ReasonCodes)
			require.Len(t, a.Decision.InputSHA256, 64)
			require.Equal(t, workflow.AttemptFailed, a.Phase)
			require.Equal(t, workflow.PhaseBlocked, a.WorkflowPhase)
			require.Equal(t, workflow.ReasonWorkerDispatch, a.Reason)
			b.blockedFor(a.Decision.Action, c.code)
		})
	}
	t.Run("no report", func(t *testing.T) {
		t.Parallel()
		b, h := onOwnNode(t, s, nil)
		a := b.end(h, workflow.Event{State: workflow.EventPreparing})
		require.Equal(t, []capability.ReasonCode{"worker_capability_unproven"}, a.Decision.ReasonCodes)
		b.blockedFor("fallback", "worker_capability_unproven")
	})
	t.Run("a model to inherit", func(t *testing.T) {
		t.Parallel()
		b, h := onOwnNode(t, s, func(w *workflow.WorkerDispatch) { tier(w); w.Policy.OnModelUnsupported = workflow.ModelInherit })
		unsupported := func(r *capability.Report) { r.CapabilityFacts.WorkerModelOverride = "unsupported" }
		require.Equal(t, capability.ActionAttempt, b.end(h, report(unsupported)).Decision.Action)
		b.end(h, started(h))
		a := b.end(h, seen(h.Completed(candidate), greetingSurface))
		require.Equal(t, workflow.PhaseAwaitingVerification, a.WorkflowPhase)
		require.Equal(t, []capability.ReasonCode{"model_override_unsupported"}, a.Decision.ReasonCodes)
	})
}

// TestTheCatalogBindsToo: a dispatch by catalog is bound and refused like any other, and a client of ours
// finds the outcome in the refusal.
func TestTheCatalogBindsToo(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, nil)
	request := c.request(c.AddTask(t), c.Node.ID)
	request.Spec.WorkerDispatch = workerDispatch(-time.Hour)
	_, err := client.New(c.URL, c.OwnerToken).DispatchCatalog(t.Context(), c.Project.ID, request)
	refusal, ok := errors.AsType[*contracts.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, contracts.CodeDispatchRefused, refusal.Code)
	var o capability.Outcome
	require.NoError(t, json.Unmarshal(refusal.Outcome, &o))
	require.Equal(t, []capability.ReasonCode{"worker_mutation_unproven"}, o.ReasonCodes)
	request.Spec.WorkerDispatch.Policy.OnModelUnsupported = "ignore"
	apitest.Refused(t, http.StatusUnprocessableEntity, contracts.CodeInvalid, c.dispatch(request))
	request.Spec.WorkerDispatch = workerDispatch(time.Hour)
	d := apitest.Into[workflow.Detail](t, http.StatusCreated, c.dispatch(request))
	require.Contains(t, string(d.Contract), `"worker_dispatch":{`)
}
