// A project's lineage: the log in PostgreSQL.

package store

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"

	"countersign/contracts"
	"countersign/contracts/lineage"

	"github.com/jackc/pgx/v5"
)

// lineageLog is the log of one project inside a transaction that holds its lock.
type lineageLog struct {
	tx        pgx.Tx
	projectID string
	by        string // who records
}

// lockLineage waits for the project's log, which then is the transaction's alone until it ends.
func lockLineage(ctx context.Context, tx pgx.Tx, projectID, by string) (*lineageLog, error) {
	_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('countersign lineage ' || $1, 0))`, projectID)
	return &lineageLog{tx, projectID, by}, err
}

// record signs and appends a deliverable whose bytes the transaction has put among the blobs. Without a
// key nothing is recorded: the refusal is unavailable.
func (l *lineageLog) record(ctx context.Context, signer LineageSigner, d lineage.Deliverable) (lineage.Entry, error) {
	s, err := usableLineage(signer)
	if err != nil {
		return lineage.Entry{}, err
	}
	// The key is known to readers before anything is signed with it.
	_, err = l.tx.Exec(ctx, `INSERT INTO lineage_keys (public_key) VALUES ($1) ON CONFLICT DO NOTHING`, []byte(s.Public()))
	if err != nil {
		return lineage.Entry{}, err
	}
	entry, _, err := lineage.Append(ctx, l, s, d)
	return entry, err
}

// usableLineage is the key at the moment. Why there is none stays in the worker's log.
func usableLineage(signer LineageSigner) (lineage.Signer, error) {
	if signer != nil {
		if s, err := signer(); err == nil {
			return s, nil
		}
	}
	return lineage.Signer{}, contracts.Refuse(contracts.CodeUnavailable, "the lineage entry cannot be signed at the moment; repeat the same call")
}

// Tip reads the log's end.
func (l *lineageLog) Tip(ctx context.Context) (lineage.Tip, error) {
	tip := lineage.EmptyTip()
	err := l.tx.QueryRow(ctx, `SELECT entries, chain FROM lineage_heads WHERE project_id = $1`, l.projectID).Scan(&tip.Entries, &tip.Chain)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return tip, err
}

// Newest reads the last entry of a path.
func (l *lineageLog) Newest(ctx context.Context, artefactPath string) (lineage.Entry, bool, error) {
	var line []byte
	err := l.tx.QueryRow(ctx, `SELECT line FROM lineage WHERE project_id = $1 AND artefact_path = $2 ORDER BY position DESC LIMIT 1`,
		l.projectID, artefactPath).Scan(&line)
	if errors.Is(err, pgx.ErrNoRows) {
		return lineage.Entry{}, false, nil
	}
	if err != nil {
		return lineage.Entry{}, false, err
	}
	read, err := lineage.ParseLine(line)
	return read.Entry, err == nil, err
}

// Append writes the line and moves the head; the rows refuse a log that does not end at r.Previous.
func (l *lineageLog) Append(ctx context.Context, r lineage.Record) error {
	_, err := l.tx.Exec(ctx, `INSERT INTO lineage (project_id, position, artefact_path, content_hash, entry_hash, attachment, line, sidecar, recorded_by)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		l.projectID, r.Position, r.Path(), r.ContentHash, r.EntryHash, r.Kind == lineage.Attachment, r.Encode(), r.Sidecar, l.by)
	if err != nil {
		return err
	}
	tag, err := l.tx.Exec(ctx, `INSERT INTO lineage_heads (project_id, entries, chain, head) VALUES ($1, $2, $3, $4)
		ON CONFLICT (project_id) DO UPDATE SET entries = excluded.entries, chain = excluded.chain, head = excluded.head
			WHERE lineage_heads.entries = $5 AND lineage_heads.chain = $6`,
		l.projectID, r.Head.Entries, r.Head.Chain, r.Head.Encode(), r.Previous.Entries, r.Previous.Chain)
	if err == nil && tag.RowsAffected() != 1 {
		err = fmt.Errorf("the lineage of %s does not end at %d", l.projectID, r.Previous.Entries)
	}
	return err
}

// lineageKeys are all keys that ever signed, the newest first.
func lineageKeys(ctx context.Context, q querier) ([]ed25519.PublicKey, error) {
	rows, err := q.Query(ctx, `SELECT public_key FROM lineage_keys ORDER BY sequence DESC`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (ed25519.PublicKey, error) {
		var key []byte
		err := row.Scan(&key)
		return key, err
	})
}
