// The documents that a project allows its agents to be made of.

package store

import (
	"context"
	"errors"

	"countersign/contracts/workflow"

	"github.com/jackc/pgx/v5"
)

// AddSource allows a document. A path that is allowed already is already_exists; one that was revoked
// can be allowed again, as another source.
func (s *Store) AddSource(ctx context.Context, user, projectID string, req workflow.AddSource) (workflow.Source, error) {
	src := workflow.Source{ID: newID(), ProjectID: projectID, Path: req.Path}
	err := s.tx(ctx, func(tx pgx.Tx) error {
		if err := lockProjectRole(ctx, tx, user, projectID, admins...); err != nil {
			return err
		}
		if err := checkWriteContext(ctx, tx, req.WriteContext, &projectID); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `INSERT INTO sources (id, project_id, path, created_by) VALUES ($1, $2, $3, $4) RETURNING created_at`,
			src.ID, projectID, req.Path, user).Scan(&src.CreatedAt)
	})
	return src, err
}

// RevokeSource stops new dispatches from a source; what is frozen stays. Repeating it gives the first
// answer. A dispatch that holds the source at the moment is waited for.
func (s *Store) RevokeSource(ctx context.Context, user, projectID, sourceID string, req workflow.RevokeSource) (workflow.Source, error) {
	var src workflow.Source
	err := s.tx(ctx, func(tx pgx.Tx) error {
		if err := lockProjectRole(ctx, tx, user, projectID, admins...); err != nil {
			return err
		}
		if err := checkWriteContext(ctx, tx, req.WriteContext, &projectID); err != nil {
			return err
		}
		// The lock first: the time must be one at which the row is held.
		if _, err := tx.Exec(ctx, `SELECT FROM sources WHERE id = $1 AND project_id = $2 FOR NO KEY UPDATE`, sourceID, projectID); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `UPDATE sources SET revoked_at = coalesce(revoked_at, clock_timestamp())
			WHERE id = $1 AND project_id = $2 RETURNING id, project_id, path, created_at, revoked_at`, sourceID, projectID)
		if err != nil {
			return err
		}
		src, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[workflow.Source])
		if errors.Is(err, pgx.ErrNoRows) {
			return notFound("source")
		}
		return err
	})
	return src, err
}

// Sources are a project's. The user must be a member.
func (s *Store) Sources(ctx context.Context, user, projectID string) (workflow.SourceList, error) {
	if err := projectRole(ctx, s.pool, user, projectID, "project"); err != nil {
		return workflow.SourceList{}, translate(err)
	}
	rows, err := s.pool.Query(ctx, `SELECT id, project_id, path, created_at, revoked_at FROM sources WHERE project_id = $1 ORDER BY path, created_at, id`, projectID)
	if err != nil {
		return workflow.SourceList{}, translate(err)
	}
	sources, err := pgx.CollectRows(rows, pgx.RowToStructByPos[workflow.Source])
	if err != nil {
		return workflow.SourceList{}, translate(err)
	}
	return workflow.SourceList{Sources: sources}, nil
}
