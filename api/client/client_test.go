package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"countersign/api/apitest"
	"countersign/api/client"
	"countersign/contracts"
	"countersign/contracts/workflow"
	"countersign/tools/localstack"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	code := localstack.Main(m)
	http.DefaultClient.CloseIdleConnections()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// Everything an operator does, from a token to a receipt.
func TestOperatorsDay(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	ctx := t.Context()
	admin := client.New(s.URL+"/", s.OwnerToken)

	i, err := client.New(s.URL, "").Instance(ctx)
	require.NoError(t, err)
	require.Equal(t, s.Instance.InstanceID, i.InstanceID)

	made, err := admin.CreateToken(ctx, workflow.CreateToken{User: "ada", Scopes: []workflow.Scope{workflow.ScopeTasksRead, workflow.ScopeTasksWrite}})
	require.NoError(t, err)
	require.Equal(t, "ada", made.User)
	ada := client.New(s.URL, made.Token)
	p, err := ada.CreateProject(ctx, workflow.CreateProject{Name: "A project", Repository: "https://git.test/a"})
	require.NoError(t, err)
	projects, err := ada.Projects(ctx)
	require.NoError(t, err)
	require.Equal(t, []workflow.Project{p}, projects)
	one, err := ada.Project(ctx, p.ID)
	require.NoError(t, err)
	require.Equal(t, p, one)
	m, err := ada.PutMember(ctx, p.ID, "owner", workflow.PutMember{Role: workflow.RoleAdmin, Status: "active"})
	require.NoError(t, err)
	members, err := ada.Members(ctx, p.ID)
	require.NoError(t, err)
	require.Equal(t, m, members[1])

	enrolled, err := ada.EnrollNode(ctx, workflow.EnrollNode{Name: "a node", AnchorProjectID: p.ID})
	require.NoError(t, err)
	nodes, err := ada.Nodes(ctx)
	require.NoError(t, err)
	require.Equal(t, []workflow.Node{enrolled.Node}, nodes)
	note := "second shelf"
	n, err := ada.PatchNode(ctx, enrolled.Node.ID, workflow.PatchNode{Note: &note})
	require.NoError(t, err)
	require.Equal(t, note, n.Note)
	read, err := ada.Node(ctx, n.ID)
	require.NoError(t, err)
	require.Equal(t, n, read)

	// From here on with the scene's own project and node, whose bridge the test plays.
	task, err := admin.CreateTask(ctx, s.Project.ID, workflow.CreateTask{Title: "t", Goal: "g"})
	require.NoError(t, err)
	title := "better"
	task, err = admin.PatchTask(ctx, "", task.ID, workflow.PatchTask{ExpectedVersion: task.Version, Title: &title})
	require.NoError(t, err)
	require.Equal(t, 2, task.Version)
	list, err := admin.Tasks(ctx, workflow.TaskQuery{ProjectID: s.Project.ID, Status: workflow.TaskOpen, Limit: 1})
	require.NoError(t, err)
	require.Equal(t, []workflow.Task{task}, list.Tasks)
	_, err = admin.Receipt(ctx, task.ID)
	require.Equal(t, contracts.CodeNotFound, contracts.CodeOf(err))

	spec := s.Spec(task)
	d, err := admin.Dispatch(ctx, "", workflow.DispatchRequest{Spec: spec})
	require.NoError(t, err)
	again, err := admin.Dispatch(ctx, s.Project.ID, workflow.DispatchRequest{Spec: spec})
	require.NoError(t, err)
	require.Equal(t, d.WorkflowID, again.WorkflowID)
	live, err := admin.Live(ctx, d.WorkflowID)
	require.NoError(t, err)
	require.Equal(t, workflow.PhaseOffered, live.Phase)
	d, err = admin.Control(ctx, "", task.ID, workflow.ControlRequest{ExpectedVersion: task.Version, Action: workflow.ControlCancel})
	require.NoError(t, err)
	require.Equal(t, workflow.PhaseCancelled, d.Phase)

	spec.IdempotencyKey = "again"
	d, err = admin.Dispatch(ctx, s.Project.ID, workflow.DispatchRequest{Spec: spec})
	require.NoError(t, err)
	require.Equal(t, 2, d.Revision)
	s.Work(strings.Repeat("c0", 20))
	s.Verify()
	d, err = admin.Workflow(ctx, task.ID, 2, 1)
	require.NoError(t, err)
	require.Equal(t, workflow.PhaseAccepted, d.Phase)
	require.Len(t, d.History, 1)
	require.Equal(t, 3, d.NextAfter)
	byID, err := admin.WorkflowByID(ctx, d.WorkflowID, 2, 1)
	require.NoError(t, err)
	require.Equal(t, d.ContractDigest, byID.ContractDigest)
	r, err := admin.Receipt(ctx, task.ID)
	require.NoError(t, err)
	require.Equal(t, d.WorkflowID, r.WorkflowID)
	task, err = admin.Task(ctx, task.ID)
	require.NoError(t, err)
	require.Equal(t, workflow.TaskDone, task.Status)

	gone, err := ada.RevokeToken(ctx, made.ID)
	require.NoError(t, err)
	require.Equal(t, made.ID, gone.ID)
	_, err = ada.Projects(ctx)
	refusal, ok := errors.AsType[*client.Refusal](err)
	require.True(t, ok)
	require.Equal(t, 401, refusal.Status)
	require.Equal(t, contracts.CodeUnauthenticated, refusal.Err.Code)
	require.NotEmpty(t, refusal.RequestID)
	require.Equal(t, contracts.CodeUnauthenticated, contracts.CodeOf(err))
}

