// Setup and task routes as a client sees them: statuses, shapes, what their bodies must hold.

package api_test

import (
	"strings"
	"testing"

	"countersign/api/apitest"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

func TestSetupAnswers(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	members := func(a apitest.Answer, status int) []string {
		t.Helper()
		var names []string
		for name := range apitest.Into[map[string]any](t, status, a) {
			names = append(names, name)
		}
		return names
	}
	a := d.call("POST", "/v1/projects", d.OwnerToken, []byte(`{"name":"n","repository":"r"}`))
	require.ElementsMatch(t, []string{"id", "name", "repository", "created_at"}, members(a, 201))
	a = d.call("POST", "/v1/tokens", d.OwnerToken, []byte(`{"user":"ada","scopes":["tasks:read","tasks:write"]}`))
	require.ElementsMatch(t, []string{"id", "user", "scopes", "expires_at", "token"}, members(a, 201))
	token := apitest.Into[workflow.TokenCreated](t, 201, a)
	require.Contains(t, string(a.Body), `"expires_at":null`)
	require.True(t, strings.HasPrefix(token.Token, "cs_"))
	a = d.call("PUT", "/v1/projects/"+d.Project.ID+"/members/ada", d.OwnerToken, []byte(`{"role":"viewer","status":"active"}`))
	require.ElementsMatch(t, []string{"project_id", "user", "role", "status", "updated_at"}, members(a, 200))
	a = d.call("POST", "/v1/nodes", d.OwnerToken, []byte(`{"name":"n","anchor_project_id":"`+d.Project.ID+`","accounts":[]}`))
	require.ElementsMatch(t, []string{"node", "token"}, members(a, 201))
	node := apitest.Into[workflow.NodeEnrolled](t, 201, a)
	require.Contains(t, string(a.Body), `"accounts":[]`)
	require.NotEqual(t, d.NodeToken, node.Token)
	a = d.call("PATCH", "/v1/nodes/"+node.Node.ID, d.OwnerToken, []byte(`{"status":"paused"}`))
	require.ElementsMatch(t, []string{"id", "name", "anchor_project_id", "projects", "accounts", "status", "note", "created_at", "updated_at"}, members(a, 200))
	first := d.call("POST", "/v1/tokens/"+token.ID+"/revoke", d.OwnerToken, nil)
	require.ElementsMatch(t, []string{"id", "revoked_at"}, members(first, 200))
	require.Equal(t, string(first.Body), string(d.call("POST", "/v1/tokens/"+token.ID+"/revoke", d.OwnerToken, []byte(`{}`)).Body))
	refused(t, 401, "unauthenticated", d.call("GET", "/v1/projects", token.Token, nil))

	a = d.call("POST", "/v1/tasks", d.OwnerToken, d.taskBody("title", `"t"`))
	require.ElementsMatch(t, []string{"id", "project_id", "title", "goal", "repository", "status", "version", "labels", "workflow", "created_at", "updated_at"}, members(a, 201))
	require.Contains(t, string(a.Body), `"workflow":null`)
	require.Contains(t, string(a.Body), `"labels":[]`)
	require.Equal(t, "application/json", a.Header.Get("Content-Type"))
	require.Equal(t, "no-store", a.Header.Get("Cache-Control"))
}

func TestBodiesThatAreRefused(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	task := d.AddTask(t)
	raw, err := json.Marshal(d.WriteContext())
	require.NoError(t, err)
	wc := `"write_context":` + string(raw)
	project, node := "/v1/projects/"+d.Project.ID, "/v1/nodes/"+d.Node.ID
	anchor := `"anchor_project_id":"` + d.Project.ID + `"`
	for _, tc := range []struct{ route, body, path string }{
		{"POST /v1/projects", `{}`, "$.name"},
		{"POST /v1/projects", `{"name":"n","repository":null}`, "$.repository"},
		{"POST /v1/projects", `{"name":"n","repository":"r","write_context":{}}`, "$.write_context.resource"},
		{"POST /v1/projects", `{"name":"n","repository":1}`, "$.repository"},
		{"PUT " + project + "/members/owner", `{"role":"chief","status":"active"}`, "$.role"},
		{"PUT " + project + "/members/owner", `{"role":"owner"}`, "$.status"},
		{"PUT " + project + "/members/owner", `{"role":"owner","status":"Active"}`, "$.status"},
		{"POST /v1/tokens", `{"user":"Ada","scopes":["tasks:read"]}`, "$.user"},
		{"POST /v1/tokens", `{"user":"` + strings.Repeat("a", 65) + `","scopes":["tasks:read"]}`, "$.user"},
		{"POST /v1/tokens", `{"user":"ada","scopes":[]}`, "$.scopes"},
		{"POST /v1/tokens", `{"user":"ada","scopes":["bridge"]}`, "$.scopes[0]"},
		{"POST /v1/tokens", `{"user":"ada","scopes":["tasks:read","tasks:read"]}`, "$.scopes"},
		{"POST /v1/tokens", `{"user":"ada","scopes":["tasks:read"],"expires_in":0}`, "$.expires_in"},
		{"POST /v1/tokens", `{"user":"ada","scopes":["tasks:read"],"expires_in":315360001}`, "$.expires_in"},
		{"POST /v1/tokens", `{"user":"ada","scopes":["tasks:read"],"expires_in":1.5}`, "$.expires_in"},
		{"POST /v1/nodes", `{"name":"n","accounts":[]}`, "$.anchor_project_id"},
		{"POST /v1/nodes", `{"name":"n",` + anchor + `,"accounts":[{"account_id":"a","runtime":"synthetic"}]}`, "$.accounts[0].runtime"},
		{"POST /v1/nodes", `{"name":"n",` + anchor + `,"accounts":[{"account_id":"a b","runtime":"codex_cli"}]}`, "$.accounts[0].account_id"},
		{"POST /v1/nodes", `{"name":"n",` + anchor + `,"projects":["a","a"],"accounts":[]}`, "$.projects"},
		{"PATCH " + node, `{}`, "$"},
		{"PATCH " + node, `{"status":"gone"}`, "$.status"},
		{"PATCH " + node, `{"note":"` + strings.Repeat("n", 2001) + `"}`, "$.note"},
		{"POST /v1/tasks", `{"title":"t","goal":"g"}`, "$.write_context.resource"},
		{"POST /v1/tasks", `{` + wc + `,"title":"t"}`, "$.goal"},
		{"POST /v1/tasks", `{` + strings.Replace(wc, `"`+d.Project.ID+`"`, "null", 1) + `,"title":"t","goal":"g"}`, "$.write_context.project_id"},
		{"POST /v1/tasks", `{` + wc + `,"title":"t","goal":"g","artifact_spec":[]}`, "$.artifact_spec"},
		{"POST /v1/tasks", `{` + wc + `,"title":"t","goal":"g","status":"done"}`, "$.status"},
		{"POST /v1/tasks", `{` + wc + `,"title":"t","goal":"g","labels":["a","a"]}`, "$.labels"},
		{"PATCH /v1/tasks/" + task.ID, `{` + wc + `,"expected_version":1}`, "$"},
		{"PATCH /v1/tasks/" + task.ID, `{` + wc + `,"title":"t"}`, "$.expected_version"},
		{"PATCH /v1/tasks/" + task.ID, `{` + wc + `,"expected_version":"1","title":"t"}`, "$.expected_version"},
		{"PATCH /v1/tasks/" + task.ID, `{` + wc + `,"expected_version":1,"status":"open"}`, "$.status"},
		{"PATCH /v1/tasks/" + task.ID, `{` + wc + `,"expected_version":1,"version":2}`, "$.version"},
		{"POST /v1/tasks/" + task.ID + "/complete", `{` + wc + `,"expected_version":1}`, "$"},
		{"POST /v1/tasks/" + task.ID + "/complete", `{` + wc + `,"expected_version":1,"result_summary":"s","payload":{}}`, "$"},
	} {
		method, path, _ := strings.Cut(tc.route, " ")
		p := refused(t, 422, "invalid", d.call(method, path, d.OwnerToken, []byte(tc.body)))
		require.Equal(t, tc.path, p.Path, "%s %s", tc.route, tc.body)
		require.NotEmpty(t, p.Detail)
	}
	// Nothing of all this had an effect.
	var n int
	require.NoError(t, d.Pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM projects) + (SELECT count(*) FROM tasks) + (SELECT count(*) FROM nodes)
		+ (SELECT count(*) FROM users) + (SELECT count(*) FROM tokens)`).Scan(&n))
	require.Equal(t, 6, n, "a project, a task, a node, a user and their two tokens")
	require.Equal(t, task, apitest.Into[workflow.Task](t, 200, d.call("GET", "/v1/tasks/"+task.ID, d.OwnerToken, nil)))
}
