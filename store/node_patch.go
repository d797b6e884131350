// Changes of a node, and what a loss of authority sets off.

package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/jackc/pgx/v5"
)

// PatchNode changes what the request gives. Owners and admins of the anchor project may, and must be
// such in each project newly added. Lists replace the ones before; the anchor always stays. A node
// that is revoked, or loses a project or an account, has its executions settled through the outbox.
// Revoked is final (node_revoked); only the note of a revoked node can still change.
func (s *Store) PatchNode(ctx context.Context, user, nodeID string, req workflow.PatchNode) (workflow.Node, error) {
	var n workflow.Node
	err := s.tx(ctx, func(tx pgx.Tx) error {
		before, err := lockNode(ctx, tx, user, nodeID)
		if err != nil {
			return err
		}
		added := map[string]string{}
		if req.Projects != nil {
			for i, id := range *req.Projects {
				if !slices.Contains(before.projects, id) {
					added[id] = fmt.Sprintf("$.projects[%d]", i)
				}
			}
		}
		if err := lockAdminOf(ctx, tx, user, added); err != nil {
			return err
		}
		if err := checkWriteContext(ctx, tx, req.WriteContext, &before.anchor); err != nil {
			return err
		}
		if err := before.permits(req); err != nil {
			return err
		}
		if err := patchNode(ctx, tx, nodeID, before, req); err != nil {
			return err
		}
		n, err = readNode(ctx, tx, user, nodeID)
		return err
	})
	return n, err
}

// lockedNode is a node as it stands before a change.
type lockedNode struct {
	anchor   string
	status   workflow.NodeStatus
	projects []string
}

// lockNode locks the node before its members, and answers 404 and 403. The lock keeps its projects
// and accounts as well: they change under it only, and whoever relies on them holds it FOR SHARE.
func lockNode(ctx context.Context, tx pgx.Tx, user, nodeID string) (lockedNode, error) {
	var (
		n       lockedNode
		visible bool
	)
	err := tx.QueryRow(ctx, `SELECT anchor_project_id, status FROM nodes WHERE id = $1 FOR NO KEY UPDATE`, nodeID).Scan(&n.anchor, &n.status)
	if errors.Is(err, pgx.ErrNoRows) {
		return n, notFound("node")
	}
	if err != nil {
		return n, err
	}
	err = tx.QueryRow(ctx, `SELECT ARRAY(SELECT project_id FROM node_projects WHERE node_id = $1),
		EXISTS (SELECT FROM node_projects p JOIN members m ON m.project_id = p.project_id
			WHERE p.node_id = $1 AND m.user_name = $2 AND m.status = 'active')`, nodeID, user).Scan(&n.projects, &visible)
	if err != nil {
		return n, err
	}
	if !visible {
		return n, notFound("node")
	}
	err = lockProjectRole(ctx, tx, user, n.anchor, admins...)
	if contracts.CodeOf(err) == contracts.CodeNotFound {
		return n, contracts.Refuse(contracts.CodeForbidden, "this needs the role owner or admin in the node's anchor project")
	}
	return n, err
}

// permits refuses every change but of the note once the node is revoked; revoking again is none.
func (n lockedNode) permits(req workflow.PatchNode) error {
	if n.status != workflow.NodeRevoked {
		return nil
	}
	if req.Projects != nil || req.Accounts != nil || (req.Status != nil && *req.Status != workflow.NodeRevoked) {
		return contracts.Refuse(contracts.CodeNodeRevoked, "the node is revoked, which is final: enrol it anew")
	}
	return nil
}

func patchNode(ctx context.Context, tx pgx.Tx, nodeID string, before lockedNode, req workflow.PatchNode) error {
	_, err := tx.Exec(ctx, `UPDATE nodes SET status = coalesce($2, status), note = coalesce($3, note), updated_at = clock_timestamp() WHERE id = $1`,
		nodeID, req.Status, req.Note)
	if err != nil {
		return err
	}
	lost := false
	if req.Projects != nil {
		keep := append([]string{before.anchor}, *req.Projects...)
		tag, err := tx.Exec(ctx, `DELETE FROM node_projects WHERE node_id = $1 AND project_id <> ALL ($2)`, nodeID, keep)
		if err != nil {
			return err
		}
		lost = tag.RowsAffected() > 0
		if err := addNodeProjects(ctx, tx, nodeID, keep); err != nil {
			return err
		}
	}
	if req.Accounts != nil {
		ids, runtimes := splitAccounts(*req.Accounts)
		tag, err := tx.Exec(ctx, `DELETE FROM node_accounts WHERE node_id = $1 AND (account_id, runtime) NOT IN
			(SELECT * FROM unnest($2::text[], $3::text[]))`, nodeID, ids, runtimes)
		if err != nil {
			return err
		}
		lost = lost || tag.RowsAffected() > 0
		if err := addNodeAccounts(ctx, tx, nodeID, *req.Accounts); err != nil {
			return err
		}
	}
	switch {
	case req.Status != nil && *req.Status == workflow.NodeRevoked && before.status != workflow.NodeRevoked:
		return revokeNode(ctx, tx, nodeID)
	case lost:
		return insertRevocation(ctx, tx, nodeID, workflow.ReasonAuthorityRevoked)
	}
	return nil
}

// revokeNode ends the node's tokens with it.
func revokeNode(ctx context.Context, tx pgx.Tx, nodeID string) error {
	_, err := tx.Exec(ctx, `UPDATE tokens SET revoked_at = clock_timestamp() WHERE node_id = $1 AND revoked_at IS NULL`, nodeID)
	if err != nil {
		return err
	}
	return insertRevocation(ctx, tx, nodeID, workflow.ReasonNodeRevoked)
}
