// Projects.

package store

import (
	"context"
	"errors"

	"countersign/contracts/workflow"

	"github.com/jackc/pgx/v5"
)

// CreateProject makes a project whose only member, its owner, is the user.
func (s *Store) CreateProject(ctx context.Context, user string, req workflow.CreateProject) (workflow.Project, error) {
	p := workflow.Project{ID: newID(), Name: req.Name, Repository: req.Repository}
	err := s.tx(ctx, func(tx pgx.Tx) error {
		if err := checkWriteContext(ctx, tx, req.WriteContext, nil); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, `INSERT INTO projects (id, name, repository, created_by) VALUES ($1, $2, $3, $4) RETURNING created_at`,
			p.ID, p.Name, p.Repository, user).Scan(&p.CreatedAt)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO members (project_id, user_name, role, status) VALUES ($1, $2, 'owner', 'active')`, p.ID, user)
		return err
	})
	return p, err
}

const selectProjects = `SELECT p.id, p.name, p.repository, p.created_at
	FROM projects p JOIN members m ON m.project_id = p.id AND m.user_name = $1 AND m.status = 'active'`

// Projects are those the user is an active member of, by name.
func (s *Store) Projects(ctx context.Context, user string) (workflow.ProjectList, error) {
	rows, err := s.pool.Query(ctx, selectProjects+` ORDER BY p.name, p.id`, user)
	if err != nil {
		return workflow.ProjectList{}, translate(err)
	}
	projects, err := pgx.CollectRows(rows, pgx.RowToStructByPos[workflow.Project])
	if err != nil {
		return workflow.ProjectList{}, translate(err)
	}
	return workflow.ProjectList{Projects: projects}, nil
}

// Project is one project the user is an active member of.
func (s *Store) Project(ctx context.Context, user, projectID string) (workflow.Project, error) {
	rows, err := s.pool.Query(ctx, selectProjects+` WHERE p.id = $2`, user, projectID)
	if err != nil {
		return workflow.Project{}, translate(err)
	}
	p, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[workflow.Project])
	if errors.Is(err, pgx.ErrNoRows) {
		return p, notFound("project")
	}
	if err != nil {
		return p, translate(err)
	}
	return p, nil
}
