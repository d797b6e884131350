package store_test

import (
	"sync"
	"testing"

	"countersign/contracts"
	"countersign/contracts/workflow"
	"countersign/store/storetest"

	"github.com/stretchr/testify/require"
)

func put(role workflow.Role, status string) workflow.PutMember {
	return workflow.PutMember{Role: role, Status: status}
}

func TestOwnerRules(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	s, ctx := b.Store, t.Context()
	p := b.MakeProject(t, "ada")
	b.MakeMember(t, "ada", p.ID, "admin", workflow.RoleAdmin)
	b.MakeUser(t, "grace")

	_, err := s.PutMember(ctx, "ada", p.ID, "nobody", put(workflow.RoleViewer, "active"))
	requireCode(t, contracts.CodeNotFound, err)
	_, err = s.PutMember(ctx, "admin", p.ID, "grace", put(workflow.RoleOwner, "active"))
	requireCode(t, contracts.CodeForbidden, err)
	_, err = s.PutMember(ctx, "admin", p.ID, "ada", put(workflow.RoleMember, "active"))
	requireCode(t, contracts.CodeForbidden, err)
	_, err = s.PutMember(ctx, "admin", p.ID, "admin", put(workflow.RoleOwner, "active"))
	requireCode(t, contracts.CodeForbidden, err)
	m, err := s.PutMember(ctx, "admin", p.ID, "grace", put(workflow.RoleAdmin, "active"))
	require.NoError(t, err)
	require.Equal(t, workflow.RoleAdmin, m.Role)

	for _, change := range []workflow.PutMember{put(workflow.RoleMember, "active"), put(workflow.RoleOwner, "suspended")} {
		_, err = s.PutMember(ctx, "ada", p.ID, "ada", change)
		requireCode(t, contracts.CodeLastOwner, err)
	}
	// A suspended owner is none to rely on.
	_, err = s.PutMember(ctx, "ada", p.ID, "grace", put(workflow.RoleOwner, "suspended"))
	require.NoError(t, err)
	_, err = s.PutMember(ctx, "ada", p.ID, "ada", put(workflow.RoleViewer, "active"))
	requireCode(t, contracts.CodeLastOwner, err)
	_, err = s.PutMember(ctx, "ada", p.ID, "grace", put(workflow.RoleOwner, "active"))
	require.NoError(t, err)
	_, err = s.PutMember(ctx, "ada", p.ID, "ada", put(workflow.RoleViewer, "active"))
	require.NoError(t, err)
	_, err = s.PutMember(ctx, "ada", p.ID, "admin", put(workflow.RoleMember, "active"))
	requireCode(t, contracts.CodeForbidden, err)

	list, err := s.Members(ctx, "ada", p.ID)
	require.NoError(t, err)
	require.Len(t, list.Members, 3)
	require.Equal(t, []string{"ada", "admin", "grace"}, []string{list.Members[0].User, list.Members[1].User, list.Members[2].User})
}

// Owners who demote each other, or themselves, at once: one of them stays.
func TestLastOwnerRace(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	ctx := t.Context()
	for round := range 20 {
		p := b.MakeProject(t, "ada")
		b.MakeMember(t, "ada", p.ID, "grace", workflow.RoleOwner)
		by := [2]string{"ada", "grace"}
		of := [2]string{"ada", "grace"}
		if round%2 == 1 {
			of = [2]string{"grace", "ada"}
		}
		var (
			wg    sync.WaitGroup
			codes [2]contracts.Code
		)
		for i := range 2 {
			wg.Go(func() {
				_, err := b.Store.PutMember(ctx, by[i], p.ID, of[i], put(workflow.RoleMember, "active"))
				codes[i] = contracts.CodeOf(err)
				if err != nil && codes[i] == "" {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		var owners int
		err := b.Pool.QueryRow(ctx, `SELECT count(*) FROM members WHERE project_id = $1 AND role = 'owner' AND status = 'active'`, p.ID).Scan(&owners)
		require.NoError(t, err)
		require.Equal(t, 1, owners)
		refused := contracts.CodeLastOwner // both demote themselves
		if round%2 == 1 {
			refused = contracts.CodeForbidden // the demoted one is no owner any more
		}
		require.ElementsMatch(t, []contracts.Code{"", refused}, codes[:])
	}
}
