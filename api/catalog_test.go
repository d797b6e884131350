// Dispatch by catalog, on real Git repositories.

package api_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/api/apitest"
	"countersign/api/client"
	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/workflow"
	"countersign/store"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

// A life by catalog: a correction and the verifiers work by the frozen documents, although the branch
// moved on and the sources were revoked.
func TestCatalogDispatchIsFrozen(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, nil)
	task := c.AddTask(t)
	request := c.request(task, c.Node.ID)
	d := apitest.Into[workflow.Detail](t, 201, c.dispatch(request))
	var contract workflow.Contract
	require.NoError(t, json.Unmarshal(d.Contract, &contract))
	require.Equal(t, canonjson.Digest(d.Contract), d.ContractDigest)
	require.Equal(t, workflow.Profile{
		ProfileID: c.worker.ID, Version: workflow.StringVersion("1"), Runtime: workflow.RuntimeSynthetic, Reasoning: "high", AllowWorkspaceWrites: true,
		Instructions: "This is agents/worker/heartbeat.md.\n\n\nThis is agents/worker/instructions.md.\n", Soul: "This is agents/worker/soul.md.\n",
		Skills: []workflow.Skill{{ID: "go", Version: workflow.StringVersion("2"), Content: "This is skills/go.md.\n"}},
	}, contract.Profile)
	require.Equal(t, &workflow.ContractSources{
		Profile: workflow.ContractIdentity{AgentID: c.worker.ID, Version: workflow.StringVersion("1"), Provider: "none", Documents: []workflow.ContractDocument{
			c.frozen(workflow.DocumentHeartbeat, "", "agents/worker/heartbeat.md"), c.frozen(workflow.DocumentInstructions, "", "agents/worker/instructions.md"),
			c.frozen(workflow.DocumentSoul, "", "agents/worker/soul.md"), c.frozen(workflow.DocumentSkill, "go", "skills/go.md"),
		}},
		Verifier: workflow.ContractIdentity{AgentID: c.verifier.ID, Version: workflow.StringVersion("1"), Documents: []workflow.ContractDocument{
			c.frozen(workflow.DocumentHeartbeat, "", "agents/verifier.md"),
		}},
	}, contract.Sources)

	// Everything changes behind the frozen contract.
	for path := range c.sources {
		c.repository.write(path, "Changed.\n")
		apitest.Into[workflow.Source](t, 200, c.revoke(path))
	}
	c.repository.commit()
	c.status(c.worker.ID, "1", workflow.AgentDeprecated)
	require.NoError(t, os.RemoveAll(c.repository.dir))

	play := func(purpose workflow.Purpose, frozen workflow.Profile, failing ...string) {
		h := c.Claim().Run()
		require.Equal(t, purpose, h.Plan.Workflow.Purpose)
		require.Equal(t, frozen, h.Plan.Profile)
		e := h.Completed(strings.Repeat("c0", 20))
		if purpose == workflow.PurposeVerify {
			e.Verdict = h.Verdict(failing...)
		}
		apitest.Into[workflow.EventAnswer](t, 200, h.Event(e))
	}
	play(workflow.PurposeWork, contract.Profile)
	play(workflow.PurposeVerify, contract.Verifier, "tests")
	play(workflow.PurposeWork, contract.Profile)
	play(workflow.PurposeVerify, contract.Verifier)
	d = c.Detail(task.ID)
	require.Equal(t, workflow.PhaseAccepted, d.Phase)
	require.Len(t, d.Attempts, 4)

	// The same request again reads nothing, for there is nothing left to read; a changed one is another.
	again := apitest.Into[workflow.Detail](t, 200, c.dispatch(request))
	require.Equal(t, d.WorkflowID, again.WorkflowID)
	require.Equal(t, d.ContractDigest, again.ContractDigest)
	request.Spec.Prompt = "another"
	apitest.Refused(t, 409, contracts.CodeIdempotencyConflict, c.dispatch(request))
}

