// Who a token's bearer is.

package store

import (
	"context"
	"errors"
	"slices"

	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/jackc/pgx/v5"
)

// Identity is the bearer of a valid token: a user or a node, never both.
type Identity struct {
	TokenID string
	User    string // "" for a node
	NodeID  string // "" for a user
	Scopes  []workflow.Scope
}

// Has reports whether the token carries the scope. No scope implies another.
func (i Identity) Has(scope workflow.Scope) bool { return slices.Contains(i.Scopes, scope) }

// Authenticate finds the token with this secret. Unknown, expired and revoked tokens are the same
// unauthenticated. One indexed read, no write.
func (s *Store) Authenticate(ctx context.Context, secret string) (Identity, error) {
	var (
		i          Identity
		user, node *string
	)
	err := s.pool.QueryRow(ctx, `SELECT id, user_name, node_id, scopes FROM tokens
		WHERE secret_sha256 = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > clock_timestamp())`,
		hashSecret(secret)).Scan(&i.TokenID, &user, &node, &i.Scopes)
	if errors.Is(err, pgx.ErrNoRows) {
		return Identity{}, contracts.Refuse(contracts.CodeUnauthenticated, "the token is unknown, expired or revoked")
	}
	if err != nil {
		return Identity{}, translate(err)
	}
	i.User, i.NodeID = deref(user), deref(node)
	return i, nil
}

// deref reads a nullable text column as "" for null.
func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
