// The OpenAPI document against the server: every route, called with good and bad input.

package api_test

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/api"
	"countersign/api/apitest"
	"countersign/contracts/workflow"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// described is a server together with what it says of itself.
type described struct {
	*apitest.Stack
	t      testing.TB
	doc    *openapi3.T
	router routers.Router
	good   map[string]int // "METHOD path" → calls answered 2xx
	bad    map[string]int // … and with a problem
}

func newDescribed(t testing.TB, s *apitest.Stack) *described {
	t.Helper()
	a := apitest.Call(t, "GET", s.URL, "/openapi.json", "", nil)
	require.Equal(t, 200, a.Status)
	d := &described{Stack: s, t: t, good: map[string]int{}, bad: map[string]int{}}
	openapi3filter.RegisterBodyDecoder("text/html", openapi3filter.PlainBodyDecoder)
	var err error
	d.doc, err = openapi3.NewLoader().LoadFromData(a.Body)
	require.NoError(t, err)
	require.NoError(t, d.doc.Validate(t.Context()))
	require.Equal(t, "3.1.0", d.doc.OpenAPI)
	d.router, err = legacy.NewRouter(d.doc)
	require.NoError(t, err)
	return d
}

// call sends a request and holds the answer to the document; a request that the server takes must be
// one that the document allows.
func (d *described) call(method, path, token string, body any) apitest.Answer {
	d.t.Helper()
	a := apitest.Call(d.t, method, d.URL, path, token, body)
	d.hold(method, path, http.Header{"Content-Type": {"application/json"}}, body, a)
	return a
}

// bytes is call for the routes of raw bytes.
func (d *described) bytes(method, path string, header http.Header, token, body string) apitest.Answer {
	d.t.Helper()
	header.Set("Content-Type", "application/octet-stream")
	a := apitest.CallWith(d.t, method, d.URL, path, token, header, strings.NewReader(body))
	d.hold(method, path, header, []byte(body), a)
	return a
}

func (d *described) hold(method, path string, header http.Header, body any, a apitest.Answer) {
	d.t.Helper()
	var content io.Reader = http.NoBody
	if body != nil {
		data, raw := body.([]byte)
		if !raw {
			var err error
			data, err = json.Marshal(body)
			require.NoError(d.t, err)
		}
		content = bytes.NewReader(data)
	}
	r, err := http.NewRequestWithContext(d.t.Context(), method, d.URL+path, content)
	require.NoError(d.t, err)
	if body != nil {
		r.Header = header
	}
	route, params, err := d.router.FindRoute(r)
	require.NoError(d.t, err, "%s %s", method, path)
	in := &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route, Options: &openapi3filter.Options{
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true, MultiError: false,
	}}
	name := method + " " + route.Path
	if a.Status < 300 {
		d.good[name]++
		require.NoError(d.t, openapi3filter.ValidateRequest(context.Background(), in), "the server takes what the document does not allow: %s", name)
	} else {
		d.bad[name]++
	}
	require.NoError(d.t, openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: a.Status, Header: a.Header, Body: io.NopCloser(bytes.NewReader(a.Body)), Options: in.Options,
	}), "%s answered %d: %s", name, a.Status, a.Body)
}

// TestDescribedRoutes: the document and the server have the same routes, all with a name.
func TestDescribedRoutes(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	a, url := d.serve(t, api.Options{Store: d.Store, Metrics: http.NotFoundHandler()})
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Summary     string `json:"summary"`
		} `json:"paths"`
	}
	require.NoError(t, json.Unmarshal(apitest.Call(t, "GET", url, "/openapi.json", "", nil).Body, &doc))
	var said []string
	ids := map[string]bool{}
	for path, operations := range doc.Paths {
		for method, o := range operations {
			said = append(said, strings.ToUpper(method)+" "+path)
			require.NotEmpty(t, o.OperationID, "%s %s", method, path)
			require.NotEmpty(t, o.Summary, "%s %s", method, path)
			require.False(t, ids[o.OperationID], o.OperationID)
			ids[o.OperationID] = true
		}
	}
	require.ElementsMatch(t, api.Served(a), said)
	require.ElementsMatch(t, api.Named(), said)
}

