// Tokens: the first one, further ones, and their end.

package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/jackc/pgx/v5"
)

// BootstrapAdmin makes the first token of a new instance, with every scope a user can have. It is
// refused with already_exists while some admin token is valid; an instance whose admin tokens have
// all ended can so be taken up again by whoever holds the database.
func (s *Store) BootstrapAdmin(ctx context.Context, user string) (workflow.TokenCreated, error) {
	var made workflow.TokenCreated
	req := workflow.CreateToken{User: user, Scopes: workflow.UserScopes}
	if err := workflow.Validate(&req); err != nil {
		return made, err
	}
	err := s.tx(ctx, func(tx pgx.Tx) error {
		// Two calls at once must not both find no admin.
		if _, err := tx.Exec(ctx, `SELECT FROM instance FOR NO KEY UPDATE`); err != nil {
			return err
		}
		var exists bool
		err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM tokens WHERE user_name IS NOT NULL AND $1 = ANY (scopes)
			AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > clock_timestamp()))`, workflow.ScopeAdmin).Scan(&exists)
		if err != nil {
			return err
		}
		if exists {
			return contracts.Refuse(contracts.CodeAlreadyExists,
				"there is a valid admin token already: use it to make further tokens, or revoke it first")
		}
		made, err = insertUserToken(ctx, tx, req, "")
		return err
	})
	return made, err
}

// CreateToken makes a token for a user, who exists from then on. Without the admin scope the caller
// gets one for itself only, with no scope it lacks; else forbidden.
func (s *Store) CreateToken(ctx context.Context, by Identity, req workflow.CreateToken) (workflow.TokenCreated, error) {
	var made workflow.TokenCreated
	if err := mayCreate(by, req); err != nil {
		return made, err
	}
	err := s.tx(ctx, func(tx pgx.Tx) error {
		err := checkWriteContext(ctx, tx, req.WriteContext, nil)
		if err != nil {
			return err
		}
		parent := ""
		if req.User == by.User {
			parent = by.TokenID
		}
		made, err = insertUserToken(ctx, tx, req, parent)
		return err
	})
	return made, err
}

func mayCreate(by Identity, req workflow.CreateToken) error {
	if by.Has(workflow.ScopeAdmin) {
		return nil
	}
	if by.User != req.User {
		return &contracts.Error{Code: contracts.CodeForbidden, Path: "$.user", Detail: "a token for another user needs the admin scope"}
	}
	for i, scope := range req.Scopes {
		if !by.Has(scope) {
			return &contracts.Error{Code: contracts.CodeForbidden, Path: fmt.Sprintf("$.scopes[%d]", i), Detail: "your own token lacks this scope"}
		}
	}
	return nil
}

// insertUserToken makes a token that does not outlive parent, the token it is made with; "" for none.
func insertUserToken(ctx context.Context, tx pgx.Tx, req workflow.CreateToken, parent string) (workflow.TokenCreated, error) {
	if _, err := tx.Exec(ctx, `INSERT INTO users (name) VALUES ($1) ON CONFLICT DO NOTHING`, req.User); err != nil {
		return workflow.TokenCreated{}, err
	}
	secret, hash := newSecret()
	made := workflow.TokenCreated{ID: newID(), User: req.User, Scopes: req.Scopes, Token: secret}
	err := tx.QueryRow(ctx, `INSERT INTO tokens (id, secret_sha256, user_name, scopes, expires_at)
		VALUES ($1, $2, $3, $4, least(clock_timestamp() + make_interval(secs => $5), (SELECT expires_at FROM tokens WHERE id = $6))) RETURNING expires_at`,
		made.ID, hash, req.User, req.Scopes, req.ExpiresIn, parent).Scan(&made.ExpiresAt)
	return made, err
}

// RevokeToken ends a token at once: users end their own, holders of the admin scope everybody's, and
// owners and admins of a node's anchor project the node's, which also settles what the node holds.
// Repeating it gives the first answer.
func (s *Store) RevokeToken(ctx context.Context, by Identity, tokenID string, req workflow.RevokeToken) (workflow.TokenRevoked, error) {
	done := workflow.TokenRevoked{ID: tokenID}
	err := s.tx(ctx, func(tx pgx.Tx) error {
		var user, node, anchor *string
		err := tx.QueryRow(ctx, `SELECT t.user_name, t.node_id, n.anchor_project_id
			FROM tokens t LEFT JOIN nodes n ON n.id = t.node_id WHERE t.id = $1`, tokenID).Scan(&user, &node, &anchor)
		if errors.Is(err, pgx.ErrNoRows) {
			return notFound("token")
		}
		if err != nil {
			return err
		}
		if err := mayRevoke(ctx, tx, by, user, anchor); err != nil {
			return err
		}
		if err := checkWriteContext(ctx, tx, req.WriteContext, nil); err != nil {
			return err
		}
		var first bool
		done.RevokedAt, first, err = endToken(ctx, tx, tokenID)
		if err != nil || !first || node == nil {
			return err
		}
		return insertRevocation(ctx, tx, *node, workflow.ReasonAuthorityRevoked)
	})
	return done, err
}

func mayRevoke(ctx context.Context, tx pgx.Tx, by Identity, user, anchor *string) error {
	switch {
	case by.Has(workflow.ScopeAdmin), user != nil && *user == by.User:
		return nil
	case anchor != nil:
		return hiddenAs(lockProjectRole(ctx, tx, by.User, *anchor, admins...), "token")
	}
	return notFound("token")
}

// endToken revokes a token and reports when that happened and whether it was this call.
func endToken(ctx context.Context, tx pgx.Tx, tokenID string) (at time.Time, first bool, err error) {
	err = tx.QueryRow(ctx, `SELECT revoked_at IS NULL, coalesce(revoked_at, clock_timestamp()) FROM tokens
		WHERE id = $1 FOR NO KEY UPDATE`, tokenID).Scan(&first, &at)
	if err != nil || !first {
		return at, first, err
	}
	_, err = tx.Exec(ctx, `UPDATE tokens SET revoked_at = $2 WHERE id = $1`, tokenID, at)
	return at, first, err
}

// insertRevocation leaves word that a node lost authority; the relay blocks what it no longer may do.
func insertRevocation(ctx context.Context, tx pgx.Tx, nodeID string, reason workflow.Reason) error {
	_, err := tx.Exec(ctx, `INSERT INTO outbox (kind, node_id, reason) VALUES ('revocation', $1, $2)`, nodeID, reason)
	return err
}
