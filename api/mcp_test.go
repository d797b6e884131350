// MCP against REST: the same calls, the same outcomes.

package api_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"countersign/api/apitest"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// toolResult is what a tool answered, or the problem of a message that never reached one.
type toolResult struct {
	IsError           bool           `json:"isError"`
	StructuredContent jsontext.Value `json:"structuredContent"`
	Content           []struct {
		Text string `json:"text"`
	} `json:"content"`
}

// rawTool calls a tool with arguments as they are written.
func rawTool(t testing.TB, url, token, name, arguments string) toolResult {
	t.Helper()
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, arguments)
	a := send(t, "POST", url+"/mcp", map[string]string{
		"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2025-06-18",
	}, []byte(message))
	if a.Status != 200 {
		return toolResult{IsError: true, StructuredContent: a.Body}
	}
	var answer struct {
		Result toolResult     `json:"result"`
		Error  jsontext.Value `json:"error"`
	}
	require.NoError(t, json.Unmarshal(a.Body, &answer), "%s", a.Body)
	require.Empty(t, answer.Error, "%s", a.Body)
	require.Equal(t, string(answer.Result.StructuredContent), answer.Result.Content[0].Text)
	return answer.Result
}

// twin is one of two like worlds: a task and a node that nobody else uses.
type twin struct {
	task, node, key string
}

// sameCase is one call in both spellings. Members are the body's, or empty for a tool that reads,
// whose parameters are then in query (REST) and members (MCP).
type sameCase struct {
	name, tool, id, members, query string
	status                         int
	token                          string // "" for the owner's
	twice                          bool   // call it before, so that this is a replay
}

var toolRoutes = map[string][2]string{
	"workflow_dispatch":         {"POST", "/v1/workflows"},
	"workflow_dispatch_catalog": {"POST", "/v1/workflows/catalog"},
	"workflow_get":              {"GET", "/v1/tasks/{id}/workflow"},
	"workflow_control":          {"POST", "/v1/tasks/{id}/workflow/control"},
	"task_create":               {"POST", "/v1/tasks"},
	"task_get":                  {"GET", "/v1/tasks/{id}"},
	"task_list":                 {"GET", "/v1/tasks"},
	"task_update":               {"PATCH", "/v1/tasks/{id}"},
	"capability_evaluate":       {"POST", "/v1/worker-dispatch/evaluate"},
}

