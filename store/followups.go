// The tasks that a refusal of scope leads to.

package store

import (
	"strings"

	"countersign/contracts/completion"

	"github.com/jackc/pgx/v5"
)

// storableText replaces U+0000, an ordinary character of a payload that a task's text cannot hold.
func storableText(s string) string { return strings.ReplaceAll(s, "\x00", "\uFFFD") }

// queueFollowUpConflict asks whether a task of a follow-up's id came from other input than this
// follow-up of this parent.
func queueFollowUpConflict(b *pgx.Batch, parentID string, followUps []completion.FollowUp, conflict *bool) {
	for _, f := range followUps {
		b.Queue(`SELECT EXISTS (SELECT FROM tasks WHERE id = $1 AND (parent_task_id IS DISTINCT FROM $2 OR derived_from IS DISTINCT FROM $3))`,
			f.ID, parentID, []byte(f.Goal)).QueryRow(func(row pgx.Row) error {
			var other bool
			err := row.Scan(&other)
			*conflict = *conflict || other
			return err
		})
	}
}

// queueFollowUps makes the tasks in the parent's project, once however often the refusal comes.
func queueFollowUps(b *pgx.Batch, parentID string, followUps []completion.FollowUp) {
	for _, f := range followUps {
		b.Queue(`INSERT INTO tasks (id, project_id, parent_task_id, title, goal, repository, status, created_by, derived_from)
			SELECT $2, p.project_id, p.id, $3, $4, p.repository, 'open', p.created_by, $5 FROM tasks p WHERE p.id = $1
			ON CONFLICT (id) DO NOTHING`, parentID, f.ID, storableText(f.Title), storableText(f.Goal), []byte(f.Goal))
	}
}
