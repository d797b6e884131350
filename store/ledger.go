// A task's ledger: entries chained by hashes, and what the task's row says of them.

package store

import (
	"context"
	"fmt"

	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
)

// chain is the end of a task's ledger while the task's row is locked, and what is to be added.
type chain struct {
	taskID  string
	entries int
	head    string
	added   []workflow.LedgerEntry
}

func (c *chain) add(e workflow.LedgerEntry) { c.added = append(c.added, e) }

// queue writes what was added. request and refusal belong to the completion call that writes it, for
// its replay.
func (c *chain) queue(b *pgx.Batch, request string, refusal []byte) error {
	if len(c.added) == 0 {
		return nil
	}
	for i := range c.added {
		e := &c.added[i]
		c.entries++
		e.TaskID, e.Sequence = c.taskID, c.entries
		body, err := e.Seal(c.head)
		if err != nil {
			return fmt.Errorf("seal the ledger entry: %w", err)
		}
		c.head = e.Hash
		b.Queue(`INSERT INTO ledger (task_id, sequence, body, hash, request_sha256, refusal) VALUES ($1, $2, $3, $4, nullif($5, ''), $6)`,
			c.taskID, e.Sequence, body, e.Hash, request, refusal)
	}
	b.Queue(`UPDATE tasks SET ledger_entries = $2, ledger_head = $3 WHERE id = $1`, c.taskID, c.entries, c.head)
	c.added = nil
	return nil
}

// Ledger is a page of a task's ledger, for an active member of its project.
func (s *Store) Ledger(ctx context.Context, user, taskID string, after, limit int) (workflow.Ledger, error) {
	l := workflow.Ledger{NextAfter: after}
	err := s.read(ctx, func(tx pgx.Tx) error {
		var projectID string
		err := tx.QueryRow(ctx, `SELECT project_id, ledger_entries, ledger_head FROM tasks WHERE id = $1`, taskID).Scan(&projectID, &l.Count, &l.Head)
		if err != nil {
			return missing(err, "task")
		}
		if err := projectRole(ctx, tx, user, projectID, "task"); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `SELECT body, hash FROM ledger WHERE task_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3`, taskID, after, limit)
		if err != nil {
			return err
		}
		l.Entries, err = pgx.CollectRows(rows, scanLedgerEntry)
		return err
	})
	if n := len(l.Entries); n > 0 {
		l.NextAfter = l.Entries[n-1].Sequence
	}
	return l, err
}

// scanLedgerEntry reads an entry as it is stored, with the hash that stands beside it: whether they
// belong together is for the one who verifies.
func scanLedgerEntry(row pgx.CollectableRow) (e workflow.LedgerEntry, err error) {
	var (
		body []byte
		hash string
	)
	if err := row.Scan(&body, &hash); err != nil {
		return e, err
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return e, contracts.Refuse(contracts.CodeInternal, "a ledger entry is not readable: %v", err)
	}
	e.Hash = hash
	return e, nil
}

// fsckLedgers verifies every task's ledger.
func fsckLedgers(ctx context.Context, tx pgx.Tx) ([]Finding, error) {
	type task struct {
		ID    string
		Count int
		Head  string
	}
	rows, err := tx.Query(ctx, `SELECT id, ledger_entries AS count, ledger_head AS head FROM tasks
		WHERE ledger_entries > 0 OR EXISTS (SELECT FROM ledger l WHERE l.task_id = tasks.id) ORDER BY id`)
	if err != nil {
		return nil, err
	}
	tasks, err := pgx.CollectRows(rows, pgx.RowToStructByName[task])
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, t := range tasks {
		rows, err := tx.Query(ctx, `SELECT body, hash FROM ledger WHERE task_id = $1 ORDER BY sequence`, t.ID)
		if err != nil {
			return nil, err
		}
		entries, err := pgx.CollectRows(rows, scanLedgerEntry)
		if contracts.CodeOf(err) == contracts.CodeInternal {
			found = append(found, Finding{"ledger_is_one_chain", t.ID, err.Error()})
			continue
		}
		if err != nil {
			return nil, err
		}
		if fault := workflow.VerifyLedger(t.ID, entries, t.Count, t.Head); fault != nil {
			found = append(found, Finding{"ledger_is_one_chain", t.ID, fmt.Sprintf("entry %d: %s", fault.Sequence, fault.Detail)})
		}
	}
	return found, nil
}
