package store_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/contracts"
	"countersign/contracts/workflow"
	"countersign/store"
	"countersign/store/storetest"

	"github.com/stretchr/testify/require"
)

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	ctx := t.Context()
	p := b.MakeProject(t, "ada")
	user := b.MakeToken(t, "ada", workflow.ScopeTasksRead)
	node := b.MakeNode(t, "ada", p.ID)

	who, err := b.Store.Authenticate(ctx, user.Token)
	require.NoError(t, err)
	require.Equal(t, store.Identity{TokenID: user.ID, User: "ada", Scopes: []workflow.Scope{workflow.ScopeTasksRead}}, who)
	require.True(t, who.Has(workflow.ScopeTasksRead))
	require.False(t, who.Has(workflow.ScopeTasksWrite))

	who, err = b.Store.Authenticate(ctx, node.Token)
	require.NoError(t, err)
	require.Equal(t, node.Node.ID, who.NodeID)
	require.Empty(t, who.User)
	require.Equal(t, []workflow.Scope{workflow.ScopeBridge}, who.Scopes)

	for name, secret := range map[string]string{"unknown": "cs_unknown", "empty": "", "no text": "\x00\xff", "the id": user.ID} {
		_, err = b.Store.Authenticate(ctx, secret)
		requireCode(t, contracts.CodeUnauthenticated, err)
		require.Equal(t, "the token is unknown, expired or revoked", refusalOf(t, err).Detail, name)
	}
}

func TestTokensExpireByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	ctx := t.Context()
	life := int64(3600)
	made, err := b.Store.CreateToken(ctx, store.Identity{User: "ada"}, workflow.CreateToken{User: "ada", Scopes: []workflow.Scope{}, ExpiresIn: &life})
	require.NoError(t, err)
	var now time.Time
	require.NoError(t, b.Pool.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now))
	require.WithinDuration(t, now.Add(time.Hour), *made.ExpiresAt, time.Minute)
	_, err = b.Store.Authenticate(ctx, made.Token)
	require.NoError(t, err)
	_, err = b.Pool.Exec(ctx, `UPDATE tokens SET expires_at = clock_timestamp()`)
	require.NoError(t, err)
	_, err = b.Store.Authenticate(ctx, made.Token)
	requireCode(t, contracts.CodeUnauthenticated, err)
}

