// A project's lineage as readers take it away.

package store

import (
	"context"
	"errors"
	"fmt"

	"countersign/contracts/lineage"
	"countersign/contracts/workflow"

	"github.com/jackc/pgx/v5"
)

// Lineage is one page of a project's log, after a position, for an active member, with head and card of
// the same moment. A reader who goes on until he has as many lines as the head counts has the whole log.
func (s *Store) Lineage(ctx context.Context, user, projectID string, after, limit int) (workflow.LineagePage, error) {
	page := workflow.LineagePage{NextAfter: after}
	err := s.read(ctx, func(tx pgx.Tx) error {
		if err := projectRole(ctx, tx, user, projectID, "project"); err != nil {
			return err
		}
		keys, err := lineageKeys(ctx, tx)
		if err != nil {
			return err
		}
		err = tx.QueryRow(ctx, `SELECT head FROM lineage_heads WHERE project_id = $1`, projectID).Scan((*[]byte)(&page.Head))
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(keys) > 0 {
			if page.Card, err = lineage.NewCard(keys[0], keys[1:]...).Encode(); err != nil {
				return fmt.Errorf("write the card: %w", err)
			}
		}
		rows, err := tx.Query(ctx, `SELECT line, sidecar FROM lineage WHERE project_id = $1 AND position > $2 ORDER BY position LIMIT $3`, projectID, after, limit)
		if err != nil {
			return err
		}
		page.Lines, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (l workflow.LineageLine, err error) {
			var line []byte
			err = row.Scan(&line, &l.Sidecar)
			l.Line = string(line)
			return l, err
		})
		page.NextAfter += len(page.Lines)
		return err
	})
	return page, err
}

// Attachment is the content hash of a project's attachment, for an active member, when there is one with
// that hash.
func (s *Store) Attachment(ctx context.Context, user, projectID, contentHash string) (string, error) {
	if err := projectRole(ctx, s.pool, user, projectID, "project"); err != nil {
		return "", translate(err)
	}
	var there bool
	err := s.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM lineage WHERE project_id = $1 AND content_hash = $2 AND attachment)`, projectID, contentHash).Scan(&there)
	if err != nil {
		return "", translate(err)
	}
	if !there {
		return "", notFound("attachment")
	}
	return contentHash, nil
}

// ArtifactOf is the content hash of the artifact that a task was accepted on, for an active member of its
// project.
func (s *Store) ArtifactOf(ctx context.Context, user, taskID string) (string, error) {
	var hash *string
	err := s.pool.QueryRow(ctx, `SELECT c.candidate_hash FROM receipts c JOIN tasks t ON t.id = c.task_id JOIN members m ON m.project_id = t.project_id
		WHERE c.task_id = $1 AND m.user_name = $2 AND m.status = 'active'`, taskID, user).Scan(&hash)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && hash == nil {
		return "", notFound("accepted artifact")
	}
	if err != nil {
		return "", translate(err)
	}
	return *hash, nil
}
