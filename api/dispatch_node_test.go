// A real node under the worker dispatch capability contract: reports, looks, corrections, misbehaviour.

package api_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/api/apitest"
	"countersign/contracts/capability"
	"countersign/contracts/receipt"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

// boundNode is a running bridge on a stack.
func boundNode(t *testing.T, o apitest.Options) *node {
	t.Helper()
	return newNode(t, apitest.New(t, o))
}

// bound dispatches work in the node's repository under the contract and waits for the revision's end.
func (n *node) bound(prompt map[string]any, changes ...func(*workflow.Spec)) workflow.Detail {
	n.t.Helper()
	task := n.AddTask(n.t)
	spec := n.Spec(task)
	spec.Workspace, spec.BaseCommit, spec.Prompt, spec.WorkerDispatch = n.repository, n.base, scenario(n.t, prompt), workerDispatch(time.Hour)
	spec.Branch = "task/" + task.ID
	for _, change := range changes {
		change(&spec)
	}
	n.DispatchSpec(spec)
	eventually(n.t, "the revision ends", func() bool { return n.Detail(task.ID).Phase.Final() })
	return n.Detail(task.ID)
}

// allow widens a dispatch's scope and its receipt.
func allow(s *workflow.Spec, surface string) {
	surfaces := append(s.WorkerDispatch.Request.AllowedMutationSurfaces, surface)
	s.WorkerDispatch.Request.AllowedMutationSurfaces = surfaces
	granted := s.WorkerDispatch.ScopeReceipts["scope/task.json"]
	granted.AllowedMutationSurfaces = surfaces
	s.WorkerDispatch.ScopeReceipts["scope/task.json"] = granted
}

// steps of a worker.
func remove(path string) map[string]any { return map[string]any{"delete": path} }

func commitAll(message string) map[string]any { return map[string]any{"commit": message} }

func rejects(id string) []any {
	return []any{map[string]any{"verdict": map[string]any{id: map[string]any{"outcome": "fail", "feedback": "Not yet."}}}}
}

var passes = []any{map[string]any{"verdict": map[string]any{}}}

func greets(text string) []any { return []any{write("greeting.txt", text), commitAll("Greet")} }

// TestBoundNodeToAReceipt: two rounds of work and judgement, each reported, observed and settled.
func TestBoundNodeToAReceipt(t *testing.T) {
	t.Parallel()
	n := boundNode(t, apitest.Options{})
	second := []any{write("greeting.txt", "Hello\n"), write("README.md", "# Greets\n"), commitAll("Spell it")}
	d := n.bound(map[string]any{"work": []any{greets("Helo\n"), second}, "verify": []any{rejects("tests"), passes}}, func(s *workflow.Spec) {
		allow(s, "repo:greeting.txt:write")
	})
	require.Equal(t, workflow.PhaseAccepted, d.Phase, "%v %+v", d.Reason, d.WorkerDispatch)
	require.Len(t, d.Attempts, 4)
	for _, a := range d.Attempts {
		r := a.WorkerDispatch
		require.Equal(t, workflow.StageSettle, r.Stage)
		require.Equal(t, capability.StatusSucceeded, *r.Outcome.Status, "%+v", r.Outcome)
		require.Empty(t, r.Outcome.ReasonCodes)
		require.Equal(t, capability.MutationWithinScope, r.Outcome.MutationObservation)
		require.Equal(t, capability.GateClosed, r.IndependenceGate)
		require.Equal(t, "synthetic-agent", r.SessionIdentity.Tool)
		require.Equal(t, "countersign-bridge", r.SessionIdentity.Host)
	}
	signed := apitest.Into[workflow.Receipt](t, 200, n.Operator("GET", "/v1/tasks/"+d.TaskID+"/receipt", nil))
	var envelope struct {
		Payload string `json:"payload"`
	}
	require.NoError(t, json.Unmarshal(signed.Envelope, &envelope))
	payload, err := base64.StdEncoding.DecodeString(envelope.Payload)
	require.NoError(t, err)
	var st receipt.Statement
	require.NoError(t, json.Unmarshal(payload, &st))
	require.Len(t, st.Predicate.WorkerDispatch, 4)
	sound(t, n.Stack)
}

