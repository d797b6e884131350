// What a careless or hostile caller may do without harm.

package api_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"countersign/api/apitest"
	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/stretchr/testify/require"
)

func TestRefusedCallsDoNotUseAnExecutionUp(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	d := s.DispatchTask()
	status := func(v workflow.NodeStatus) {
		require.Equal(t, http.StatusOK, s.Operator("PATCH", "/v1/nodes/"+s.Node.ID, workflow.PatchNode{Status: &v}).Status)
	}
	status(workflow.NodePaused)
	path := "/bridge/v1/executions/" + d.ActiveAttempt.ExecutionID + "/claim"
	for range 205 {
		apitest.Refused(t, http.StatusConflict, contracts.CodeNodePaused, s.Bridge("POST", path, workflow.ClaimRequest{ClaimID: "c"}))
	}
	status(workflow.NodeActive)
	h := s.Claim().Run()
	for range 205 {
		e := h.Completed(candidate)
		e.ProviderSessionID = ptr("another")
		e.Fence, e.Sequence = h.Fence(), 3
		apitest.Refused(t, http.StatusConflict, contracts.CodeSessionMismatch, h.Post("events", e))
	}
	require.Equal(t, http.StatusOK, h.Event(h.Completed(candidate)).Status)
}

func TestADeclarationThatDoesNotHoldIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	for declared, path := range map[string]string{
		`{"kind":5}`: "$.artifact_spec.kind", `{"kind":["x"]}`: "$.artifact_spec.kind", `{"kind":"zzz"}`: "$.artifact_spec.kind", `{}`: "$.artifact_spec.kind",
		`{"a":"\u0000"}`: "$.artifact_spec.a", `{"kind":"report"}`: "$.artifact_spec.output_path", `{"kind":"report","output_path":"../x"}`: "$.artifact_spec.output_path",
	} {
		a := s.Operator("POST", "/v1/tasks", workflow.CreateTask{WriteContext: s.WriteContext(), Title: "t", Goal: "g", ArtifactSpec: []byte(declared)})
		apitest.Refused(t, http.StatusUnprocessableEntity, contracts.CodeInvalid, a)
		require.Contains(t, string(a.Body), fmt.Sprintf(`"path":%q`, path), declared)
	}
	task := apitest.Into[workflow.Task](t, http.StatusCreated, s.Operator("POST", "/v1/tasks",
		workflow.CreateTask{WriteContext: s.WriteContext(), Title: "t", Goal: "g", ArtifactSpec: []byte(`{"kind":"report","output_path":"r.md"}`)}))
	// A word is no report: such a task completes by its artifact alone.
	apitest.Refused(t, http.StatusConflict, contracts.CodeArtifactMode, s.Operator("POST", "/v1/tasks/"+task.ID+"/complete",
		workflow.CompleteTask{WriteContext: s.WriteContext(), ExpectedVersion: 1, ResultSummary: ptr("done")}))
}

func TestATokenDoesNotOutliveTheOneThatMadeIt(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	make := func(token string, in *int64) workflow.TokenCreated {
		return apitest.Into[workflow.TokenCreated](t, http.StatusCreated, apitest.Call(t, "POST", s.URL, "/v1/tokens", token,
			workflow.CreateToken{User: "zed", Scopes: []workflow.Scope{workflow.ScopeTasksRead}, ExpiresIn: in}))
	}
	parent := make(s.OwnerToken, ptr(int64(3600)))
	require.Equal(t, *parent.ExpiresAt, *make(parent.Token, nil).ExpiresAt)
	require.Equal(t, *parent.ExpiresAt, *make(parent.Token, ptr(int64(7200))).ExpiresAt)
	require.True(t, make(parent.Token, ptr(int64(60))).ExpiresAt.Before(*parent.ExpiresAt))
}

// TestAStalledBodyIsAnswered: whoever sends half a body and waits gets the refusal and loses the
// connection.
func TestAStalledBodyIsAnswered(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	for _, route := range []string{"POST /v1/tasks", "POST /nowhere", "PUT /v1/tasks"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		require.NoError(t, err)
		defer conn.Close()
		_, err = fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{\"a", route)
		require.NoError(t, err)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(soon)))
		head := make([]byte, 12)
		_, err = conn.Read(head)
		require.NoError(t, err, route)
		require.Contains(t, string(head), "HTTP/1.1 4", route)
		for err == nil { // until it is closed
			_, err = conn.Read(make([]byte, 4096))
		}
		require.ErrorContains(t, err, "EOF", route)
	}
}