func TestRESTAndMCPAgree(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	readOnly := s.MakeToken(t, "owner", workflow.ScopeTasksRead).Token
	stranger := s.MakeToken(t, "stranger").Token
	const (
		wc   = `"write_context":{wc}`
		spec = `"spec":{spec},` + wc
		edit = `"expected_version":1,` + wc
	)
	cases := []sameCase{
		{name: "create", tool: "task_create", members: `"title":"t","goal":"g",` + wc, status: 201},
		{name: "create with all", tool: "task_create", members: `"title":"t","goal":"g","repository":"r","labels":["a","b"],"artifact_spec":{"kind":"code_diff"},` + wc, status: 201},
		{name: "create unknown key", tool: "task_create", members: `"title":"t","goal":"g","x":1,` + wc, status: 422},
		{name: "create key in capitals", tool: "task_create", members: `"Title":"t","goal":"g",` + wc, status: 422},
		{name: "create doubled key", tool: "task_create", members: `"title":"t","title":"u","goal":"g",` + wc, status: 422},
		{name: "create blank", tool: "task_create", members: `"title":" ","goal":"g",` + wc, status: 422},
		{name: "create too long", tool: "task_create", members: `"title":"` + strings.Repeat("é", 201) + `","goal":"g",` + wc, status: 422},
		{name: "create at the limit", tool: "task_create", members: `"title":"` + strings.Repeat("é", 200) + `","goal":"g",` + wc, status: 201},
		{name: "create with U+0000", tool: "task_create", members: `"title":"a\u0000","goal":"g",` + wc, status: 422},
		{name: "create with a lone surrogate", tool: "task_create", members: `"title":"\ud83d","goal":"g",` + wc, status: 422},
		{name: "create elsewhere", tool: "task_create", members: `"title":"t","goal":"g","write_context":{"resource":"r","instance_id":"i","project_id":"{project}"}`, status: 409},
		{name: "create in no project", tool: "task_create", members: `"title":"t","goal":"g","write_context":{"resource":"r","instance_id":"i","project_id":null}`, status: 422},
		{name: "create without context", tool: "task_create", members: `"title":"t","goal":"g"`, status: 422},
		{name: "create without the scope", tool: "task_create", members: `"title":"t","goal":"g",` + wc, token: readOnly, status: 403},
		{name: "create as a stranger", tool: "task_create", members: `"title":"t","goal":"g",` + wc, token: stranger, status: 404},
		{name: "create unknown token", tool: "task_create", members: `"title":"t","goal":"g",` + wc, token: "cs_unknown", status: 401},
		{name: "create as a node", tool: "task_create", members: `"x":1`, token: s.NodeToken, status: 403},
		{name: "create too large", tool: "task_create", members: `"title":"t","goal":"` + strings.Repeat("g", 1<<20) + `"`, status: 413},

		{name: "get", tool: "task_get", id: `"{task}"`, status: 200},
		{name: "get unknown", tool: "task_get", id: `"no-such"`, status: 404},
		{name: "get another route", tool: "task_get", id: `"{task}/workflow"`, status: 404},
		{name: "get as a stranger", tool: "task_get", id: `"{task}"`, token: stranger, status: 404},
		{name: "get unknown parameter", tool: "task_get", id: `"{task}"`, members: `"x":"y"`, query: "x=y", status: 422},

		{name: "list", tool: "task_list", members: `"project_id":"{project}","status":"done","limit":1`, query: "project_id={project}&status=done&limit=1", status: 200},
		{name: "list no project", tool: "task_list", status: 422},
		{name: "list foreign project", tool: "task_list", members: `"project_id":"no-such"`, query: "project_id=no-such", status: 404},
		{name: "list limit 0", tool: "task_list", members: `"project_id":"{project}","limit":0`, query: "project_id={project}&limit=0", status: 422},
		{name: "list limit as text", tool: "task_list", members: `"project_id":"{project}","limit":"many"`, query: "project_id={project}&limit=many", status: 422},
		{name: "list unknown status", tool: "task_list", members: `"project_id":"{project}","status":"x"`, query: "project_id={project}&status=x", status: 422},
		{name: "list bad cursor", tool: "task_list", members: `"project_id":"{project}","after":"x"`, query: "project_id={project}&after=x", status: 422},
		{name: "list doubled", tool: "task_list", members: `"project_id":"{project}","limit":1,"limit":2`, query: "project_id={project}&limit=1&limit=2", status: 422},

		{name: "update", tool: "task_update", id: `"{task}"`, members: `"title":"new",` + edit, status: 200},
		{name: "update another version", tool: "task_update", id: `"{task}"`, members: `"title":"new","expected_version":7,` + wc, status: 409},
		{name: "update nothing", tool: "task_update", id: `"{task}"`, members: edit, status: 422},
		{name: "update unknown", tool: "task_update", id: `"no-such"`, members: `"title":"new",` + edit, status: 404},
		{name: "update to done", tool: "task_update", id: `"{task}"`, members: `"status":"done",` + edit, status: 422},
		{name: "update to cancelled", tool: "task_update", id: `"{task}"`, members: `"status":"cancelled",` + edit, status: 200},
		{name: "update wrong type", tool: "task_update", id: `"{task}"`, members: `"labels":"x",` + edit, status: 422},

		{name: "dispatch", tool: "workflow_dispatch", members: spec, status: 201},
		{name: "dispatch replayed", tool: "workflow_dispatch", members: spec, twice: true, status: 200},
		{name: "dispatch without the scope", tool: "workflow_dispatch", members: spec, token: readOnly, status: 403},
		{name: "dispatch as a stranger", tool: "workflow_dispatch", members: spec, token: stranger, status: 404},
		{name: "dispatch nothing", tool: "workflow_dispatch", members: ``, status: 422},
		{name: "dispatch a wrong spec", tool: "workflow_dispatch", members: `"spec":{"task_id":1},` + wc, status: 422},
		{name: "dispatch elsewhere", tool: "workflow_dispatch", members: `"spec":{spec},"write_context":{"resource":"r","instance_id":"i","project_id":"{project}"}`, status: 409},

		{name: "catalog nothing", tool: "workflow_dispatch_catalog", members: ``, status: 422},
		{name: "catalog without the scope", tool: "workflow_dispatch_catalog", members: `"x":1`, token: readOnly, status: 403},

		{name: "evaluate nothing", tool: "capability_evaluate", status: 200},
		{name: "evaluate unknown key", tool: "capability_evaluate", members: `"x":1`, status: 422},
		{name: "evaluate doubled key", tool: "capability_evaluate", members: `"now":"a","now":"b"`, status: 422},
		{name: "evaluate without the scope", tool: "capability_evaluate", members: `"x":1`, token: s.MakeToken(t, "owner", workflow.ScopeTasksWrite).Token, status: 403},
		{name: "evaluate as a node", tool: "capability_evaluate", members: `"x":1`, token: s.NodeToken, status: 403},

		{name: "workflow of an undispatched task", tool: "workflow_get", id: `"{task}"`, status: 404},
		{name: "workflow unknown", tool: "workflow_get", id: `"no-such"`, status: 404},
		{name: "workflow limit 101", tool: "workflow_get", id: `"{task}"`, members: `"limit":101`, query: "limit=101", status: 422},
		{name: "workflow below 0", tool: "workflow_get", id: `"{task}"`, members: `"after":-1`, query: "after=-1", status: 422},
		{name: "control of an undispatched task", tool: "workflow_control", id: `"{task}"`, members: `"action":"cancel",` + edit, status: 404},
		{name: "control unknown action", tool: "workflow_control", id: `"{task}"`, members: `"action":"stop",` + edit, status: 422},
		{name: "control elsewhere", tool: "workflow_control", id: `"{task}"`, members: `"action":"cancel","expected_version":1,"write_context":{"resource":"r","instance_id":"i","project_id":null}`, status: 409},
	}
	for _, v := range dispatchVectors(t) {
		cases = append(cases, sameCase{name: "evaluate " + v.ID, tool: "capability_evaluate", members: members(v.Input), status: 200})
	}
	require.GreaterOrEqual(t, len(cases), 50)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var outcomes [2]string
			for i, ask := range []func(*testing.T, *apitest.Stack, sameCase, twin) (bool, []byte){askREST, askMCP} {
				w := newTwin(t, s)
				if c.twice {
					askREST(t, s, c, w)
				}
				good, body := ask(t, s, c, w)
				require.Equal(t, c.status < 300, good, "%s", body)
				if !good {
					var p problem
					require.NoError(t, json.Unmarshal(body, &p))
					require.Equal(t, c.status, p.Status, "%s", body)
				}
				outcomes[i] = likeness(string(body), w)
			}
			require.JSONEq(t, outcomes[0], outcomes[1])
		})
	}
}

