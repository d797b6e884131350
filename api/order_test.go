// The order of checks, on every route there is.

package api_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"countersign/api"
	"countersign/api/apitest"
	"countersign/contracts/workflow"

	"github.com/stretchr/testify/require"
)

// bearers are a token that a route takes and the ones it does not.
func (d *door) bearers(r api.Route) (good string, bad map[string]string) {
	d.t.Helper()
	all := d.OwnerToken
	switch r.Scope {
	case workflow.ScopeBridge:
		return d.NodeToken, map[string]string{"a user's": all}
	case "":
		return d.MakeToken(d.t, "owner", workflow.ScopeAgentsRead).Token, map[string]string{"a node's": d.NodeToken}
	}
	var others []workflow.Scope
	for _, s := range workflow.UserScopes {
		if s != r.Scope {
			others = append(others, s)
		}
	}
	bad = map[string]string{"a node's": d.NodeToken, "one with every other scope": d.MakeToken(d.t, "owner", others...).Token}
	if len(r.AlsoScopes) > 0 {
		bad["one with the first scope alone"] = d.MakeToken(d.t, "owner", r.Scope).Token
	}
	return d.MakeToken(d.t, "owner", append([]workflow.Scope{r.Scope}, r.AlsoScopes...)...).Token, bad
}

func TestEveryRouteChecksInOrder(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	for _, r := range d.api.Routes() {
		t.Run(r.Method+" "+r.Path, func(t *testing.T) {
			t.Parallel()
			path := concrete(r.Path, "no-such")
			if r.Public {
				p := refused(t, 422, "invalid", d.call(r.Method, path+"?nonsense=1", "", nil))
				require.Equal(t, "$.nonsense", p.Path)
				return
			}
			good, bad := d.bearers(r)
			worst := []byte("\xff{") // neither JSON nor UTF-8, and the query is unknown as well

			for name, header := range map[string]string{"none": "", "unknown": "Bearer cs_unknown", "other scheme": "Basic " + good, "no secret": "Bearer "} {
				a := send(t, r.Method, d.url+path+"?nonsense=1", map[string]string{"Authorization": header, "Content-Type": "text/plain"}, worst)
				refused(t, 401, "unauthenticated", a)
				require.Equal(t, `Bearer realm="countersign"`, a.Header.Get("WWW-Authenticate"), name)
			}
			for _, token := range bad {
				a := send(t, r.Method, d.url+path+"?nonsense=1", map[string]string{"Authorization": "Bearer " + token, "Content-Type": "text/plain"}, worst)
				refused(t, 403, "forbidden", a)
			}
			if r.Body == nil {
				p := refused(t, 422, "invalid", d.call(r.Method, path+"?nonsense=1", good, nil))
				require.Equal(t, "$.nonsense", p.Path)
				return
			}
			d.checkBody(t, r, path, good)
		})
	}
}

// checkBody sends bodies that a route must refuse before it looks at what they are about.
func (d *door) checkBody(t *testing.T, r api.Route, path, token string) {
	t.Helper()
	auth := "Bearer " + token
	for _, contentType := range []string{"", "text/plain", "application/jsonp", "application/json; charset=latin1", "application/problem+json"} {
		a := send(t, r.Method, d.url+path+"?nonsense=1", map[string]string{"Authorization": auth, "Content-Type": contentType}, []byte("{"))
		refused(t, 415, "unsupported_media_type", a)
	}
	for _, contentType := range []string{"application/json;charset=UTF-8", "APPLICATION/JSON"} {
		a := send(t, r.Method, d.url+path, map[string]string{"Authorization": auth, "Content-Type": contentType}, []byte("{"))
		refused(t, 400, "malformed_json", a)
	}
	p := refused(t, 413, "too_large", d.call(r.Method, path+"?nonsense=1", token, bytes.Repeat([]byte(" "), 1<<20+1)))
	require.Contains(t, p.Detail, "1 MiB")
	require.Contains(t, p.Detail, "1048576")

	for _, body := range []string{`{`, `{"a":1,}`, `{} {}`, `nul`, "\xef\xbb\xbf{}", `{'a':1}`} {
		refused(t, 400, "malformed_json", d.call(r.Method, path+"?nonsense=1", token, []byte(body)))
	}
	for body, at := range map[string]string{
		`{"nonsense":1}`:                      "$.nonsense",
		`{"nonsense":1,"nonsense":2}`:         "$.nonsense",
		`{"write_context":1,"x":{"y":1e999}}`: "$.x.y",
		`{"nonsense":1,"Nonsense":2}`:         "$.Nonsense",
		`{"nonsense":"\ud800"}`:               "$.nonsense",
		"{\"nonsense\":\"\xff\"}":             "$.nonsense",
		`{"a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`: "$",
	} {
		p := refused(t, 422, "invalid", d.call(r.Method, path, token, []byte(body)))
		require.Equal(t, at, p.Path, body)
	}
	refused(t, 422, "invalid", d.call(r.Method, path, token, []byte(`[]`)))
	refused(t, 422, "invalid", d.call(r.Method, path, token, []byte(`"text"`)))
}