// TestBoundNodeThatChangesNothing: mutation forbidden, the result is the base and the evidence beside it.
func TestBoundNodeThatChangesNothing(t *testing.T) {
	t.Parallel()
	n := boundNode(t, apitest.Options{})
	forbid := func(s *workflow.Spec) {
		s.WorkerDispatch.Request.MutationScope, s.WorkerDispatch.Request.MutationAuthorizationRef = capability.MutationForbidden, nil
		s.WorkerDispatch.Request.AllowedMutationSurfaces = nil
	}
	d := n.bound(map[string]any{"work": []any{[]any{map[string]any{"summary": "Looked around."}}}}, forbid)
	require.Equal(t, workflow.PhaseAccepted, d.Phase, "%v %+v", d.Reason, d.WorkerDispatch)
	require.Equal(t, n.base, *d.CandidateCommit)
	require.NotEmpty(t, n.git("for-each-ref", "refs/countersign/evidence/"+d.Attempts[0].ExecutionID))
	d = n.bound(map[string]any{"work": []any{greets("Hello\n")}}, forbid)
	require.Equal(t, workflow.PhaseBlocked, d.Phase)
	require.Equal(t, []capability.ReasonCode{"worker_mutation_scope_violated", "worker_dispatch_failed"}, d.WorkerDispatch.ReasonCodes)
	require.Nil(t, d.CandidateCommit)
	// What git ignores is a change as well.
	require.NoError(t, os.WriteFile(filepath.Join(n.repository, ".gitignore"), []byte("out\n"), 0o600))
	n.git("add", "--all")
	n.git("commit", "--quiet", "-m", "Ignore")
	n.base = n.git("rev-parse", "HEAD")
	d = n.bound(map[string]any{"work": []any{[]any{write("out", "x")}}}, forbid)
	require.Equal(t, workflow.PhaseBlocked, d.Phase)
	require.Equal(t, []capability.ReasonCode{"worker_mutation_scope_violated"}, d.WorkerDispatch.ReasonCodes)
	require.Nil(t, d.CandidateCommit)
	sound(t, n.Stack)
}