func newTwin(t *testing.T, s *apitest.Stack) twin {
	t.Helper()
	node, _ := s.AddNode(t)
	return twin{task: s.AddTask(t).ID, node: node.ID, key: uuid.NewString()}
}

// fill puts a twin's own things in place.
func (w twin) fill(t *testing.T, s *apitest.Stack, text string) string {
	t.Helper()
	spec := s.Spec(workflow.Task{ID: w.task, Version: 1})
	spec.BridgeID, spec.IdempotencyKey = w.node, w.key
	wc, err := json.Marshal(s.WriteContext())
	require.NoError(t, err)
	written, err := json.Marshal(spec)
	require.NoError(t, err)
	return strings.NewReplacer("{task}", w.task, "{project}", s.Project.ID, "{wc}", string(wc), "{spec}", string(written)).Replace(text)
}

func askREST(t *testing.T, s *apitest.Stack, c sameCase, w twin) (bool, []byte) {
	t.Helper()
	r := toolRoutes[c.tool]
	path := strings.Replace(r[1], "{id}", strings.ReplaceAll(strings.Trim(w.fill(t, s, c.id), `"`), "/", "%2F"), 1)
	if c.query != "" {
		path += "?" + w.fill(t, s, c.query)
	}
	var body any
	if r[0] != "GET" {
		body = []byte(w.fill(t, s, "{"+c.members+"}"))
	}
	a := apitest.Call(t, r[0], s.URL, path, bearerOf(s, c), body)
	return a.Status < 300, a.Body
}