// send is for requests that no well-behaved client makes.
func send(t testing.TB, method, url string, header map[string]string, body []byte) apitest.Answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	require.NoError(t, err)
	for k, v := range header {
		if v != "" {
			req.Header.Set(k, v)
		}
	}
	return do(t, req)
}

// What the caller may not see looks as if it did not exist, to the byte.
func TestForeignAndUnknownAreOne(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	task := d.AddTask(t)
	user := d.MakeToken(t, "owner")
	stranger := d.MakeToken(t, "stranger").Token
	foreign := d.MakeProject(t, "stranger")
	node := d.MakeNode(t, "stranger", foreign.ID)

	wc := d.WriteContext()
	elsewhere := wc
	elsewhere.ProjectID = ptr("no-such")
	member := workflow.PutMember{Role: workflow.RoleViewer, Status: "active"}
	title := "t"
	spec := d.Spec(task)
	noTask, noNode := spec, spec
	noTask.TaskID, noNode.BridgeID = "no-such", "no-such"
	foreignNode := spec
	foreignNode.BridgeID = node.Node.ID
	for name, tc := range map[string]struct {
		method, path, unknown string
		body, unknownBody     any
		token                 string
	}{
		"project":       {"GET", "/v1/projects/" + d.Project.ID, "/v1/projects/no-such", nil, nil, stranger},
		"members":       {"GET", "/v1/projects/" + d.Project.ID + "/members", "/v1/projects/no-such/members", nil, nil, stranger},
		"put member":    {"PUT", "/v1/projects/" + d.Project.ID + "/members/stranger", "/v1/projects/no-such/members/stranger", member, member, stranger},
		"token":         {"POST", "/v1/tokens/" + user.ID + "/revoke", "/v1/tokens/no-such/revoke", nil, nil, stranger},
		"node's token":  {"POST", "/v1/tokens/" + d.nodeTokenID(t) + "/revoke", "/v1/tokens/no-such/revoke", nil, nil, stranger},
		"node":          {"GET", "/v1/nodes/" + d.Node.ID, "/v1/nodes/no-such", nil, nil, stranger},
		"patch node":    {"PATCH", "/v1/nodes/" + d.Node.ID, "/v1/nodes/no-such", workflow.PatchNode{Note: &title}, workflow.PatchNode{Note: &title}, stranger},
		"enrol":         {"POST", "/v1/nodes", "/v1/nodes", workflow.EnrollNode{Name: "n", AnchorProjectID: d.Project.ID}, workflow.EnrollNode{Name: "n", AnchorProjectID: "no-such"}, stranger},
		"create task":   {"POST", "/v1/tasks", "/v1/tasks", workflow.CreateTask{WriteContext: wc, Title: "t", Goal: "g"}, workflow.CreateTask{WriteContext: elsewhere, Title: "t", Goal: "g"}, stranger},
		"tasks":         {"GET", "/v1/tasks?project_id=" + d.Project.ID, "/v1/tasks?project_id=no-such", nil, nil, stranger},
		"task":          {"GET", "/v1/tasks/" + task.ID, "/v1/tasks/no-such", nil, nil, stranger},
		"patch task":    {"PATCH", "/v1/tasks/" + task.ID, "/v1/tasks/no-such", workflow.PatchTask{WriteContext: wc, ExpectedVersion: 1, Title: &title}, workflow.PatchTask{WriteContext: wc, ExpectedVersion: 1, Title: &title}, stranger},
		"complete task": {"POST", "/v1/tasks/" + task.ID + "/complete", "/v1/tasks/no-such/complete", complete(wc), complete(wc), stranger},
		"receipt":       {"GET", "/v1/tasks/" + task.ID + "/receipt", "/v1/tasks/no-such/receipt", nil, nil, stranger},
		"workflow":      {"GET", "/v1/tasks/" + task.ID + "/workflow", "/v1/tasks/no-such/workflow", nil, nil, stranger},
		"control":       {"POST", "/v1/tasks/" + task.ID + "/workflow/control", "/v1/tasks/no-such/workflow/control", cancel(wc), cancel(wc), stranger},
		"dispatch":      {"POST", "/v1/workflows", "/v1/workflows", dispatch(spec, wc), dispatch(noTask, wc), stranger},
		"dispatch to":   {"POST", "/v1/workflows", "/v1/workflows", dispatch(foreignNode, wc), dispatch(noNode, wc), d.OwnerToken},
		"unstorable id": {"GET", "/v1/tasks/" + task.ID, "/v1/tasks/%00", nil, nil, stranger},
		"no text id":    {"GET", "/v1/tasks/" + task.ID, "/v1/tasks/%ff", nil, nil, stranger},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			unknown := d.call(tc.method, tc.unknown, tc.token, tc.unknownBody)
			foreign := d.call(tc.method, tc.path, tc.token, tc.body)
			refused(t, 404, "not_found", unknown)
			require.Equal(t, string(unknown.Body), string(foreign.Body))
			require.Equal(t, unknown.Status, foreign.Status)
		})
	}
}

