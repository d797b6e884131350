package store_test

import (
	"testing"

	"countersign/contracts"
	"countersign/contracts/workflow"
	"countersign/store/storetest"

	"github.com/stretchr/testify/require"
)

var (
	codex  = workflow.Account{AccountID: "default", Runtime: workflow.RuntimeCodexCLI}
	claude = workflow.Account{AccountID: "default", Runtime: workflow.RuntimeClaudeCode}
)

func TestEnrolNeedsEveryProject(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	ctx := t.Context()
	p, second, foreign := b.MakeProject(t, "ada"), b.MakeProject(t, "ada"), b.MakeProject(t, "grace")
	b.MakeMember(t, "grace", foreign.ID, "ada", workflow.RoleMember)
	hidden := b.MakeProject(t, "grace")

	enrol := func(anchor string, projects ...string) error {
		_, err := b.Store.EnrollNode(ctx, "ada", workflow.EnrollNode{Name: "n", AnchorProjectID: anchor, Projects: projects})
		return err
	}
	err := enrol(p.ID, second.ID, foreign.ID)
	requireCode(t, contracts.CodeForbidden, err)
	require.Equal(t, "$.projects[1]", refusalOf(t, err).Path)
	err = enrol(hidden.ID)
	requireCode(t, contracts.CodeNotFound, err)
	require.Equal(t, "$.anchor_project_id", refusalOf(t, err).Path)
	unknown := enrol("no-such")
	require.Equal(t, refusalOf(t, unknown), refusalOf(t, err))

	made, err := b.Store.EnrollNode(ctx, "ada", workflow.EnrollNode{
		Name: "n", AnchorProjectID: p.ID, Projects: []string{second.ID, p.ID}, Accounts: []workflow.Account{codex, claude},
	})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{p.ID, second.ID}, made.Node.Projects)
	require.Equal(t, []workflow.Account{claude, codex}, made.Node.Accounts)
	require.Equal(t, workflow.NodeActive, made.Node.Status)
}

func TestANodesProjectsAreSeenByThoseInThem(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	ctx := t.Context()
	p, second := b.MakeProject(t, "ada"), b.MakeProject(t, "ada")
	b.MakeMember(t, "ada", second.ID, "grace", workflow.RoleAdmin)
	b.MakeUser(t, "stranger")
	made, err := b.Store.EnrollNode(ctx, "ada", workflow.EnrollNode{Name: "n", AnchorProjectID: p.ID, Projects: []string{second.ID}})
	require.NoError(t, err)

	seen, err := b.Store.Node(ctx, "grace", made.Node.ID)
	require.NoError(t, err)
	require.Equal(t, []string{second.ID}, seen.Projects)
	_, err = b.Store.PatchNode(ctx, "grace", made.Node.ID, workflow.PatchNode{Note: ptr("mine")})
	requireCode(t, contracts.CodeForbidden, err)
	list, err := b.Store.Nodes(ctx, "grace")
	require.NoError(t, err)
	require.Len(t, list.Nodes, 1)
	list, err = b.Store.Nodes(ctx, "stranger")
	require.NoError(t, err)
	require.Empty(t, list.Nodes)
}

func TestPatchNode(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	s, ctx := b.Store, t.Context()
	p, second, third := b.MakeProject(t, "ada"), b.MakeProject(t, "ada"), b.MakeProject(t, "grace")
	b.MakeMember(t, "grace", third.ID, "ada", workflow.RoleViewer)
	enrolled, err := s.EnrollNode(ctx, "ada", workflow.EnrollNode{Name: "n", AnchorProjectID: p.ID, Projects: []string{second.ID}, Accounts: []workflow.Account{codex}})
	require.NoError(t, err)
	id := enrolled.Node.ID
	patch := func(req workflow.PatchNode) (workflow.Node, error) { return s.PatchNode(ctx, "ada", id, req) }
	revoked := func() int { return countRevocations(t, b, id, workflow.ReasonAuthorityRevoked) }

	n, err := patch(workflow.PatchNode{Status: ptr(workflow.NodePaused), Note: ptr("maintenance")})
	require.NoError(t, err)
	require.Equal(t, workflow.NodePaused, n.Status)
	require.Equal(t, "maintenance", n.Note)
	require.Equal(t, 0, revoked())

	_, err = patch(workflow.PatchNode{Projects: &[]string{second.ID, third.ID}})
	requireCode(t, contracts.CodeForbidden, err)
	require.Equal(t, "$.projects[1]", refusalOf(t, err).Path)
	_, err = patch(workflow.PatchNode{Projects: &[]string{"no-such"}})
	requireCode(t, contracts.CodeNotFound, err)

	n, err = patch(workflow.PatchNode{Accounts: &[]workflow.Account{codex, claude}})
	require.NoError(t, err)
	require.Equal(t, []workflow.Account{claude, codex}, n.Accounts)
	require.Equal(t, 0, revoked(), "nothing was taken away")
	n, err = patch(workflow.PatchNode{Accounts: &[]workflow.Account{claude}})
	require.NoError(t, err)
	require.Equal(t, []workflow.Account{claude}, n.Accounts)
	require.Equal(t, 1, revoked())
	n, err = patch(workflow.PatchNode{Projects: &[]string{}, Status: ptr(workflow.NodeActive)})
	require.NoError(t, err)
	require.Equal(t, []string{p.ID}, n.Projects, "the anchor stays")
	require.Equal(t, 2, revoked())
	_, err = patch(workflow.PatchNode{Projects: &[]string{second.ID}})
	require.NoError(t, err)
	require.Equal(t, 2, revoked())

	n, err = patch(workflow.PatchNode{Status: ptr(workflow.NodeRevoked)})
	require.NoError(t, err)
	require.Equal(t, workflow.NodeRevoked, n.Status)
	require.Equal(t, 2, revoked())
	require.Equal(t, 1, countRevocations(t, b, id, workflow.ReasonNodeRevoked))
	_, err = s.Authenticate(ctx, enrolled.Token)
	requireCode(t, contracts.CodeUnauthenticated, err)

	_, err = patch(workflow.PatchNode{Status: ptr(workflow.NodeRevoked)})
	require.NoError(t, err, "revoking again is no change")
	require.Equal(t, 1, countRevocations(t, b, id, workflow.ReasonNodeRevoked))
	for _, req := range []workflow.PatchNode{
		{Status: ptr(workflow.NodeActive)}, {Status: ptr(workflow.NodePaused)}, {Projects: &[]string{}}, {Accounts: &[]workflow.Account{}},
	} {
		_, err = patch(req)
		requireCode(t, contracts.CodeNodeRevoked, err)
	}
	n, err = patch(workflow.PatchNode{Note: ptr("lost in the move")})
	require.NoError(t, err)
	require.Equal(t, "lost in the move", n.Note)
}