// TestDocsPage: the page shows every operation and needs nothing from elsewhere.
func TestDocsPage(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	a := d.call("GET", "/docs", "", nil)
	require.Equal(t, 200, a.Status)
	require.Contains(t, a.Header.Get("Content-Security-Policy"), "default-src 'none'")
	for _, r := range d.api.Routes() {
		require.Contains(t, string(a.Body), "<b>"+r.Method+"</b> <code>"+r.Path+"</code>")
	}
	require.NotRegexp(t, `<script|src=|@import|url\(|href="(http|//)`, string(a.Body))
}

// TestAnswersAreAsDescribed calls every route with good and with bad input.
func TestAnswersAreAsDescribed(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, nil)
	d := newDescribed(t, c.Stack)
	d.goodCalls()
	d.goodArtifactCalls()
	d.goodCatalogCalls(c)
	for _, v := range dispatchVectors(t) {
		d.ok("POST", "/v1/worker-dispatch/evaluate", []byte(v.Input))
	}
	d.boundCalls()
	d.badCalls()
	door := newDoor(t)
	for _, r := range door.api.Routes() {
		name := r.Method + " " + r.Path
		require.NotZero(t, d.good[name], "no good call of %s", name)
		require.NotZero(t, d.bad[name], "no bad call of %s", name)
	}
	for _, path := range []string{"/readyz", "/openapi.json", "/docs"} {
		require.NotZero(t, d.good["GET "+path], path)
	}
}

// ok and as make a call that must be answered well.
func (d *described) ok(method, path string, body any) map[string]any {
	d.t.Helper()
	return d.as(d.OwnerToken, method, path, body)
}

func (d *described) as(token, method, path string, body any) map[string]any {
	d.t.Helper()
	a := d.call(method, path, token, body)
	require.Less(d.t, a.Status, 300, "%s %s: %s", method, path, a.Body)
	out := map[string]any{}
	if strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") {
		require.NoError(d.t, json.Unmarshal(a.Body, &out))
	}
	return out
}