// TestBoundNodeReportsWhatHappened: each way of leaving the scope, or of being a session that may not be
// used, is what it is.
func TestBoundNodeReportsWhatHappened(t *testing.T) {
	t.Parallel()
	n := boundNode(t, apitest.Options{})
	session := func(purpose string, script map[string]any) map[string]any {
		return map[string]any{"work": []any{greets("Hello\n")}, "verify": []any{passes}, "session": map[string]any{purpose: []any{script}}}
	}
	work := func(steps ...any) map[string]any { return map[string]any{"work": []any{steps}} }
	required := func(s *workflow.Spec) { s.WorkerDispatch.Request.ContextIsolationNeed = capability.IsolationRequired }
	ignores := func(s *workflow.Spec) { allow(s, "repo:.gitignore:create") }
	tier := func(s *workflow.Spec) { s.WorkerDispatch.Request.ModelSelectionNeed = capability.ModelExplicitTier }
	tools := func(of ...map[string]any) map[string]any { return session("work", map[string]any{"tools": of}) }
	oneTool := func(directive, eligible any) map[string]any {
		return map[string]any{"id": "t" + string(rune('a'+len(planted))), "description": "Runs. api_key=" + planted[1], "directive": directive, "eligible": eligible}
	}
	for name, c := range map[string]struct {
		prompt map[string]any
		spec   func(*workflow.Spec)
		reason workflow.Reason
		action capability.Action
		codes  []capability.ReasonCode
	}{
		"another file": {work(write("greeting.txt", "x"), write("other.txt", "x"), commitAll("More")), nil, "worker_dispatch", "settle",
			[]capability.ReasonCode{"worker_mutation_scope_violated"}},
		"a deletion":      {work(remove("README.md"), commitAll("Drop")), nil, "worker_dispatch", "settle", []capability.ReasonCode{"worker_mutation_scope_violated"}},
		"a rename":        {work(write("greeting.txt", "# Example\n"), remove("README.md"), commitAll("Move")), nil, "worker_dispatch", "settle", []capability.ReasonCode{"worker_mutation_scope_violated"}},
		"another mode":    {work(map[string]any{"edit": map[string]any{"path": "README.md", "content": "# Example\n", "mode": "755"}}, commitAll("Mode")), nil, "", "settle", nil},
		"a colon":         {work(write("a:b", "x"), commitAll("Odd")), nil, "worker_dispatch", "settle", []capability.ReasonCode{"worker_mutation_scope_violated"}},
		"left-overs":      {work(write("greeting.txt", "x"), commitAll("Greet"), write("left.txt", "x")), nil, "attempt_failed", "settle", []capability.ReasonCode{"worker_mutation_scope_violated", "worker_dispatch_failed"}},
		"a crash":         {work(map[string]any{"crash": map[string]any{"exit": 3}}), nil, "attempt_failed", "settle", []capability.ReasonCode{"worker_dispatch_failed"}},
		"ignored":         {work(write(".gitignore", "out\n"), write("greeting.txt", "x"), commitAll("Greet"), write("out", "x")), ignores, "", "settle", nil},
		"no surface":      {session("work", map[string]any{"surface": "none"}), nil, "worker_dispatch", "fallback", []capability.ReasonCode{"worker_capability_unproven"}},
		"incomplete":      {session("work", map[string]any{"incomplete": true}), nil, "worker_dispatch", "fallback", []capability.ReasonCode{"worker_capability_unproven"}},
		"nameless":        {session("work", map[string]any{"nameless": true}), nil, "worker_dispatch", "fallback", []capability.ReasonCode{"worker_capability_unproven"}},
		"a directive":     {tools(oneTool(true, true)), nil, "worker_dispatch", "fallback", []capability.ReasonCode{"worker_capability_unproven"}},
		"unjudged":        {tools(oneTool(nil, true)), nil, "worker_dispatch", "fallback", []capability.ReasonCode{"worker_capability_unproven"}},
		"no worker":       {tools(oneTool(false, false)), nil, "worker_dispatch", "fallback", []capability.ReasonCode{"subagent_capability_missing"}},
		"two workers":     {tools(oneTool(false, true), map[string]any{"id": "other", "description": "Too.", "directive": false, "eligible": true}), nil, "worker_dispatch", "fallback", []capability.ReasonCode{"worker_capability_unproven"}},
		"an error":        {session("work", map[string]any{"capacity": []string{"error"}}), nil, "worker_dispatch", "fallback", []capability.ReasonCode{"worker_dispatch_failed"}},
		"never room":      {session("work", map[string]any{"capacity": []string{"limited"}}), nil, "worker_dispatch", "fallback", []capability.ReasonCode{"dispatch_backpressure_exhausted"}},
		"room in the end": {session("work", map[string]any{"capacity": []string{"limited", "limited", "available"}}), nil, "", "settle", nil},
		"inherits":        {session("work", map[string]any{"isolation": "inherited"}), required, "worker_dispatch", "block", []capability.ReasonCode{"isolation_requirement_unmet"}},
		"no model":        {session("work", map[string]any{}), tier, "worker_dispatch", "block", []capability.ReasonCode{"model_override_unsupported"}},
		"verifier inherits": {session("verify", map[string]any{"observed_isolation": "inherited"}), nil, "worker_dispatch", "settle",
			[]capability.ReasonCode{"isolation_requirement_unmet"}},
		"verifier leaves something ignored": {map[string]any{
			"work":   []any{[]any{write(".gitignore", "out\n"), write("greeting.txt", "x"), commitAll("Greet")}},
			"verify": []any{[]any{write("out", "x"), passes[0]}},
		}, ignores, "attempt_failed", "settle", []capability.ReasonCode{"worker_mutation_scope_violated", "worker_dispatch_failed"}},
		"verifier writes": {map[string]any{"work": []any{greets("Hello\n")}, "verify": []any{[]any{write("greeting.txt", "x"), passes[0]}}}, nil, "attempt_failed", "settle",
			[]capability.ReasonCode{"worker_mutation_scope_violated", "worker_dispatch_failed"}},
	} {
		d := n.bound(c.prompt, func(s *workflow.Spec) {
			if c.spec != nil {
				c.spec(s)
			}
		})
		if c.reason == "" {
			require.Equal(t, workflow.PhaseAccepted, d.Phase, "%s: %v %+v", name, d.Reason, d.WorkerDispatch)
		} else {
			require.Equal(t, workflow.PhaseBlocked, d.Phase, name)
			require.Equal(t, c.reason, *d.Reason, name)
			require.Nil(t, d.ReceiptID, name)
		}
		require.Equal(t, c.action, d.WorkerDispatch.Action, name)
		require.ElementsMatch(t, c.codes, d.WorkerDispatch.ReasonCodes, name)
		if c.codes != nil && !strings.HasPrefix(name, "verifier") {
			require.Len(t, d.Attempts, 1, "%s: nothing is offered to a verifier", name)
			require.Nil(t, d.CandidateCommit, name)
		}
	}
	// The operator's own prompt has the word; what the node reported has not.
	require.Zero(t, count(t, n.Stack, `SELECT count(*) FROM payloads WHERE position(convert_to($1, 'UTF8') IN body) > 0`, planted[1]))
	sound(t, n.Stack)
}

