// Whether a node may act for a project with an account, asked under locks.

package store

import (
	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/jackc/pgx/v5"
)

// queueAuthority asks, under FOR SHARE, whether the node is not revoked (for a claim: nor paused), may
// work for the project and may use the account. The first no is written to *refusal.
func queueAuthority(b *pgx.Batch, nodeID, projectID, account, runtime string, claim bool, refusal **contracts.Error) {
	refuse := func(code contracts.Code, detail string) {
		if *refusal == nil {
			*refusal = &contracts.Error{Code: code, Detail: detail}
		}
	}
	b.Queue(`SELECT status FROM nodes WHERE id = $1 FOR SHARE`, nodeID).QueryRow(func(row pgx.Row) error {
		var status workflow.NodeStatus
		if err := row.Scan(&status); err != nil {
			return err
		}
		switch {
		case status == workflow.NodeRevoked:
			refuse(contracts.CodeForbidden, "the node is revoked")
		case status == workflow.NodePaused && claim:
			refuse(contracts.CodeNodePaused, "the node is paused and takes no work")
		}
		return nil
	})
	b.Queue(`SELECT FROM node_projects WHERE node_id = $1 AND project_id = $2 FOR SHARE`, nodeID, projectID).Exec(func(tag commandTag) error {
		if tag.RowsAffected() == 0 {
			refuse(contracts.CodeForbidden, "the node may no longer work for this project")
		}
		return nil
	})
	if account == "" {
		return
	}
	b.Queue(`SELECT FROM node_accounts WHERE node_id = $1 AND account_id = $2 AND runtime = $3 FOR SHARE`, nodeID, account, runtime).Exec(func(tag commandTag) error {
		if tag.RowsAffected() == 0 {
			refuse(contracts.CodeForbidden, "the node may no longer use the account of this profile")
		}
		return nil
	})
}
