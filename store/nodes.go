// Nodes: enrolment and reads.

package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/jackc/pgx/v5"
)

// EnrollNode makes a node with the only token it will have. The user must be owner or admin in every
// project named.
func (s *Store) EnrollNode(ctx context.Context, user string, req workflow.EnrollNode) (workflow.NodeEnrolled, error) {
	var made workflow.NodeEnrolled
	asked := map[string]string{} // project → where the request names it
	for i, id := range req.Projects {
		asked[id] = fmt.Sprintf("$.projects[%d]", i)
	}
	asked[req.AnchorProjectID] = "$.anchor_project_id"
	err := s.tx(ctx, func(tx pgx.Tx) error {
		if err := lockAdminOf(ctx, tx, user, asked); err != nil {
			return err
		}
		if err := checkWriteContext(ctx, tx, req.WriteContext, &req.AnchorProjectID); err != nil {
			return err
		}
		id := newID()
		_, err := tx.Exec(ctx, `INSERT INTO nodes (id, name, anchor_project_id, status, created_by) VALUES ($1, $2, $3, 'active', $4)`,
			id, req.Name, req.AnchorProjectID, user)
		if err != nil {
			return err
		}
		if err := addNodeProjects(ctx, tx, id, slices.Collect(maps.Keys(asked))); err != nil {
			return err
		}
		if err := addNodeAccounts(ctx, tx, id, req.Accounts); err != nil {
			return err
		}
		secret, hash := newSecret()
		_, err = tx.Exec(ctx, `INSERT INTO tokens (id, secret_sha256, node_id, scopes) VALUES ($1, $2, $3, $4)`,
			newID(), hash, id, []workflow.Scope{workflow.ScopeBridge})
		if err != nil {
			return err
		}
		made.Token = secret
		made.Node, err = readNode(ctx, tx, user, id)
		return err
	})
	return made, err
}

// lockAdminOf asks for owner or admin in each project and keeps it so. Projects are locked in order
// of their ids; a refusal names where the request has the project.
func lockAdminOf(ctx context.Context, tx pgx.Tx, user string, asked map[string]string) error {
	for _, id := range slices.Sorted(maps.Keys(asked)) {
		err := lockProjectRole(ctx, tx, user, id, admins...)
		if refused, ok := errors.AsType[*contracts.Error](err); ok {
			return &contracts.Error{Code: refused.Code, Path: asked[id], Detail: refused.Detail}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func addNodeProjects(ctx context.Context, tx pgx.Tx, nodeID string, projects []string) error {
	_, err := tx.Exec(ctx, `INSERT INTO node_projects (node_id, project_id) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING`,
		nodeID, projects)
	return err
}

func addNodeAccounts(ctx context.Context, tx pgx.Tx, nodeID string, accounts []workflow.Account) error {
	ids, runtimes := splitAccounts(accounts)
	_, err := tx.Exec(ctx, `INSERT INTO node_accounts (node_id, account_id, runtime)
		SELECT $1, a.account_id, a.runtime FROM unnest($2::text[], $3::text[]) AS a (account_id, runtime) ON CONFLICT DO NOTHING`,
		nodeID, ids, runtimes)
	return err
}

func splitAccounts(accounts []workflow.Account) (ids, runtimes []string) {
	ids, runtimes = make([]string, len(accounts)), make([]string, len(accounts))
	for i, a := range accounts {
		ids[i], runtimes[i] = a.AccountID, string(a.Runtime)
	}
	return ids, runtimes
}

// selectNodes are the nodes that work for a project the user is in. Of a node's projects the user
// sees its own; all of them only who is owner or admin of the anchor, for its edits replace the list.
const selectNodes = `SELECT n.id, n.name, n.anchor_project_id,
		ARRAY(SELECT p.project_id FROM node_projects p WHERE p.node_id = n.id AND (
			EXISTS (SELECT FROM members m WHERE m.project_id = p.project_id AND m.user_name = $1 AND m.status = 'active') OR
			EXISTS (SELECT FROM members m WHERE m.project_id = n.anchor_project_id AND m.user_name = $1 AND m.status = 'active'
				AND m.role IN ('owner', 'admin'))) ORDER BY p.project_id),
		ARRAY(SELECT a.account_id FROM node_accounts a WHERE a.node_id = n.id ORDER BY a.account_id, a.runtime),
		ARRAY(SELECT a.runtime FROM node_accounts a WHERE a.node_id = n.id ORDER BY a.account_id, a.runtime),
		n.status, n.note, n.created_at, n.updated_at
	FROM nodes n WHERE EXISTS (SELECT FROM node_projects p JOIN members m ON m.project_id = p.project_id
		WHERE p.node_id = n.id AND m.user_name = $1 AND m.status = 'active')`

func scanNode(row pgx.CollectableRow) (workflow.Node, error) {
	var (
		n             workflow.Node
		ids, runtimes []string
	)
	err := row.Scan(&n.ID, &n.Name, &n.AnchorProjectID, &n.Projects, &ids, &runtimes, &n.Status, &n.Note, &n.CreatedAt, &n.UpdatedAt)
	n.Accounts = make([]workflow.Account, len(ids))
	for i := range ids {
		n.Accounts[i] = workflow.Account{AccountID: ids[i], Runtime: workflow.Runtime(runtimes[i])}
	}
	return n, err
}

func readNode(ctx context.Context, q querier, user, nodeID string) (workflow.Node, error) {
	rows, err := q.Query(ctx, selectNodes+` AND n.id = $2`, user, nodeID)
	if err != nil {
		return workflow.Node{}, err
	}
	n, err := pgx.CollectExactlyOneRow(rows, scanNode)
	if errors.Is(err, pgx.ErrNoRows) {
		return n, notFound("node")
	}
	return n, err
}

// Nodes are those that work for any project the user is an active member of, by name.
func (s *Store) Nodes(ctx context.Context, user string) (workflow.NodeList, error) {
	rows, err := s.pool.Query(ctx, selectNodes+` ORDER BY n.name, n.id`, user)
	if err != nil {
		return workflow.NodeList{}, translate(err)
	}
	nodes, err := pgx.CollectRows(rows, scanNode)
	if err != nil {
		return workflow.NodeList{}, translate(err)
	}
	return workflow.NodeList{Nodes: nodes}, nil
}

// Node is one of Nodes.
func (s *Store) Node(ctx context.Context, user, nodeID string) (workflow.Node, error) {
	n, err := readNode(ctx, s.pool, user, nodeID)
	if err != nil {
		return n, translate(err)
	}
	return n, nil
}