// TestBoundNodeWithAnArtifact: the looks are at the files of the plain directory.
func TestBoundNodeWithAnArtifact(t *testing.T) {
	t.Parallel()
	n := boundNode(t, apitest.Options{})
	produce := func(steps ...any) workflow.Detail {
		task := apitest.Into[workflow.Task](t, 201, n.Operator("POST", "/v1/tasks", workflow.CreateTask{
			WriteContext: n.WriteContext(), Title: "Produce", Goal: "Greet.", ArtifactSpec: []byte(`{"kind":"report","output_path":"greeting.txt"}`),
		}))
		spec := n.Spec(task)
		spec.Workspace, spec.BaseCommit, spec.WorkerDispatch = n.repository, n.base, workerDispatch(time.Hour)
		spec.Prompt = scenario(t, map[string]any{"work": []any{steps}})
		n.DispatchSpec(spec)
		eventually(t, "the revision ends", func() bool { return n.Detail(task.ID).Phase.Final() })
		return n.Detail(task.ID)
	}
	d := produce(write("greeting.txt", "Hello.\n"))
	require.Equal(t, workflow.PhaseAccepted, d.Phase, "%v %+v", d.Reason, d.WorkerDispatch)
	require.Equal(t, capability.MutationWithinScope, d.Attempts[0].WorkerDispatch.Outcome.MutationObservation)
	require.Equal(t, capability.GateClosed, d.Attempts[1].WorkerDispatch.IndependenceGate)
	d = produce(write("greeting.txt", "Hello.\n"), write("more.txt", "x"))
	require.Equal(t, workflow.ReasonWorkerDispatch, *d.Reason)
	require.Equal(t, []capability.ReasonCode{"worker_mutation_scope_violated"}, d.WorkerDispatch.ReasonCodes)
	require.Nil(t, d.CandidateHash)
	n.cleared()
	sound(t, n.Stack)
}

// TestBoundNodeThatStops still looks at what its worker left: nothing of it is unproven but the result.
func TestBoundNodeThatStops(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	var task workflow.Task
	t.Run("until its worker runs", func(t *testing.T) {
		n := newNode(t, s)
		task = s.AddTask(t)
		spec := s.Spec(task)
		spec.Workspace, spec.BaseCommit, spec.WorkerDispatch = n.repository, n.base, workerDispatch(time.Hour)
		spec.Prompt = scenario(t, map[string]any{"work": []any{append(greets("Hello\n"), map[string]any{"hang": map[string]any{}})}})
		s.DispatchSpec(spec)
		eventually(t, "the worker has committed and hangs", func() bool {
			heads, err := filepath.Glob(filepath.Join(n.repository, ".git", "worktrees", "*", "HEAD"))
			require.NoError(t, err)
			if len(heads) != 1 || s.Detail(task.ID).Phase != workflow.PhaseRunning {
				return false
			}
			head, err := os.ReadFile(heads[0])
			return err == nil && strings.TrimSpace(string(head)) != n.base
		})
	})
	eventually(t, "the revision ends", func() bool { return s.Detail(task.ID).Phase.Final() })
	d := s.Detail(task.ID)
	require.Equal(t, workflow.ReasonAttemptInterrupted, *d.Reason)
	r := d.Attempts[0].WorkerDispatch
	require.Equal(t, []capability.ReasonCode{"worker_dispatch_failed"}, r.Outcome.ReasonCodes)
	require.Equal(t, capability.MutationWithinScope, r.Outcome.MutationObservation, "what it had done by then was within its scope")
	require.False(t, r.ResultPromotable)
	sound(t, s)
}