// goodCalls are a whole life: setup, a refusal, a correction, a receipt.
func (d *described) goodCalls() {
	t, wc := d.t, d.WriteContext()
	for _, path := range []string{"/healthz", "/openapi.json", "/docs", "/v1/instance", "/v1/keys"} {
		d.as("", "GET", path, nil)
	}
	project := d.ok("POST", "/v1/projects", workflow.CreateProject{Name: "p", Repository: "r"})["id"].(string)
	d.ok("GET", "/v1/projects", nil)
	d.ok("GET", "/v1/projects/"+project, nil)
	d.ok("GET", "/v1/projects/"+project+"/members", nil)
	d.ok("PUT", "/v1/projects/"+project+"/members/owner", workflow.PutMember{Role: workflow.RoleOwner, Status: "active"})
	token := d.ok("POST", "/v1/tokens", workflow.CreateToken{User: "ada", Scopes: []workflow.Scope{workflow.ScopeTasksRead}, ExpiresIn: ptr(int64(60))})
	d.ok("POST", "/v1/tokens/"+token["id"].(string)+"/revoke", nil)
	node := d.ok("POST", "/v1/nodes", workflow.EnrollNode{
		Name: "n", AnchorProjectID: project, Accounts: []workflow.Account{{AccountID: "a", Runtime: workflow.RuntimeCodexCLI}},
	})["node"].(map[string]any)["id"].(string)
	d.ok("GET", "/v1/nodes", nil)
	d.ok("GET", "/v1/nodes/"+node, nil)
	d.ok("PATCH", "/v1/nodes/"+node, workflow.PatchNode{Note: ptr("shelf"), WriteContext: &workflow.WriteContext{Resource: wc.Resource, InstanceID: wc.InstanceID, ProjectID: &project}})

	ordinary := d.ok("POST", "/v1/tasks", workflow.CreateTask{
		WriteContext: wc, Title: "t", Goal: "g", Labels: []string{"x"}, ArtifactSpec: []byte(`{"kind":"code_diff"}`),
	})["id"].(string)
	d.ok("PATCH", "/v1/tasks/"+ordinary, workflow.PatchTask{WriteContext: wc, ExpectedVersion: 1, Title: ptr("u")})
	d.ok("POST", "/v1/tasks/"+ordinary+"/complete", workflow.CompleteTask{WriteContext: wc, ExpectedVersion: 2, ResultSummary: ptr("done")})
	d.ok("GET", "/v1/tasks/"+ordinary, nil)

	refusedTask := d.AddTask(t)
	request := workflow.DispatchRequest{Spec: d.Spec(refusedTask), WriteContext: wc}
	request.Spec.Profile.Skills = []workflow.Skill{{ID: "s", Version: workflow.StringVersion("1"), Content: "c"}}
	d.ok("POST", "/v1/workflows", request)
	d.ok("POST", "/v1/workflows", request)
	d.attempt(func(*apitest.Held) workflow.Event {
		return workflow.Event{State: workflow.EventFailed, Refusal: []byte(`{"contract":"worker-completion/v1","kind":"underspecified","detail":"d","question":"q?"}`)}
	})
	d.ok("GET", "/v1/inbox", nil)
	d.ok("GET", "/v1/tasks/"+refusedTask.ID, nil)
	d.ok("GET", "/v1/tasks/"+refusedTask.ID+"/workflow", nil)
	d.ok("GET", "/v1/tasks?project_id="+d.Project.ID+"&status=open", nil)

	task := d.AddTask(t)
	detail := d.ok("POST", "/v1/workflows", workflow.DispatchRequest{Spec: d.Spec(task), WriteContext: wc})
	d.ok("GET", "/v1/workflows/"+detail["workflow_id"].(string)+"/live", nil)
	work := func(h *apitest.Held) workflow.Event { return h.Completed(strings.Repeat("c0", 20)) }
	judge := func(failing ...string) func(h *apitest.Held) workflow.Event {
		return func(h *apitest.Held) workflow.Event {
			e := h.Completed(*h.Plan.Workflow.CandidateCommit)
			e.Verdict = h.Verdict(failing...)
			return e
		}
	}
	d.attempt(work)
	d.attempt(judge("tests"))
	d.ok("GET", "/v1/workflows/"+detail["workflow_id"].(string)+"?after=1&limit=2", nil)
	d.attempt(work)
	d.attempt(judge())
	d.ok("GET", "/v1/tasks/"+task.ID+"/receipt", nil)
	d.ok("GET", "/v1/tasks/"+task.ID+"/ledger", nil)
	d.ok("GET", "/v1/tasks?project_id="+d.Project.ID, nil)
	d.as(d.NodeToken, "GET", "/bridge/v1/tasks/"+task.ID+"/workflow", nil)

	cancelled := d.DispatchTask()
	d.as("", "GET", "/readyz", nil) // by now the worker polls
	d.ok("POST", "/v1/tasks/"+cancelled.TaskID+"/workflow/control",
		workflow.ControlRequest{ExpectedVersion: 1, Action: workflow.ControlCancel, WorkflowID: &cancelled.WorkflowID, WriteContext: wc})
}

