// Whether a node may act for a project with an account, asked under locks.

package store

import (
	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/jackc/pgx/v5"
)

// lostAuthority says why a node may not go on with an execution, nil when it may.
func lostAuthority(status workflow.NodeStatus, forProject, forAccount bool) *contracts.Error {
	switch {
	case status == workflow.NodeRevoked:
		return contracts.Refuse(contracts.CodeForbidden, "the node is revoked")
	case !forProject:
		return contracts.Refuse(contracts.CodeForbidden, "the node may no longer work for this project")
	case !forAccount:
		return contracts.Refuse(contracts.CodeForbidden, "the node may no longer use the account of this profile")
	}
	return nil
}

// authority is what a node's step rests on, read under FOR SHARE.
type authority struct {
	status                 workflow.NodeStatus
	forProject, forAccount bool
}

// queueAuthority asks, and holds what it finds until the transaction ends, for the node's status,
// whether it may work for the project and whether it has the account ("" needs none).
func queueAuthority(b *pgx.Batch, nodeID, projectID, account, runtime string, found *authority) {
	b.Queue(`SELECT status FROM nodes WHERE id = $1 FOR SHARE`, nodeID).
		QueryRow(func(row pgx.Row) error { return row.Scan(&found.status) })
	b.Queue(`SELECT FROM node_projects WHERE node_id = $1 AND project_id = $2 FOR SHARE`, nodeID, projectID).
		Exec(func(tag commandTag) error { found.forProject = tag.RowsAffected() == 1; return nil })
	found.forAccount = account == ""
	if !found.forAccount {
		b.Queue(`SELECT FROM node_accounts WHERE node_id = $1 AND account_id = $2 AND runtime = $3 FOR SHARE`, nodeID, account, runtime).
			Exec(func(tag commandTag) error { found.forAccount = tag.RowsAffected() == 1; return nil })
	}
}

// refusal says why the node may not take this step. A paused node goes on with what it holds and
// claims nothing new.
func (a authority) refusal(claim bool) *contracts.Error {
	if refusal := lostAuthority(a.status, a.forProject, a.forAccount); refusal != nil {
		return refusal
	}
	if claim && a.status == workflow.NodePaused {
		return contracts.Refuse(contracts.CodeNodePaused, "the node is paused and takes no work")
	}
	return nil
}
