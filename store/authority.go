// Who may do what in a project, and whether a write was meant for this instance.

package store

import (
	"context"
	"errors"
	"slices"
	"strings"

	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/jackc/pgx/v5"
)

var (
	// writers may change tasks.
	writers = []workflow.Role{workflow.RoleOwner, workflow.RoleAdmin, workflow.RoleMember}
	// admins may dispatch, control and set up.
	admins = []workflow.Role{workflow.RoleOwner, workflow.RoleAdmin}
)

// projectRole asks for an active member whose role is one of roles, any when none are given. The error
// is not_found for everybody else, in the name of the thing that was asked for: who may not see a
// task's project must not learn that the task exists. A member whose role is another gets forbidden.
func projectRole(ctx context.Context, q querier, user, projectID, thing string, roles ...workflow.Role) error {
	_, err := askRole(ctx, q, "", user, projectID, thing, roles)
	return err
}

// lockProjectRole is projectRole for a write: the membership stays as it is until the transaction
// ends. Projects themselves never change, so only the member's row needs the lock.
func lockProjectRole(ctx context.Context, tx pgx.Tx, user, projectID string, roles ...workflow.Role) error {
	_, err := askRole(ctx, tx, " FOR SHARE", user, projectID, "project", roles)
	return err
}

// hiddenAs gives not_found the name of what the caller asked for.
func hiddenAs(err error, thing string) error {
	if contracts.CodeOf(err) == contracts.CodeNotFound {
		return notFound(thing)
	}
	return err
}

func askRole(ctx context.Context, q querier, lock, user, projectID, thing string, roles []workflow.Role) (workflow.Role, error) {
	var role workflow.Role
	err := q.QueryRow(ctx, `SELECT role FROM members WHERE project_id = $1 AND user_name = $2 AND status = 'active'`+lock,
		projectID, user).Scan(&role)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", notFound(thing)
	}
	if err != nil {
		return "", err
	}
	return role, requireRole(role, roles)
}

func requireRole(role workflow.Role, roles []workflow.Role) error {
	if len(roles) == 0 || slices.Contains(roles, role) {
		return nil
	}
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	return contracts.Refuse(contracts.CodeForbidden, "this needs the role %s; yours is %s", strings.Join(names, " or "), role)
}

// checkWriteContext refuses a write that was meant for another instance or project. projectID is the
// project of the thing written, nil for instance-level writes. Setup calls may leave the context out;
// nil is no objection.
func checkWriteContext(ctx context.Context, q querier, wc *workflow.WriteContext, projectID *string) error {
	if wc == nil {
		return nil
	}
	var own workflow.Instance
	err := q.QueryRow(ctx, `SELECT instance_id, resource FROM instance`).Scan(&own.InstanceID, &own.Resource)
	if err != nil {
		return err
	}
	mismatch := func(field, detail string) error {
		return &contracts.Error{Code: contracts.CodeWriteContext, Path: "$.write_context." + field, Detail: detail}
	}
	switch {
	case wc.Resource != own.Resource:
		return mismatch("resource", "this is another server than the one the write was meant for")
	case wc.InstanceID != own.InstanceID:
		return mismatch("instance_id", "this is another instance than the one the write was meant for")
	case projectID == nil && wc.ProjectID != nil:
		return mismatch("project_id", "must be null: this write belongs to no project")
	case projectID != nil && (wc.ProjectID == nil || *wc.ProjectID != *projectID):
		return mismatch("project_id", "this belongs to another project than the one the write was meant for")
	}
	return nil
}