func (d *door) nodeTokenID(t testing.TB) string {
	t.Helper()
	who, err := d.Store.Authenticate(t.Context(), d.NodeToken)
	require.NoError(t, err)
	return who.TokenID
}

func complete(wc workflow.WriteContext) workflow.CompleteTask {
	return workflow.CompleteTask{WriteContext: wc, ExpectedVersion: 1, ResultSummary: ptr("done")}
}

func cancel(wc workflow.WriteContext) workflow.ControlRequest {
	return workflow.ControlRequest{WriteContext: wc, ExpectedVersion: 1, Action: workflow.ControlCancel}
}

func dispatch(spec workflow.Spec, wc workflow.WriteContext) workflow.DispatchRequest {
	return workflow.DispatchRequest{Spec: spec, WriteContext: wc}
}

func ptr[T any](v T) *T { return &v }

// After shape come existence, role, the write context, the version, and what the task allows.
func TestPatchTaskChecksInOrder(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	task := d.AddTask(t)
	d.MakeMember(t, "owner", d.Project.ID, "viewer", workflow.RoleViewer)
	viewer := d.MakeToken(t, "viewer").Token
	path := "/v1/tasks/" + task.ID
	title, done := "t", workflow.TaskStatus("done")
	wrong := d.WriteContext()
	wrong.InstanceID = "another"
	_, err := d.Dispatch(t, d.Spec(task), api.MaxLease, api.MaxDeadline)
	require.NoError(t, err)

	p := refused(t, 422, "invalid", d.call("PATCH", "/v1/tasks/no-such", viewer, workflow.PatchTask{WriteContext: wrong, ExpectedVersion: 9, Status: &done}))
	require.Equal(t, "$.status", p.Path)
	refused(t, 404, "not_found", d.call("PATCH", "/v1/tasks/no-such", viewer, workflow.PatchTask{WriteContext: wrong, ExpectedVersion: 9, Goal: &title}))
	p = refused(t, 403, "forbidden", d.call("PATCH", path, viewer, workflow.PatchTask{WriteContext: wrong, ExpectedVersion: 9, Goal: &title}))
	require.Contains(t, p.Detail, "viewer")
	p = refused(t, 409, "write_context_mismatch", d.call("PATCH", path, d.OwnerToken, workflow.PatchTask{WriteContext: wrong, ExpectedVersion: 9, Goal: &title}))
	require.Equal(t, "$.write_context.instance_id", p.Path)
	refused(t, 409, "version_conflict", d.call("PATCH", path, d.OwnerToken, workflow.PatchTask{WriteContext: d.WriteContext(), ExpectedVersion: 9, Goal: &title}))
	p = refused(t, 409, "managed_by_workflow", d.call("PATCH", path, d.OwnerToken, workflow.PatchTask{WriteContext: d.WriteContext(), ExpectedVersion: 1, Goal: &title}))
	require.Equal(t, "$.goal", p.Path)
	edited := apitest.Into[workflow.Task](t, 200, d.call("PATCH", path, d.OwnerToken, workflow.PatchTask{WriteContext: d.WriteContext(), ExpectedVersion: 1, Title: &title}))
	require.Equal(t, 2, edited.Version)
	require.Equal(t, workflow.PhaseOffered, edited.Workflow.Phase)
}

func TestRoutesThatAreNone(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	for _, path := range []string{"/", "/v1", "/v1/nonsense", "/v1/tasks/", "/v1/tasks/a/b", "/v2/tasks", "/metrics", "/debug/pprof", "//v1/tasks"} {
		refused(t, 404, "not_found", d.call("GET", path, d.OwnerToken, nil))
	}
	for path, allow := range map[string][]string{
		"/v1/instance": {"GET"}, "/v1/tasks": {"GET", "POST"}, "/v1/tasks/x": {"GET", "PATCH"}, "/v1/nodes/x": {"GET", "PATCH"},
		"/v1/tokens": {"POST"}, "/readyz": {"GET"},
	} {
		a := d.call("DELETE", path, "", nil)
		refused(t, 405, "method_not_allowed", a)
		require.ElementsMatch(t, allow, strings.Split(a.Header.Get("Allow"), ", "), path)
	}
}
