// Members of a project and the rules about owners.

package store

import (
	"context"
	"errors"

	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/jackc/pgx/v5"
)

// statusActive is the status of a member whose role counts.
const statusActive = "active"

// Members are all of a project's, suspended ones included; any active member may ask.
func (s *Store) Members(ctx context.Context, user, projectID string) (workflow.MemberList, error) {
	if err := projectRole(ctx, s.pool, user, projectID, "project"); err != nil {
		return workflow.MemberList{}, translate(err)
	}
	rows, err := s.pool.Query(ctx, `SELECT project_id, user_name, role, status, updated_at FROM members
		WHERE project_id = $1 ORDER BY user_name`, projectID)
	if err != nil {
		return workflow.MemberList{}, translate(err)
	}
	members, err := pgx.CollectRows(rows, pgx.RowToStructByPos[workflow.Member])
	if err != nil {
		return workflow.MemberList{}, translate(err)
	}
	return workflow.MemberList{Members: members}, nil
}

// PutMember gives a user a place in a project or changes it. Owners and admins may; only an owner
// makes an owner or changes one; the last active owner stays (last_owner).
func (s *Store) PutMember(ctx context.Context, by, projectID, user string, req workflow.PutMember) (workflow.Member, error) {
	m := workflow.Member{ProjectID: projectID, User: user, Role: req.Role, Status: req.Status}
	err := s.tx(ctx, func(tx pgx.Tx) error {
		// Changes of one project's members come one after another, so what is read of them below
		// holds until the end. The caller's own row is not locked FOR SHARE, for it may be written.
		if _, err := tx.Exec(ctx, `SELECT FROM projects WHERE id = $1 FOR NO KEY UPDATE`, projectID); err != nil {
			return err
		}
		role, err := askRole(ctx, tx, "", by, projectID, "project", admins)
		if err != nil {
			return err
		}
		if err := mayPutMember(ctx, tx, role, m); err != nil {
			return err
		}
		if err := checkWriteContext(ctx, tx, req.WriteContext, &projectID); err != nil {
			return err
		}
		if err := keepsAnOwner(ctx, tx, m); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `INSERT INTO members (project_id, user_name, role, status) VALUES ($1, $2, $3, $4)
			ON CONFLICT (project_id, user_name) DO UPDATE SET role = excluded.role, status = excluded.status, updated_at = clock_timestamp()
			RETURNING updated_at`, m.ProjectID, m.User, m.Role, m.Status).Scan(&m.UpdatedAt)
	})
	return m, err
}

// mayPutMember asks whether the user exists and whether the caller's role is enough for the change.
func mayPutMember(ctx context.Context, tx pgx.Tx, by workflow.Role, m workflow.Member) error {
	var current *workflow.Role
	err := tx.QueryRow(ctx, `SELECT m.role FROM users u LEFT JOIN members m ON m.user_name = u.name AND m.project_id = $2
		WHERE u.name = $1`, m.User, m.ProjectID).Scan(&current)
	if errors.Is(err, pgx.ErrNoRows) {
		return notFound("user")
	}
	if err != nil {
		return err
	}
	if by == workflow.RoleOwner {
		return nil
	}
	if m.Role == workflow.RoleOwner {
		return contracts.Refuse(contracts.CodeForbidden, "only an owner makes an owner")
	}
	if current != nil && *current == workflow.RoleOwner {
		return contracts.Refuse(contracts.CodeForbidden, "only an owner changes an owner")
	}
	return nil
}

// keepsAnOwner refuses a change that leaves the project without an active owner.
func keepsAnOwner(ctx context.Context, tx pgx.Tx, m workflow.Member) error {
	if m.Role == workflow.RoleOwner && m.Status == statusActive {
		return nil
	}
	var another bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM members WHERE project_id = $1 AND user_name <> $2
		AND role = 'owner' AND status = 'active')`, m.ProjectID, m.User).Scan(&another)
	if err != nil {
		return err
	}
	if !another {
		return contracts.Refuse(contracts.CodeLastOwner, "the project's last active owner stays")
	}
	return nil
}