func (c *catalog) frozen(kind workflow.DocumentKind, skill, path string) workflow.ContractDocument {
	return workflow.ContractDocument{
		Kind: kind, SkillID: skill, SourceID: c.sources[path].ID, Repository: c.Project.Repository, Commit: c.commit, Path: path,
		SHA256: canonjson.Digest([]byte("This is " + path + ".\n")),
	}
}

// Each refusal, named, with nothing frozen and the key unused.
func TestCatalogRefusals(t *testing.T) {
	t.Parallel()
	const hb, soul = "agents/worker/heartbeat.md", "agents/worker/soul.md"
	big := strings.Repeat("x", workflow.MaxProfileBytes)
	c := newCatalog(t, func(r *gitRepository) {
		r.write("docs/latin1.md", "caf\xe9\n")
		r.write("docs/nul.md", "a\x00b\n")
		r.write("docs/blank.md", " \n")
		r.write("docs/big.md", big+"x")
		r.write("docs/half.md", big[:len(big)/2])
		r.write("docs/half2.md", big[:len(big)/2])
		r.write("docs/damaged.md", "damaged\n")
		r.write("docs/lost.md", "lost\n")
		r.write("docs/dir/inner.md", "inner\n")
		require.NoError(r.t, os.Symlink("latin1.md", filepath.Join(r.dir, "docs/link.md")))
		require.NoError(r.t, os.Symlink("dir", filepath.Join(r.dir, "docs/linked")))
	})
	// One object is cut short, one is gone.
	object := func(path string) string {
		id := c.repository.git("rev-parse", "HEAD:"+path)
		return filepath.Join(c.repository.dir, ".git/objects", id[:2], id[2:])
	}
	other := c.repository.git("rev-parse", "HEAD:docs/half.md")
	wrong, err := os.ReadFile(filepath.Join(c.repository.dir, ".git/objects", other[:2], other[2:]))
	require.NoError(t, err)
	require.NoError(t, os.Chmod(object("docs/damaged.md"), 0o600))
	require.NoError(t, os.WriteFile(object("docs/damaged.md"), wrong, 0o600))
	require.NoError(t, os.Remove(object("docs/lost.md")))

	foreign := c.MakeProject(t, "owner")
	elsewhere := apitest.Into[workflow.Source](t, 201, c.Operator("POST", "/v1/projects/"+foreign.ID+"/sources", workflow.AddSource{Path: hb}))
	foreignAgent := apitest.Into[workflow.Agent](t, 201, c.Operator("POST", "/v1/agents", workflow.CreateAgent{ProjectID: foreign.ID, Name: "f"}))
	revoked := c.allow("docs/revoked.md")
	apitest.Into[workflow.Source](t, 200, c.revoke("docs/revoked.md"))

	// like makes the worker an agent whose soul is another document.
	like := func(path string) func(r *workflow.CatalogRequest) {
		c.allow(path)
		d := workerDefinition
		d.Soul = path
		a := c.agent("with "+path, "1", d)
		return func(r *workflow.CatalogRequest) { r.Spec.Profile = c.profile(a.ID, "1", d) }
	}
	two := workerDefinition
	two.Soul, two.Role.Instructions = "docs/half.md", "docs/half2.md"
	c.allow("docs/half.md")
	c.allow("docs/half2.md")
	twoAgent := c.agent("two halves", "1", two)
	disabled := c.agent("disabled", "1", workerDefinition)
	c.version(disabled.ID, "2", workerDefinition)
	c.status(disabled.ID, "2", workflow.AgentDeprecated)
	partly := c.agent("partly", "1", workerDefinition)
	c.version(partly.ID, "2", workerDefinition)
	c.status(partly.ID, "1", workflow.AgentDeprecated)

	for name, tc := range map[string]struct {
		change func(r *workflow.CatalogRequest)
		status int
		code   contracts.Code
		reason workflow.SourceReason
		path   string
	}{
		"missing": {func(r *workflow.CatalogRequest) { r.Spec.Profile.Sources = r.Spec.Profile.Sources[1:] }, 409, contracts.CodeSourceRefused, workflow.SourceMissing, "$.spec.profile.sources"},
		"extra": {func(r *workflow.CatalogRequest) {
			r.Spec.Verifier.Sources = append(r.Spec.Verifier.Sources, r.Spec.Profile.Sources[0])
		}, 409, contracts.CodeSourceRefused, workflow.SourceExtra, "$.spec.verifier.sources[1].ref"},
		"foreign":        {func(r *workflow.CatalogRequest) { r.Spec.Profile.Sources[0].SourceID = elsewhere.ID }, 409, contracts.CodeSourceRefused, workflow.SourceForeign, "$.spec.profile.sources[0].source_id"},
		"unknown":        {func(r *workflow.CatalogRequest) { r.Spec.Profile.Sources[0].SourceID = "no-such" }, 409, contracts.CodeSourceRefused, workflow.SourceForeign, "$.spec.profile.sources[0].source_id"},
		"revoked":        {func(r *workflow.CatalogRequest) { r.Spec.Profile.Sources[2].SourceID = revoked.ID }, 409, contracts.CodeSourceRefused, workflow.SourceRevoked, "$.spec.profile.sources[2].source_id"},
		"mismatched":     {func(r *workflow.CatalogRequest) { r.Spec.Profile.Sources[0].SourceID = c.sources[soul].ID }, 409, contracts.CodeSourceRefused, workflow.SourceMismatched, "$.spec.profile.sources[0].source_id"},
		"unknown commit": {func(r *workflow.CatalogRequest) { r.Spec.Verifier.Sources[0].CommitSHA = strings.Repeat("a", 40) }, 409, contracts.CodeSourceRefused, workflow.SourceMissing, "$.spec.verifier.sources[0].commit_sha"},
		"a tree as commit": {func(r *workflow.CatalogRequest) {
			r.Spec.Profile.Sources[1].CommitSHA = c.repository.git("rev-parse", c.commit+"^{tree}")
		}, 409, contracts.CodeSourceRefused, workflow.SourceMissing, "$.spec.profile.sources[1].commit_sha"},
		"no such document":       {like("docs/no-such.md"), 409, contracts.CodeSourceRefused, workflow.SourceMissing, "$.spec.profile.sources[2].commit_sha"},
		"a directory":            {like("docs/dir"), 409, contracts.CodeSourceRefused, workflow.SourceMissing, "$.spec.profile.sources[2].commit_sha"},
		"below a document":       {like("docs/latin1.md/x"), 409, contracts.CodeSourceRefused, workflow.SourceMissing, "$.spec.profile.sources[2].commit_sha"},
		"another object":         {like("docs/damaged.md"), 409, contracts.CodeSourceRefused, workflow.SourceTruncated, "$.spec.profile.sources[2].commit_sha"},
		"lost object":            {like("docs/lost.md"), 409, contracts.CodeSourceRefused, workflow.SourceTruncated, "$.spec.profile.sources[2].commit_sha"},
		"symlink":                {like("docs/link.md"), 409, contracts.CodeSourceRefused, workflow.SourceSymlinked, "$.spec.profile.sources[2].commit_sha"},
		"through a symlink":      {like("docs/linked/inner.md"), 409, contracts.CodeSourceRefused, workflow.SourceSymlinked, "$.spec.profile.sources[2].commit_sha"},
		"not UTF-8":              {like("docs/latin1.md"), 409, contracts.CodeSourceRefused, workflow.SourceNotUTF8, "$.spec.profile.sources[2].commit_sha"},
		"U+0000":                 {like("docs/nul.md"), 409, contracts.CodeSourceRefused, workflow.SourceNotText, "$.spec.profile.sources[2].commit_sha"},
		"blank":                  {like("docs/blank.md"), 409, contracts.CodeSourceRefused, workflow.SourceNotText, "$.spec.profile.sources[2].commit_sha"},
		"oversized":              {like("docs/big.md"), 409, contracts.CodeSourceRefused, workflow.SourceOversized, "$.spec.profile.sources[2].commit_sha"},
		"oversized together":     {func(r *workflow.CatalogRequest) { r.Spec.Profile = c.profile(twoAgent.ID, "1", two) }, 409, contracts.CodeSourceRefused, workflow.SourceOversized, "$.spec.profile"},
		"unknown agent":          {func(r *workflow.CatalogRequest) { r.Spec.Profile.AgentID = "no-such" }, 404, contracts.CodeNotFound, "", "$.spec.profile.agent_id"},
		"foreign agent":          {func(r *workflow.CatalogRequest) { r.Spec.Profile.AgentID = foreignAgent.ID }, 404, contracts.CodeNotFound, "", "$.spec.profile.agent_id"},
		"unknown version":        {func(r *workflow.CatalogRequest) { r.Spec.Profile.Version = workflow.StringVersion("9") }, 404, contracts.CodeNotFound, "", "$.spec.profile.version"},
		"latest deprecated":      {func(r *workflow.CatalogRequest) { r.Spec.Profile.AgentID = disabled.ID }, 409, contracts.CodeAgentUnavailable, "", "$.spec.profile.agent_id"},
		"deprecated":             {func(r *workflow.CatalogRequest) { r.Spec.Profile.AgentID = partly.ID }, 409, contracts.CodeAgentUnavailable, "", "$.spec.profile.version"},
		"same agent":             {func(r *workflow.CatalogRequest) { r.Spec.Verifier.AgentID = r.Spec.Profile.AgentID }, 422, contracts.CodeInvalid, "", "$.spec.verifier.agent_id"},
		"verifier that writes":   {func(r *workflow.CatalogRequest) { r.Spec.Verifier.AllowWorkspaceWrites = true }, 422, contracts.CodeInvalid, "", "$.spec.verifier.allow_workspace_writes"},
		"account for synthetic":  {func(r *workflow.CatalogRequest) { r.Spec.Profile.AccountID = "default" }, 422, contracts.CodeInvalid, "", "$.spec.profile.account_id"},
		"36 sources":             {func(r *workflow.CatalogRequest) { r.Spec.Profile.Sources = many(36) }, 422, contracts.CodeInvalid, "", "$.spec.profile.sources"},
		"35 sources are allowed": {func(r *workflow.CatalogRequest) { r.Spec.Profile.Sources = many(35) }, 409, contracts.CodeSourceRefused, workflow.SourceExtra, "$.spec.profile.sources[0].ref"},
		"no sources":             {func(r *workflow.CatalogRequest) { r.Spec.Profile.Sources = nil }, 422, contracts.CodeInvalid, "", "$.spec.profile.sources"},
		"one reference twice":    {func(r *workflow.CatalogRequest) { r.Spec.Profile.Sources[1].Ref = hb }, 422, contracts.CodeInvalid, "", "$.spec.profile.sources"},
		"another version":        {func(r *workflow.CatalogRequest) { r.Spec.ExpectedTaskVersion = 2; r.Spec.Profile.AgentID = "no-such" }, 409, contracts.CodeVersionConflict, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			task := c.AddTask(t)
			request := c.request(task, c.Node.ID)
			tc.change(&request)
			a := c.dispatch(request)
			apitest.Refused(t, tc.status, tc.code, a)
			var p struct {
				Path   string                `json:"path"`
				Reason workflow.SourceReason `json:"reason"`
				Detail string                `json:"detail"`
			}
			require.NoError(t, json.Unmarshal(a.Body, &p))
			require.Equal(t, tc.path, p.Path, "%s", a.Body)
			require.Equal(t, tc.reason, p.Reason, "%s", a.Body)
			require.NotEmpty(t, p.Detail)
			apitest.Refused(t, 404, contracts.CodeNotFound, c.Operator("GET", "/v1/tasks/"+task.ID+"/workflow", nil))
		})
	}
	var frozen, keys int
	require.NoError(t, c.Pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM revisions), (SELECT count(*) FROM idempotency)`).Scan(&frozen, &keys))
	require.Zero(t, frozen)
	require.Zero(t, keys)

	// An older active version can be chosen while the agent is available.
	older := c.agent("older", "1", workerDefinition)
	c.version(older.ID, "2", workerDefinition)
	request := c.request(c.AddTask(t), c.Node.ID)
	request.Spec.Profile.AgentID = older.ID
	apitest.Into[workflow.Detail](t, 201, c.dispatch(request))
}

func many(n int) (out []workflow.CatalogSource) {
	for i := range n {
		out = append(out, workflow.CatalogSource{Ref: fmt.Sprintf("x/%d", i), SourceID: "s", CommitSHA: strings.Repeat("a", 40)})
	}
	return out
}

// A project without a mirror, and a mirror that is none.
func TestCatalogMirrors(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, nil)
	request := c.request(c.AddTask(t), c.Node.ID)
	away := c.repository.dir + ".away"
	require.NoError(t, os.Rename(c.repository.dir, away))
	apitest.Refused(t, 503, contracts.CodeUnavailable, apitest.Once(t, "POST", c.URL, "/v1/workflows/catalog", c.OwnerToken, request))
	require.NoError(t, os.Rename(away, c.repository.dir))
	_, err := c.Pool.Exec(t.Context(), `UPDATE projects SET repository = 'https://example.test/other.git'`)
	require.NoError(t, err)
	a := c.dispatch(request)
	apitest.Refused(t, 409, contracts.CodeSourceRefused, a)
	require.Contains(t, string(a.Body), `"reason":"no_mirror"`)
}

// Replacement objects do not change what a commit says.
func TestCatalogReadsWhatWasCommitted(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, nil)
	old := c.repository.git("rev-parse", "HEAD:agents/verifier.md")
	c.repository.write("other.md", "Replaced.\n")
	c.repository.commit()
	c.repository.git("replace", old, c.repository.git("rev-parse", "HEAD:other.md"))
	d := apitest.Into[workflow.Detail](t, 201, c.dispatch(c.request(c.AddTask(t), c.Node.ID)))
	require.Contains(t, string(d.Contract), "This is agents/verifier.md.")
	require.NotContains(t, string(d.Contract), "Replaced")
}

// Authority is needed at the start: each scope, the role, the node.
func TestCatalogAuthority(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, nil)
	request := c.request(c.AddTask(t), c.Node.ID)
	send := func(token string) apitest.Answer {
		return apitest.Call(t, "POST", c.URL, "/v1/workflows/catalog", token, request)
	}
	all := []workflow.Scope{workflow.ScopeTasksWrite, workflow.ScopeAgentsRead, workflow.ScopeDocumentsRead}
	for i := range all {
		some := append(append([]workflow.Scope{}, all[:i]...), all[i+1:]...)
		a := send(c.MakeToken(t, "owner", some...).Token)
		apitest.Refused(t, 403, contracts.CodeForbidden, a)
		require.Contains(t, string(a.Body), string(all[i]))
	}
	c.MakeMember(t, "owner", c.Project.ID, "member", workflow.RoleMember)
	apitest.Refused(t, 403, contracts.CodeForbidden, send(c.MakeToken(t, "member", all...).Token))
	apitest.Refused(t, 404, contracts.CodeNotFound, send(c.MakeToken(t, "stranger", all...).Token))
	_, err := c.Store.PatchNode(t.Context(), "owner", c.Node.ID, workflow.PatchNode{Status: ptr(workflow.NodePaused)})
	require.NoError(t, err)
	apitest.Refused(t, 409, contracts.CodeNodePaused, send(c.OwnerToken))
	_, err = c.Store.PatchNode(t.Context(), "owner", c.Node.ID, workflow.PatchNode{Status: ptr(workflow.NodeActive)})
	require.NoError(t, err)
	apitest.Into[workflow.Detail](t, 201, send(c.MakeToken(t, "owner", all...).Token))
}

// Revocation against commit: whichever comes first, no contract is frozen from a source that was
// revoked before.
func TestCatalogRevocationRace(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("200 rounds")
	}
	c := newCatalog(t, nil)
	const path = "agents/worker/soul.md"
	won := map[bool]int{}
	for round := range 200 {
		node, _ := c.AddNode(t)
		request := c.request(c.AddTask(t), node.ID)
		var (
			wg                  sync.WaitGroup
			dispatched, revoked apitest.Answer
		)
		// Reading takes some milliseconds: the revocation walks over all of them.
		wg.Go(func() { dispatched = c.dispatch(request) })
		wg.Go(func() {
			timer := time.NewTimer(time.Duration(round%40) * time.Millisecond)
			<-timer.C
			revoked = c.revoke(path)
		})
		wg.Wait()
		source := apitest.Into[workflow.Source](t, 200, revoked)
		won[dispatched.Status == http.StatusCreated]++
		if dispatched.Status == http.StatusCreated {
			d := apitest.Into[workflow.Detail](t, 201, dispatched)
			require.True(t, d.History[0].At.Before(*source.RevokedAt), "frozen at %v, revoked at %v", d.History[0].At, source.RevokedAt)
		} else {
			apitest.Refused(t, 409, contracts.CodeSourceRefused, dispatched)
			require.Contains(t, string(dispatched.Body), `"reason":"revoked"`)
		}
		c.allow(path)
	}
	require.NotZero(t, won[true], "the revocation always won")
	require.NotZero(t, won[false], "the dispatch always won")
	t.Logf("frozen %d, refused %d", won[true], won[false])
}

// What was allowed when the documents were asked for is asked again when the contract is frozen.
func TestCatalogAuthorityAtCommit(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, nil)
	ctx := t.Context()
	c.MakeMember(t, "owner", c.Project.ID, "second", workflow.RoleOwner)
	for name, tc := range map[string]struct {
		lose func(by *store.Identity)
		code contracts.Code
	}{
		"token": {func(by *store.Identity) {
			_, err := c.Store.RevokeToken(ctx, *by, by.TokenID, workflow.RevokeToken{})
			require.NoError(t, err)
		}, contracts.CodeUnauthenticated},
		"scope": {func(by *store.Identity) {
			token := c.MakeToken(t, by.User, workflow.ScopeTasksWrite, workflow.ScopeAgentsRead)
			by.TokenID = token.ID
		}, contracts.CodeForbidden},
		"role": {func(by *store.Identity) {
			_, err := c.Store.PutMember(ctx, "owner", c.Project.ID, by.User, workflow.PutMember{Role: workflow.RoleMember, Status: "active"})
			require.NoError(t, err)
		}, contracts.CodeForbidden},
		"node": {func(*store.Identity) {
			_, err := c.Store.PatchNode(ctx, "owner", c.Node.ID, workflow.PatchNode{Status: ptr(workflow.NodePaused)})
			require.NoError(t, err)
		}, contracts.CodeNodePaused},
		"source":  {func(*store.Identity) { c.revoke("skills/go.md") }, contracts.CodeSourceRefused},
		"version": {func(*store.Identity) { c.status(c.worker.ID, "1", workflow.AgentDeprecated) }, contracts.CodeAgentUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			c.MakeMember(t, "owner", c.Project.ID, "second", workflow.RoleOwner)
			_, err := c.Store.PatchNode(ctx, "owner", c.Node.ID, workflow.PatchNode{Status: ptr(workflow.NodeActive)})
			require.NoError(t, err)
			c.status(c.worker.ID, "1", workflow.AgentActive)
			if c.revoke("skills/go.md").Status == 200 {
				c.allow("skills/go.md")
			}
			by, err := c.Store.Authenticate(ctx, c.MakeToken(t, "second").Token)
			require.NoError(t, err)
			request := c.request(c.AddTask(t), c.Node.ID)
			asked := store.CatalogDispatch{By: by, Request: request, RequestSHA256: strings.Repeat("0", 64)}
			_, err = c.Store.PlanCatalog(ctx, asked)
			require.NoError(t, err)
			tc.lose(&asked.By)
			profile := func(p workflow.CatalogProfile) workflow.Profile {
				return workflow.Profile{ProfileID: p.AgentID, Version: p.Version, Runtime: workflow.RuntimeSynthetic, Instructions: "i"}
			}
			_, err = c.Store.Dispatch(ctx, store.Dispatch{
				User: by.User, RequestSHA256: asked.RequestSHA256, Lease: time.Minute, Deadline: time.Minute, Catalog: &asked,
				Request: workflow.DispatchRequest{Spec: request.Spec.Inline(profile(request.Spec.Profile), profile(request.Spec.Verifier)), WriteContext: request.WriteContext},
			})
			require.Equal(t, tc.code, contracts.CodeOf(err), "%v", err)
		})
	}
	var frozen int
	require.NoError(t, c.Pool.QueryRow(ctx, `SELECT count(*) FROM revisions`).Scan(&frozen))
	require.Zero(t, frozen)
}

// The same over MCP.
func TestCatalogOverMCP(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, nil)
	session := agent(t, c.URL, c.OwnerToken)
	request := c.request(c.AddTask(t), c.Node.ID)
	d := use[workflow.Detail](t, session, "workflow_dispatch_catalog", request)
	require.Equal(t, workflow.PhaseOffered, d.Phase)
	require.Equal(t, d.WorkflowID, use[workflow.Detail](t, session, "workflow_dispatch_catalog", request).WorkflowID)
	c.revoke("skills/go.md")
	refusedRequest := c.request(c.AddTask(t), c.Node.ID)
	arguments, err := json.Marshal(refusedRequest)
	require.NoError(t, err)
	r := rawTool(t, c.URL, c.OwnerToken, "workflow_dispatch_catalog", string(arguments))
	require.True(t, r.IsError)
	require.JSONEq(t, string(c.dispatch(refusedRequest).Body), string(r.StructuredContent))
	require.Contains(t, string(r.StructuredContent), `"code":"source_refused"`)
}

// The Go client's own calls.
func TestCatalogClient(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, nil)
	ctx, operator := t.Context(), client.New(c.URL, c.OwnerToken)
	d, err := operator.DispatchCatalog(ctx, "", c.request(c.AddTask(t), c.Node.ID))
	require.NoError(t, err)
	require.Equal(t, workflow.PhaseOffered, d.Phase)
	a, err := operator.CreateAgent(ctx, workflow.CreateAgent{ProjectID: c.Project.ID, Name: "another"})
	require.NoError(t, err)
	v, err := operator.AddAgentVersion(ctx, a.ID, workflow.AddAgentVersion{Version: workflow.StringVersion("1/2"), AgentDefinition: verifierDefinition})
	require.NoError(t, err)
	v, err = operator.PatchAgentVersion(ctx, a.ID, v.Version.Text(), workflow.PatchAgentVersion{Status: workflow.AgentDeprecated})
	require.NoError(t, err)
	require.Equal(t, workflow.AgentDeprecated, v.Status)
	a, err = operator.Agent(ctx, a.ID)
	require.NoError(t, err)
	require.Equal(t, []workflow.AgentVersion{v}, a.Versions)
	agents, err := operator.Agents(ctx, c.Project.ID)
	require.NoError(t, err)
	require.Len(t, agents, 3)
	source, err := operator.AddSource(ctx, c.Project.ID, workflow.AddSource{Path: "docs/x.md"})
	require.NoError(t, err)
	source, err = operator.RevokeSource(ctx, c.Project.ID, source.ID)
	require.NoError(t, err)
	require.NotNil(t, source.RevokedAt)
	sources, err := operator.Sources(ctx, c.Project.ID)
	require.NoError(t, err)
	require.Contains(t, sources, source)
}

// Agents, versions and sources: who may, what is there already, what a repetition does.
func TestCatalogSetup(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, nil)
	stranger := c.MakeToken(t, "stranger").Token
	c.MakeMember(t, "owner", c.Project.ID, "member", workflow.RoleMember)
	member := c.MakeToken(t, "member").Token
	sources, versions := "/v1/projects/"+c.Project.ID+"/sources", "/v1/agents/"+c.worker.ID+"/versions"
	version := workflow.AddAgentVersion{Version: workflow.StringVersion("2"), AgentDefinition: workerDefinition}
	for path, body := range map[string]any{
		"/v1/agents": workflow.CreateAgent{ProjectID: c.Project.ID, Name: "n"}, sources: workflow.AddSource{Path: "p"}, versions: version,
		sources + "/" + c.sources["skills/go.md"].ID + "/revoke": workflow.RevokeSource{},
	} {
		apitest.Refused(t, 404, contracts.CodeNotFound, apitest.Call(t, "POST", c.URL, path, stranger, body))
		apitest.Refused(t, 403, contracts.CodeForbidden, apitest.Call(t, "POST", c.URL, path, member, body))
	}
	patch := workflow.PatchAgentVersion{Status: workflow.AgentDeprecated}
	apitest.Refused(t, 404, contracts.CodeNotFound, apitest.Call(t, "PATCH", c.URL, versions+"/1", stranger, patch))
	apitest.Refused(t, 404, contracts.CodeNotFound, c.Operator("PATCH", versions+"/9", patch))
	apitest.Refused(t, 404, contracts.CodeNotFound, c.Operator("POST", sources+"/no-such/revoke", workflow.RevokeSource{}))
	for _, path := range []string{sources, "/v1/agents?project_id=" + c.Project.ID, "/v1/agents/" + c.worker.ID} {
		apitest.Refused(t, 404, contracts.CodeNotFound, apitest.Call(t, "GET", c.URL, path, stranger, nil))
		require.Equal(t, 200, apitest.Call(t, "GET", c.URL, path, member, nil).Status)
	}

	apitest.Refused(t, 409, contracts.CodeAlreadyExists, c.Operator("POST", sources, workflow.AddSource{Path: "skills/go.md"}))
	first := apitest.Into[workflow.Source](t, 200, c.revoke("skills/go.md"))
	require.Equal(t, first, apitest.Into[workflow.Source](t, 200, c.revoke("skills/go.md")))
	c.allow("skills/go.md")
	require.Len(t, apitest.Into[workflow.SourceList](t, 200, c.Operator("GET", sources, nil)).Sources, 6)

	apitest.Refused(t, 409, contracts.CodeAlreadyExists, c.Operator("POST", versions, []byte(`{"version":1,"role":{"heartbeat":"h"},"runtime":"synthetic"}`)))
	for body, path := range map[string]string{
		`{"version":2,"role":{"heartbeat":"h"},"soul":"h","runtime":"synthetic"}`:                                  "$.soul",
		`{"version":2,"role":{"heartbeat":"h"},"runtime":"codex_cli"}`:                                             "$.model",
		`{"version":2,"role":{"heartbeat":"../h"},"runtime":"synthetic"}`:                                          "$.role.heartbeat",
		`{"version":2,"role":{},"runtime":"synthetic"}`:                                                            "$.role.heartbeat",
		`{"version":0,"role":{"heartbeat":"h"},"runtime":"synthetic"}`:                                             "$.version",
		`{"version":2,"role":{"heartbeat":"h"},"runtime":"synthetic","skills":[{"id":"a","version":1,"ref":"h"}]}`: "$.skills[0].ref",
		`{"version":2,"role":{"heartbeat":"h"},"runtime":"synthetic","reasoning":"extreme"}`:                       "$.reasoning",
		`{"version":2,"role":{"heartbeat":"h","hartbeat":"h"},"runtime":"synthetic"}`:                              "$.role.hartbeat",
	} {
		p := refused(t, 422, "invalid", c.Operator("POST", versions, []byte(body)))
		require.Equal(t, path, p.Path, body)
	}
	made := apitest.Into[workflow.AgentVersion](t, 201, c.Operator("POST", versions, version))
	require.Equal(t, workerDefinition, made.AgentDefinition)
	read := func() workflow.Agent {
		return apitest.Into[workflow.Agent](t, 200, c.Operator("GET", "/v1/agents/"+c.worker.ID, nil))
	}
	require.Len(t, read().Versions, 2)
	require.True(t, read().Available)
	c.status(c.worker.ID, "2", workflow.AgentDeprecated)
	require.False(t, read().Available)
	list := apitest.Into[workflow.AgentList](t, 200, c.Operator("GET", "/v1/agents?project_id="+c.Project.ID, nil))
	require.Equal(t, []string{"verifier", "worker"}, []string{list.Agents[0].Name, list.Agents[1].Name})
	require.Equal(t, read(), list.Agents[1])
}