// boundCalls are a dispatch under the capability contract that is refused, and one to its receipt.
func (d *described) boundCalls() {
	spec := d.Spec(d.AddTask(d.t))
	spec.WorkerDispatch = workerDispatch(-time.Hour)
	require.Equal(d.t, 409, d.call("POST", "/v1/workflows", d.OwnerToken, workflow.DispatchRequest{Spec: spec, WriteContext: d.WriteContext()}).Status)
	node, token := d.AddNode(d.t)
	d.Node, d.NodeToken = node, token
	spec.BridgeID, spec.WorkerDispatch = node.ID, workerDispatch(time.Hour)
	d.ok("POST", "/v1/workflows", workflow.DispatchRequest{Spec: spec, WriteContext: d.WriteContext()})
	for _, verifies := range []bool{false, true} {
		id := d.as(token, "GET", "/bridge/v1/executions?wait=10", nil)["executions"].([]any)[0].(map[string]any)["execution_id"].(string)
		at := "/bridge/v1/executions/" + id
		a := d.call("POST", at+"/claim", token, workflow.ClaimRequest{ClaimID: uuid.NewString()})
		h := &apitest.Held{ClaimAnswer: apitest.Into[workflow.ClaimAnswer](d.t, 200, a), Session: uuid.NewString()}
		last := seen(h.Completed(strings.Repeat("c0", 20)))
		if verifies {
			last.Verdict = h.Verdict()
		}
		for i, e := range []workflow.Event{report(noCapacity), report(), started(h), last} {
			e.Fence, e.Sequence = h.Fence(), i+1
			d.as(token, "POST", at+"/events", e)
		}
	}
	d.ok("GET", "/v1/tasks/"+spec.TaskID+"/workflow", nil)
	d.ok("GET", "/v1/tasks/"+spec.TaskID, nil)
	d.ok("GET", "/v1/tasks/"+spec.TaskID+"/receipt", nil)
}

// goodCatalogCalls dispatch by catalog.
func (d *described) goodCatalogCalls(c *catalog) {
	a := d.ok("POST", "/v1/agents", workflow.CreateAgent{ProjectID: d.Project.ID, Name: "n"})
	versions := "/v1/agents/" + a["id"].(string) + "/versions"
	d.ok("POST", versions, workflow.AddAgentVersion{Version: workflow.StringVersion("1"), AgentDefinition: workerDefinition})
	d.ok("PATCH", versions+"/1", workflow.PatchAgentVersion{Status: workflow.AgentDeprecated})
	d.ok("GET", "/v1/agents/"+a["id"].(string), nil)
	d.ok("GET", "/v1/agents?project_id="+d.Project.ID, nil)
	request := c.request(d.AddTask(d.t), d.Node.ID)
	d.ok("POST", "/v1/workflows/catalog", request)
	d.ok("POST", "/v1/workflows/catalog", request)
	sources := "/v1/projects/" + d.Project.ID + "/sources"
	s := d.ok("POST", sources, workflow.AddSource{Path: "docs/x.md"})
	d.ok("POST", sources+"/"+s["id"].(string)+"/revoke", workflow.RevokeSource{})
	d.ok("GET", sources, nil)
	request.Spec.IdempotencyKey, request.Spec.Profile.Sources[0].SourceID = "another", s["id"].(string)
	require.Equal(d.t, 409, d.call("POST", "/v1/workflows/catalog", d.OwnerToken, request).Status)
}

// goodArtifactCalls take a task that produces an artifact to its verification.
func (d *described) goodArtifactCalls() {
	wc := d.WriteContext()
	task := apitest.Into[workflow.Task](d.t, 201, d.call("POST", "/v1/tasks", d.OwnerToken, workflow.CreateTask{
		WriteContext: wc, Title: "t", Goal: "g", ArtifactSpec: []byte(`{"kind":"report","output_path":"r.md"}`),
	}))
	d.ok("POST", "/v1/workflows", workflow.DispatchRequest{Spec: d.Spec(task), WriteContext: wc})
	d.attempt(func(h *apitest.Held) workflow.Event {
		up := apitest.Into[workflow.Upload](d.t, 200, d.bytes("PUT", "/bridge/v1/executions/"+h.ExecutionID+"/artifact", h.FenceHeader(), d.NodeToken, "All is well.\n"))
		return h.Produced(up.ContentHash)
	})
	d.attempt(func(h *apitest.Held) workflow.Event {
		require.Equal(d.t, 200, d.bytes("GET", "/bridge/v1/executions/"+h.ExecutionID+"/candidate", h.FenceHeader(), d.NodeToken, "").Status)
		e := h.Produced(*h.Plan.Workflow.CandidateHash)
		require.Equal(d.t, 201, d.bytes("POST", "/bridge/v1/executions/"+h.ExecutionID+"/attachments", h.FenceHeader(), d.NodeToken, "seen").Status)
		e.Verdict = h.Verdict()
		return e
	})
	attached := apitest.Into[workflow.LineageEntry](d.t, 201, d.bytes("POST", "/v1/projects/"+d.Project.ID+"/attachments", http.Header{}, d.OwnerToken, "numbers"))
	require.Equal(d.t, "numbers", string(d.bytes("GET", "/v1/projects/"+d.Project.ID+"/attachments/"+attached.ContentHash, http.Header{}, d.OwnerToken, "").Body))
	for _, path := range []string{"/workflow", "/receipt"} {
		d.ok("GET", "/v1/tasks/"+task.ID+path, nil)
	}
	d.ok("GET", "/v1/projects/"+d.Project.ID+"/lineage", nil)
	require.Equal(d.t, 200, d.bytes("GET", "/v1/tasks/"+task.ID+"/artifact", http.Header{}, d.OwnerToken, "").Status)
}

