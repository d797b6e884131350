// A small world to dispatch in: an owner, a project, a node and tasks.

package storetest

import (
	"strings"
	"testing"
	"time"

	"countersign/contracts/canonjson"
	"countersign/contracts/workflow"
	"countersign/store"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// Scene is a project with its owner and a node that works for it.
type Scene struct {
	*Bundle
	Instance   workflow.Instance
	Owner      store.Identity
	OwnerToken string
	Project    workflow.Project
	Node       workflow.Node
	NodeToken  string
}

// BaseCommit is the commit that a Spec of the scene starts from.
var BaseCommit = strings.Repeat("a1", 20)

// NewScene makes a scene in a new database.
func NewScene(t testing.TB) *Scene {
	t.Helper()
	return NewSceneIn(t, New(t))
}

// NewSceneIn makes a scene in an empty database.
func NewSceneIn(t testing.TB, b *Bundle) *Scene {
	t.Helper()
	s := &Scene{Bundle: b}
	ctx := t.Context()
	var err error
	s.Instance, err = s.Store.Instance(ctx)
	require.NoError(t, err)
	admin, err := s.Store.BootstrapAdmin(ctx, "owner")
	require.NoError(t, err)
	s.OwnerToken = admin.Token
	s.Owner, err = s.Store.Authenticate(ctx, admin.Token)
	require.NoError(t, err)
	s.Project, err = s.Store.CreateProject(ctx, s.Owner.User, workflow.CreateProject{Name: "demo", Repository: "https://example.test/demo.git"})
	require.NoError(t, err)
	s.Node, s.NodeToken = s.AddNode(t)
	return s
}

// AddNode enrolls one more node that works for the scene's project.
func (s *Scene) AddNode(t testing.TB) (workflow.Node, string) {
	t.Helper()
	enrolled, err := s.Store.EnrollNode(t.Context(), s.Owner.User, workflow.EnrollNode{Name: "node", AnchorProjectID: s.Project.ID})
	require.NoError(t, err)
	return enrolled.Node, enrolled.Token
}

// AddTask makes one more open task.
func (s *Scene) AddTask(t testing.TB) workflow.Task {
	t.Helper()
	task, err := s.Store.CreateTask(t.Context(), s.Owner.User, workflow.CreateTask{
		WriteContext: s.WriteContext(), Title: "Add a greeting", Goal: "The program greets its user.",
	})
	require.NoError(t, err)
	return task
}

// WriteContext is the right one for the scene's project.
func (s *Scene) WriteContext() workflow.WriteContext {
	return workflow.WriteContext{Resource: s.Instance.Resource, InstanceID: s.Instance.InstanceID, ProjectID: &s.Project.ID}
}

// Spec is a valid dispatch of the task to the scene's node under a new key.
func (s *Scene) Spec(task workflow.Task) workflow.Spec {
	profile := func(id string) workflow.Profile {
		return workflow.Profile{ProfileID: id, Version: workflow.StringVersion("1"), Runtime: workflow.RuntimeSynthetic, Instructions: "Do it well."}
	}
	worker := profile("worker")
	worker.AllowWorkspaceWrites = true
	return workflow.Spec{Profile: worker, Verifier: profile("verifier"), Assignment: workflow.Assignment{
		TaskID: task.ID, ExpectedTaskVersion: task.Version, BridgeID: s.Node.ID, IdempotencyKey: uuid.NewString(),
		Workspace: "/srv/demo", BaseCommit: BaseCommit, Branch: "countersign/demo", Prompt: "Add the greeting.",
		Criteria: []workflow.Criterion{
			{ID: "builds", Description: "It builds.", Method: "go build ./..."},
			{ID: "tests", Description: "Its tests pass.", Method: "go test ./..."},
		},
		DocumentRefs: []string{"docs/design.md"},
	}}
}

// Dispatch dispatches a spec through the store alone, with the given lease and deadline.
func (s *Scene) Dispatch(t testing.TB, spec workflow.Spec, lease, deadline time.Duration) (store.Dispatched, error) {
	t.Helper()
	request := workflow.DispatchRequest{Spec: spec, WriteContext: s.WriteContext()}
	require.NoError(t, workflow.Validate(&request))
	digest, err := canonjson.DigestOf(request)
	require.NoError(t, err)
	return s.Store.Dispatch(t.Context(), store.Dispatch{User: s.Owner.User, Request: request, RequestSHA256: digest, Lease: lease, Deadline: deadline})
}

// OfferedExecution is the execution now offered to the node.
func (s *Scene) OfferedExecution(t testing.TB) string {
	t.Helper()
	offers, err := s.Store.Offers(t.Context(), s.Node.ID)
	require.NoError(t, err)
	require.Len(t, offers, 1)
	return offers[0].ExecutionID
}