// What stands between client and server may answer anything.
func TestOddAnswers(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/instance":
			asked.Add(1)
			fmt.Fprint(w, `{"resource":"r","instance_id":"i","version":"v","of_a_newer_server":1}`)
		case "/v1/projects/html":
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, "<html>")
		case "/v1/projects/busy":
			w.Header().Set("Retry-After", "2")
			w.WriteHeader(http.StatusTooManyRequests)
		case "/v1/projects/path":
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprint(w, `{"code":"invalid","path":"$.x","detail":"d","reason":"r","status":422}`)
		case "/v1/projects/elsewhere":
			http.Redirect(w, r, "/v1/instance", http.StatusFound)
		case "/v1/projects/text":
			fmt.Fprint(w, "hello")
		case "/v1/projects/cut":
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "{")
		case "/v1/projects/slow":
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	ctx := t.Context()
	c := client.New(server.URL, "token")
	get := func(id string) error {
		_, err := c.Project(ctx, id)
		return err
	}
	for id, want := range map[string]struct {
		status int
		code   contracts.Code
	}{
		"html": {502, contracts.CodeUnavailable}, "busy": {429, contracts.CodeRateLimited},
		"path": {422, contracts.CodeInvalid}, "elsewhere": {302, contracts.CodeInternal},
	} {
		refusal, ok := errors.AsType[*client.Refusal](get(id))
		require.True(t, ok, id)
		require.Equal(t, want.status, refusal.Status, id)
		require.Equal(t, want.code, refusal.Err.Code, id)
	}
	refusal, _ := errors.AsType[*client.Refusal](get("busy"))
	require.Equal(t, 2*time.Second, refusal.RetryAfter)
	own, _ := errors.AsType[*contracts.Error](get("path"))
	require.Equal(t, contracts.Error{Code: contracts.CodeInvalid, Path: "$.x", Detail: "d", Reason: "r"}, *own)
	require.ErrorContains(t, get("text"), "not what this client knows")
	require.ErrorIs(t, get("cut"), client.ErrUnreachable)

	slow, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	_, err := c.Project(slow, "slow")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, client.ErrUnreachable, "the caller's own limit")

	before := asked.Load()
	for range 3 {
		wc, err := c.WriteContext(ctx, "p")
		require.NoError(t, err)
		require.Equal(t, workflow.WriteContext{Resource: "r", InstanceID: "i", ProjectID: new("p")}, wc)
	}
	require.Equal(t, before+1, asked.Load(), "the instance is asked once")
	wc, err := c.WriteContext(ctx, "")
	require.NoError(t, err)
	require.Nil(t, wc.ProjectID)
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	c := client.New("http://127.0.0.1:1", "token")
	_, err := c.Instance(t.Context())
	require.ErrorIs(t, err, client.ErrUnreachable)
	_, err = c.CreateTask(t.Context(), "p", workflow.CreateTask{Title: "t", Goal: "g"})
	require.ErrorIs(t, err, client.ErrUnreachable)
	_, err = client.New("no url", "").Instance(t.Context())
	require.Error(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Instance(ctx)
	require.ErrorIs(t, err, context.Canceled)
}
