package store_test

import (
	"errors"
	"testing"

	"countersign/contracts"
	"countersign/contracts/workflow"
	"countersign/store"
	"countersign/store/storetest"

	"github.com/stretchr/testify/require"
)

// Every operation of the store for every kind of caller: who is not in the project hears the same as
// for an id that does not exist, who is but may not is told so.
func TestEveryOperationAsksForTheRole(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	s, ctx := b.Store, t.Context()
	p := b.MakeProject(t, "owner")
	b.MakeMember(t, "owner", p.ID, "admin", workflow.RoleAdmin)
	b.MakeMember(t, "owner", p.ID, "member", workflow.RoleMember)
	b.MakeMember(t, "owner", p.ID, "viewer", workflow.RoleViewer)
	_, err := s.PutMember(ctx, "owner", p.ID, "viewer", workflow.PutMember{Role: workflow.RoleViewer, Status: "active"})
	require.NoError(t, err)
	b.MakeUser(t, "suspended", "target")
	_, err = s.PutMember(ctx, "owner", p.ID, "suspended", workflow.PutMember{Role: workflow.RoleAdmin, Status: "suspended"})
	require.NoError(t, err)
	b.MakeProject(t, "stranger")

	node := b.MakeNode(t, "owner", p.ID)
	wc := b.ContextFor(t, p.ID)
	title := "edited"

	type operation func(user, project, node, task string) error
	operations := map[string]struct {
		needs workflow.Role // the weakest that may
		what  string
		do    operation
	}{
		"project": {workflow.RoleViewer, "project", func(user, project, _, _ string) error {
			_, err := s.Project(ctx, user, project)
			return err
		}},
		"members": {workflow.RoleViewer, "project", func(user, project, _, _ string) error {
			_, err := s.Members(ctx, user, project)
			return err
		}},
		"put member": {workflow.RoleAdmin, "project", func(user, project, _, _ string) error {
			_, err := s.PutMember(ctx, user, project, "target", workflow.PutMember{Role: workflow.RoleViewer, Status: "active"})
			return err
		}},
		"enrol node": {workflow.RoleAdmin, "project", func(user, project, _, _ string) error {
			_, err := s.EnrollNode(ctx, user, workflow.EnrollNode{Name: "n", AnchorProjectID: project})
			return err
		}},
		"node": {workflow.RoleViewer, "node", func(user, _, node, _ string) error {
			_, err := s.Node(ctx, user, node)
			return err
		}},
		"patch node": {workflow.RoleAdmin, "node", func(user, _, node, _ string) error {
			_, err := s.PatchNode(ctx, user, node, workflow.PatchNode{Note: &title})
			return err
		}},
		"create task": {workflow.RoleMember, "project", func(user, project, _, _ string) error {
			wc := wc
			wc.ProjectID = &project
			_, err := s.CreateTask(ctx, user, workflow.CreateTask{WriteContext: wc, Title: "t", Goal: "g"})
			return err
		}},
		"tasks": {workflow.RoleViewer, "project", func(user, project, _, _ string) error {
			_, err := s.Tasks(ctx, user, workflow.TaskQuery{ProjectID: project, Limit: 1})
			return err
		}},
		"task": {workflow.RoleViewer, "task", func(user, _, _, task string) error {
			_, err := s.Task(ctx, user, task)
			return err
		}},
		"patch task": {workflow.RoleMember, "task", func(user, _, _, task string) error {
			_, err := s.PatchTask(ctx, user, task, workflow.PatchTask{WriteContext: wc, ExpectedVersion: 1, Title: &title})
			return err
		}},
	}
	rank := map[workflow.Role]int{workflow.RoleViewer: 1, workflow.RoleMember: 2, workflow.RoleAdmin: 3, workflow.RoleOwner: 4}
	for name, op := range operations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, user := range []string{"owner", "admin", "member", "viewer", "suspended", "stranger"} {
				task := b.MakeTask(t, "owner", p.ID)
				err := op.do(user, p.ID, node.Node.ID, task.ID)
				switch have := rank[workflow.Role(user)]; {
				case have >= rank[op.needs]:
					require.NoError(t, err, user)
				case have > 0:
					requireCode(t, contracts.CodeForbidden, err)
				default:
					unknown := op.do("owner", "no-such", "no-such", "no-such")
					requireCode(t, contracts.CodeNotFound, unknown)
					require.Equal(t, refusalOf(t, unknown).Detail, refusalOf(t, err).Detail, user)
					require.Equal(t, "no such "+op.what, refusalOf(t, err).Detail)
				}
			}
		})
	}
}