func TestSecretsAreNotStored(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	made := b.MakeToken(t, "ada")
	var found bool
	err := b.Pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM tokens t WHERE t::text LIKE '%' || $1 || '%'
		OR position(convert_to($1, 'UTF8') IN secret_sha256) > 0)`, made.Token[3:]).Scan(&found)
	require.NoError(t, err)
	require.False(t, found)
}

func TestBootstrapAdminOnce(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	ctx := t.Context()
	_, err := b.Store.BootstrapAdmin(ctx, "No Such Name")
	requireCode(t, contracts.CodeInvalid, err)

	var (
		wg      sync.WaitGroup
		won     atomic.Int32
		admin   atomic.Pointer[workflow.TokenCreated]
		refused atomic.Int32
	)
	for range 8 {
		wg.Go(func() {
			made, err := b.Store.BootstrapAdmin(ctx, "ada")
			switch contracts.CodeOf(err) {
			case contracts.CodeAlreadyExists:
				refused.Add(1)
			case "":
				if err == nil {
					won.Add(1)
					admin.Store(&made)
				}
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, won.Load())
	require.EqualValues(t, 7, refused.Load())
	who, err := b.Store.Authenticate(ctx, admin.Load().Token)
	require.NoError(t, err)
	require.Equal(t, workflow.UserScopes, who.Scopes)

	_, err = b.Store.RevokeToken(ctx, who, who.TokenID, workflow.RevokeToken{})
	require.NoError(t, err)
	_, err = b.Store.BootstrapAdmin(ctx, "grace")
	require.NoError(t, err, "an instance without any admin can be taken up again")
}

func TestWhoMayCreateTokens(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	b.MakeUser(t, "ada")
	read := store.Identity{User: "ada", Scopes: []workflow.Scope{workflow.ScopeTasksRead}}
	admin := store.Identity{User: "ada", Scopes: []workflow.Scope{workflow.ScopeAdmin}}
	for name, tc := range map[string]struct {
		by     store.Identity
		user   string
		scopes []workflow.Scope
		code   contracts.Code
		path   string
	}{
		"for oneself":                  {read, "ada", []workflow.Scope{workflow.ScopeTasksRead}, "", ""},
		"for oneself, more":            {read, "ada", []workflow.Scope{workflow.ScopeTasksRead, workflow.ScopeTasksWrite}, contracts.CodeForbidden, "$.scopes[1]"},
		"for oneself, admin":           {read, "ada", []workflow.Scope{workflow.ScopeAdmin}, contracts.CodeForbidden, "$.scopes[0]"},
		"for another":                  {read, "grace", []workflow.Scope{workflow.ScopeTasksRead}, contracts.CodeForbidden, "$.user"},
		"admin for another":            {admin, "grace", []workflow.Scope{workflow.ScopeTasksWrite}, "", ""},
		"admin for oneself, any scope": {admin, "ada", []workflow.Scope{workflow.ScopeDocumentsRead}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made, err := b.Store.CreateToken(t.Context(), tc.by, workflow.CreateToken{User: tc.user, Scopes: tc.scopes})
			requireCode(t, tc.code, err)
			if err != nil {
				require.Equal(t, tc.path, refusalOf(t, err).Path)
				return
			}
			require.Nil(t, made.ExpiresAt)
			who, err := b.Store.Authenticate(t.Context(), made.Token)
			require.NoError(t, err)
			require.Equal(t, tc.user, who.User)
			require.Equal(t, tc.scopes, who.Scopes)
		})
	}
}

func TestWhoMayRevokeTokens(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	p := b.MakeProject(t, "owner")
	b.MakeMember(t, "owner", p.ID, "chief", workflow.RoleAdmin)
	b.MakeMember(t, "owner", p.ID, "viewer", workflow.RoleViewer)
	b.MakeUser(t, "stranger")
	user := func(name string) store.Identity {
		return store.Identity{User: name, Scopes: []workflow.Scope{workflow.ScopeTasksWrite}}
	}
	anyAdmin := store.Identity{User: "stranger", Scopes: []workflow.Scope{workflow.ScopeAdmin}}
	for name, tc := range map[string]struct {
		by   store.Identity
		node bool
		code contracts.Code
	}{
		"one's own":                     {user("owner"), false, ""},
		"another's":                     {user("chief"), false, contracts.CodeNotFound},
		"another's by admin scope":      {anyAdmin, false, ""},
		"node's by owner":               {user("owner"), true, ""},
		"node's by project admin":       {user("chief"), true, ""},
		"node's by viewer":              {user("viewer"), true, contracts.CodeForbidden},
		"node's by stranger":            {user("stranger"), true, contracts.CodeNotFound},
		"node's by admin scope":         {anyAdmin, true, ""},
		"node's by a token without any": {store.Identity{User: "stranger"}, true, contracts.CodeNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			secret, revocations := b.MakeToken(t, "owner").Token, 0
			nodeID := ""
			if tc.node {
				n := b.MakeNode(t, "owner", p.ID)
				secret, nodeID, revocations = n.Token, n.Node.ID, 1
			}
			who, err := b.Store.Authenticate(ctx, secret)
			require.NoError(t, err)
			done, err := b.Store.RevokeToken(ctx, tc.by, who.TokenID, workflow.RevokeToken{})
			requireCode(t, tc.code, err)
			if err != nil {
				require.Equal(t, 0, countRevocations(t, b, nodeID, workflow.ReasonAuthorityRevoked))
				return
			}
			_, err = b.Store.Authenticate(ctx, secret)
			requireCode(t, contracts.CodeUnauthenticated, err)
			again, err := b.Store.RevokeToken(ctx, tc.by, who.TokenID, workflow.RevokeToken{})
			require.NoError(t, err)
			require.True(t, done.RevokedAt.Equal(again.RevokedAt), "repeating gives the first answer")
			require.Equal(t, revocations, countRevocations(t, b, nodeID, workflow.ReasonAuthorityRevoked), "and no second effect")
		})
	}
	_, err := b.Store.RevokeToken(t.Context(), anyAdmin, "no-such", workflow.RevokeToken{})
	requireCode(t, contracts.CodeNotFound, err)
}

func countRevocations(t testing.TB, b *storetest.Bundle, nodeID string, reason workflow.Reason) int {
	t.Helper()
	var n int
	err := b.Pool.QueryRow(t.Context(), `SELECT count(*) FROM outbox WHERE kind = 'revocation' AND node_id = $1 AND reason = $2 AND sent_at IS NULL`,
		nodeID, reason).Scan(&n)
	require.NoError(t, err)
	return n
}