func askMCP(t *testing.T, s *apitest.Stack, c sameCase, w twin) (bool, []byte) {
	t.Helper()
	members := c.members
	if c.id != "" {
		members = strings.TrimSuffix(`"task_id":`+c.id+","+members, ",")
	}
	r := rawTool(t, s.URL, bearerOf(s, c), c.tool, w.fill(t, s, "{"+members+"}"))
	return !r.IsError, r.StructuredContent
}

func bearerOf(s *apitest.Stack, c sameCase) string {
	if c.token != "" {
		return c.token
	}
	return s.OwnerToken
}

var (
	anyID     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	anyTime   = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)
	anyDigest = regexp.MustCompile(`[0-9a-f]{64}`)
	anyRun    = regexp.MustCompile(`"run_id":("[^"]*"|null)`)
	anyCursor = regexp.MustCompile(`"next_after":"[^"]*"`)
)

// likeness is an answer without what differs between twins.
func likeness(body string, w twin) string {
	body = strings.NewReplacer(w.task, "TASK", w.node, "NODE", w.key, "KEY").Replace(body)
	for _, p := range []*regexp.Regexp{anyID, anyTime, anyDigest} {
		body = p.ReplaceAllString(body, "X")
	}
	return anyCursor.ReplaceAllString(anyRun.ReplaceAllString(body, `"run_id":"X"`), `"next_after":"X"`)
}

// What only a tool's arguments can get wrong, in the order that a route would say it.
func TestToolArguments(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	for arguments, path := range map[string]string{
		`{}`: "$.task_id", `{"task_id":""}`: "$.task_id", `{"task_id":7}`: "$.task_id", `{"task_id":null}`: "$.task_id",
		`{"task_id":"a","task_id":"b"}`: "$.task_id", `[]`: "$", `"x"`: "$",
		`{"task_id":"a","limit":"5"}`: "$.limit", `{"task_id":"a","limit":5.5}`: "$.limit", `{"task_id":"a","limit":[5]}`: "$.limit",
	} {
		r := rawTool(t, d.url, d.OwnerToken, "workflow_get", arguments)
		var p problem
		require.NoError(t, json.Unmarshal(r.StructuredContent, &p), "%s", r.StructuredContent)
		require.True(t, r.IsError)
		require.Equal(t, "invalid", p.Code, arguments)
		require.Equal(t, path, p.Path, arguments)
		r = rawTool(t, d.url, d.MakeToken(t, "owner", workflow.ScopeTasksWrite).Token, "workflow_get", arguments)
		require.NoError(t, json.Unmarshal(r.StructuredContent, &p))
		require.Equal(t, "forbidden", p.Code, "the scope is asked first")
	}
	for _, arguments := range []string{`{"project_id":5}`, `{"project_id":["x"]}`} {
		r := rawTool(t, d.url, d.OwnerToken, "task_list", arguments)
		var p problem
		require.NoError(t, json.Unmarshal(r.StructuredContent, &p))
		require.Equal(t, "$.project_id", p.Path)
	}
	r := rawTool(t, d.url, d.OwnerToken, "task_list", `{"project_id":"`+d.Project.ID+`","limit":null,"after":null}`)
	require.False(t, r.IsError, "%s", r.StructuredContent)
}

// bearerTransport sends a token with every request.
type bearerTransport struct{ token string }

func (b bearerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// agent connects the SDK's own client.
func agent(t testing.TB, url, token string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: url + "/mcp", HTTPClient: &http.Client{Transport: bearerTransport{token}}, DisableStandaloneSSE: true,
	}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { session.Close() })
	return session
}

