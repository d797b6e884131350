// What most tests need in their database: users, projects, nodes, tasks.

package storetest

import (
	"testing"

	"countersign/contracts/workflow"
	"countersign/store"

	"github.com/stretchr/testify/require"
)

// anyAdmin may make tokens for everybody without a token of its own.
var anyAdmin = store.Identity{Scopes: []workflow.Scope{workflow.ScopeAdmin}}

// MakeToken makes a token for a user, who exists from then on. Without scopes it has all but admin.
func (b *Bundle) MakeToken(t testing.TB, user string, scopes ...workflow.Scope) workflow.TokenCreated {
	t.Helper()
	if len(scopes) == 0 {
		scopes = workflow.UserScopes[:len(workflow.UserScopes)-1]
	}
	made, err := b.Store.CreateToken(t.Context(), anyAdmin, workflow.CreateToken{User: user, Scopes: scopes})
	require.NoError(t, err)
	return made
}

// MakeUser makes users without a token, for tests below the API.
func (b *Bundle) MakeUser(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		_, err := b.Pool.Exec(t.Context(), `INSERT INTO users (name) VALUES ($1) ON CONFLICT DO NOTHING`, name)
		require.NoError(t, err)
	}
}

// MakeProject makes a project owned by a user, who is made if need be.
func (b *Bundle) MakeProject(t testing.TB, owner string) workflow.Project {
	t.Helper()
	b.MakeUser(t, owner)
	p, err := b.Store.CreateProject(t.Context(), owner, workflow.CreateProject{Name: "project of " + owner, Repository: "https://git.test/" + owner})
	require.NoError(t, err)
	return p
}

// MakeMember makes a user an active member of a project; by is one of its owners.
func (b *Bundle) MakeMember(t testing.TB, by, projectID, user string, role workflow.Role) {
	t.Helper()
	b.MakeUser(t, user)
	_, err := b.Store.PutMember(t.Context(), by, projectID, user, workflow.PutMember{Role: role, Status: "active"})
	require.NoError(t, err)
}

// MakeNode enrols a node with the given accounts, anchored in a project of which by is owner or admin.
func (b *Bundle) MakeNode(t testing.TB, by, projectID string, accounts ...workflow.Account) workflow.NodeEnrolled {
	t.Helper()
	n, err := b.Store.EnrollNode(t.Context(), by, workflow.EnrollNode{Name: "node of " + by, AnchorProjectID: projectID, Accounts: accounts})
	require.NoError(t, err)
	return n
}

// MakeTask makes a task in a project of which by is a member.
func (b *Bundle) MakeTask(t testing.TB, by, projectID string) workflow.Task {
	t.Helper()
	made, err := b.Store.CreateTask(t.Context(), by, workflow.CreateTask{
		WriteContext: b.ContextFor(t, projectID), Title: "Fix the parser", Goal: "The parser reads the sample",
	})
	require.NoError(t, err)
	return made
}

// ContextFor binds a write to this instance and a project; "" is for instance-level writes.
func (b *Bundle) ContextFor(t testing.TB, projectID string) workflow.WriteContext {
	t.Helper()
	i, err := b.Store.Instance(t.Context())
	require.NoError(t, err)
	wc := workflow.WriteContext{Resource: i.Resource, InstanceID: i.InstanceID}
	if projectID != "" {
		wc.ProjectID = &projectID
	}
	return wc
}