// attempt plays one attempt of the scene's node to the end that last makes of it.
func (d *described) attempt(last func(*apitest.Held) workflow.Event) {
	t := d.t
	offers := d.as(d.NodeToken, "GET", "/bridge/v1/executions?wait=10", nil)["executions"].([]any)
	require.Len(t, offers, 1)
	at := "/bridge/v1/executions/" + offers[0].(map[string]any)["execution_id"].(string)
	claim := workflow.ClaimRequest{ClaimID: uuid.NewString()}
	a := d.call("POST", at+"/claim", d.NodeToken, claim)
	h := &apitest.Held{ClaimAnswer: apitest.Into[workflow.ClaimAnswer](t, 200, a), Session: uuid.NewString()}
	d.as(d.NodeToken, "POST", at+"/renew", h.Fence())
	running := func(*apitest.Held) workflow.Event {
		return workflow.Event{State: workflow.EventRunning, ProviderSessionID: &h.Session}
	}
	preparing := func(*apitest.Held) workflow.Event { return workflow.Event{State: workflow.EventPreparing} }
	for i, event := range []func(*apitest.Held) workflow.Event{preparing, running, last} {
		e := event(h)
		e.Fence, e.Sequence = h.Fence(), i+1
		if e.State == workflow.EventFailed {
			e.ProviderSessionID = &h.Session
		}
		d.as(d.NodeToken, "POST", at+"/events", e)
	}
	d.as(d.NodeToken, "POST", at+"/stopped", h.Fence())
}

// badCalls send every route what it must refuse.
func (d *described) badCalls() {
	stranger := d.MakeToken(d.t, "stranger").Token
	for _, path := range slices.Sorted(maps.Keys(d.doc.Paths.Map())) {
		for method, o := range d.doc.Paths.Value(path).Operations() {
			if path == "/readyz" || path == "/openapi.json" || path == "/docs" || path == "/mcp" {
				continue
			}
			at, token := concrete(path, "no-such"), stranger
			if strings.HasPrefix(path, "/bridge/") {
				token = d.NodeToken
			}
			require.GreaterOrEqual(d.t, d.call(method, at+"?nonsense=1", token, bodyOrNil(o, `{}`)).Status, 400)
			if o.Security != nil && len(*o.Security) > 0 {
				require.Equal(d.t, 401, d.call(method, at, "", bodyOrNil(o, `{}`)).Status)
				require.Equal(d.t, 403, d.call(method, at, map[bool]string{true: d.OwnerToken, false: d.NodeToken}[token == d.NodeToken], bodyOrNil(o, `{}`)).Status)
			}
			if o.RequestBody == nil {
				d.call(method, at, token, nil)
				continue
			}
			for _, body := range []string{`{`, `[]`, `{"nonsense":1}`, `{}`, `{"write_context":null}`} {
				d.call(method, at, token, []byte(body))
			}
			if o.RequestBody.Value.Content.Get("application/octet-stream") != nil {
				continue
			}
			require.Equal(d.t, 413, d.call(method, at, token, bytes.Repeat([]byte(" "), 1<<20+1)).Status)
		}
	}
}

func bodyOrNil(o *openapi3.Operation, body string) any {
	if o.RequestBody == nil {
		return nil
	}
	return []byte(body)
}