// use calls a tool that must answer well.
func use[T any](t testing.TB, session *mcp.ClientSession, name string, arguments any) (out T) {
	t.Helper()
	data, err := json.Marshal(arguments)
	require.NoError(t, err)
	r, err := session.CallTool(context.WithoutCancel(t.Context()), &mcp.CallToolParams{Name: name, Arguments: rawArguments(data)})
	require.NoError(t, err)
	text := r.Content[0].(*mcp.TextContent).Text
	require.False(t, r.IsError, text)
	require.NoError(t, json.Unmarshal([]byte(text), &out))
	return out
}

// rawArguments is JSON for the SDK, which speaks encoding/json.
type rawArguments []byte

func (r rawArguments) MarshalJSON() ([]byte, error) { return r, nil }

// The SDK's client discovers, dispatches, reads and cancels; a refusal that asks shows its question.
func TestSDKClient(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	session := agent(t, s.URL, s.OwnerToken)
	listed, err := session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	names := map[string]*mcp.Tool{}
	for _, tool := range listed.Tools {
		names[tool.Name] = tool
		input := tool.InputSchema.(map[string]any)
		require.Equal(t, "object", input["type"], tool.Name)
		require.Equal(t, false, input["additionalProperties"], tool.Name)
		require.NotEmpty(t, tool.Description)
		require.NotNil(t, tool.OutputSchema)
	}
	for name := range toolRoutes {
		require.Contains(t, names, name)
	}
	require.Len(t, names, len(toolRoutes))
	require.Contains(t, names["workflow_dispatch"].InputSchema.(map[string]any)["$defs"], "Spec")

	task := use[workflow.Task](t, session, "task_create", workflow.CreateTask{WriteContext: s.WriteContext(), Title: "t", Goal: "g"})
	d := use[workflow.Detail](t, session, "workflow_dispatch", workflow.DispatchRequest{Spec: s.Spec(task), WriteContext: s.WriteContext()})
	require.Equal(t, workflow.PhaseOffered, d.Phase)
	read := use[workflow.Detail](t, session, "workflow_get", map[string]any{"task_id": task.ID, "limit": 1})
	require.Equal(t, d.WorkflowID, read.WorkflowID)
	require.Len(t, read.History, 1)
	d = use[workflow.Detail](t, session, "workflow_control", map[string]any{
		"task_id": task.ID, "expected_version": 1, "action": "cancel", "write_context": s.WriteContext(),
	})
	require.Equal(t, workflow.PhaseCancelled, d.Phase)
	page := use[workflow.TaskList](t, session, "task_list", map[string]any{"project_id": s.Project.ID})
	require.Len(t, page.Tasks, 1)

	// A worker that asks blocks the revision; whoever reads it finds the question.
	use[workflow.Detail](t, session, "workflow_dispatch", workflow.DispatchRequest{Spec: s.Spec(task), WriteContext: s.WriteContext()})
	h := s.Claim().Run()
	h.Event(workflow.Event{State: workflow.EventFailed, ProviderSessionID: &h.Session,
		Refusal: []byte(`{"contract":"worker-completion/v1","kind":"awaiting_operator","detail":"d","question":"Which one?"}`)})
	blocked := use[workflow.Detail](t, session, "workflow_get", map[string]any{"task_id": task.ID})
	require.Equal(t, workflow.PhaseBlocked, blocked.Phase)
	require.Contains(t, string(blocked.Refusal), "Which one?")

	_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "no_such_tool"})
	require.Error(t, err)
}

// What reaches the door of /mcp without being a message.
func TestMCPDoor(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	header := map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
	refused(t, 401, "unauthenticated", send(t, "POST", d.url+"/mcp", header, []byte(`{}`)))
	header["Authorization"] = "Bearer " + d.OwnerToken
	refused(t, 413, "too_large", send(t, "POST", d.url+"/mcp", header, bytes.Repeat([]byte(" "), 2<<20+1)))
	require.Equal(t, 400, send(t, "POST", d.url+"/mcp", header, []byte(`{`)).Status)
	refused(t, 405, "method_not_allowed", send(t, "GET", d.url+"/mcp", header, nil))
	req, err := http.NewRequestWithContext(t.Context(), "POST", d.url+"/mcp", io.NopCloser(strings.NewReader(`{}`)))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+d.OwnerToken)
	refused(t, 415, "unsupported_media_type", do(t, req))
}