func refusalOf(t testing.TB, err error) contracts.Error {
	t.Helper()
	e, ok := errors.AsType[*contracts.Error](err)
	require.True(t, ok, "%v", err)
	return *e
}

func TestWriteContextIsChecked(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	p, other := b.MakeProject(t, "owner"), b.MakeProject(t, "owner")
	task := b.MakeTask(t, "owner", p.ID)
	node := b.MakeNode(t, "owner", p.ID)
	user := b.MakeToken(t, "owner")
	by := store.Identity{User: "owner"}
	title := "edited"

	right := b.ContextFor(t, p.ID)
	none := b.ContextFor(t, "")
	for name, tc := range map[string]struct {
		project *workflow.WriteContext // for writes in the project
		no      *workflow.WriteContext // for writes in none
		path    string
	}{
		"another server":   {with(right, "https://elsewhere.test", ""), with(none, "https://elsewhere.test", ""), "$.write_context.resource"},
		"another instance": {with(right, "", "another"), with(none, "", "another"), "$.write_context.instance_id"},
		"another project":  {ptr(b.ContextFor(t, other.ID)), &right, "$.write_context.project_id"},
		"no project":       {&none, &right, "$.write_context.project_id"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			check := func(err error) {
				t.Helper()
				requireCode(t, contracts.CodeWriteContext, err)
				require.Equal(t, tc.path, refusalOf(t, err).Path)
			}
			_, err := b.Store.CreateProject(ctx, "owner", workflow.CreateProject{Name: "n", Repository: "r", WriteContext: tc.no})
			check(err)
			_, err = b.Store.CreateToken(ctx, by, workflow.CreateToken{User: "owner", WriteContext: tc.no})
			check(err)
			_, err = b.Store.RevokeToken(ctx, by, user.ID, workflow.RevokeToken{WriteContext: tc.no})
			check(err)
			_, err = b.Store.PutMember(ctx, "owner", p.ID, "owner", workflow.PutMember{Role: workflow.RoleOwner, Status: "active", WriteContext: tc.project})
			check(err)
			_, err = b.Store.EnrollNode(ctx, "owner", workflow.EnrollNode{Name: "n", AnchorProjectID: p.ID, WriteContext: tc.project})
			check(err)
			_, err = b.Store.PatchNode(ctx, "owner", node.Node.ID, workflow.PatchNode{Note: &title, WriteContext: tc.project})
			check(err)
			_, err = b.Store.PatchTask(ctx, "owner", task.ID, workflow.PatchTask{WriteContext: *tc.project, ExpectedVersion: 99, Title: &title})
			check(err)
		})
	}
	t.Run("tasks are made where the context says", func(t *testing.T) {
		t.Parallel()
		_, err := b.Store.CreateTask(t.Context(), "owner", workflow.CreateTask{WriteContext: none, Title: "t", Goal: "g"})
		requireCode(t, contracts.CodeInvalid, err)
		_, err = b.Store.CreateTask(t.Context(), "owner", workflow.CreateTask{WriteContext: *with(right, "https://elsewhere.test", ""), Title: "t", Goal: "g"})
		requireCode(t, contracts.CodeWriteContext, err)
	})
}

func with(wc workflow.WriteContext, resource, instance string) *workflow.WriteContext {
	if resource != "" {
		wc.Resource = resource
	}
	if instance != "" {
		wc.InstanceID = instance
	}
	return &wc
}
