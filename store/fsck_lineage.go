// The part of the check that is about lineage and kept bytes.

package store

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"countersign/contracts/lineage"

	"github.com/jackc/pgx/v5"
)

// fsckLineage follows every project's log from its first line to its head: positions, chain, parents,
// signatures, seals when this process has the operator's secret, and that the bytes are kept.
func (s *Store) fsckLineage(ctx context.Context, tx pgx.Tx) ([]Finding, error) {
	keys, err := lineageKeys(ctx, tx)
	if err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, `SELECT DISTINCT project_id FROM lineage UNION SELECT project_id FROM lineage_heads ORDER BY 1`)
	if err != nil {
		return nil, err
	}
	projects, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, id := range projects {
		log := walked{secret: s.secret(), keys: keys, project: id, tip: lineage.EmptyTip(), newest: map[string]string{}}
		if err := log.walk(ctx, tx); err != nil {
			return nil, err
		}
		found = append(found, log.found...)
	}
	return found, nil
}

// walked is one project's log as far as it was followed.
type walked struct {
	secret  []byte
	keys    []ed25519.PublicKey
	project string
	tip     lineage.Tip
	newest  map[string]string // path → entry_hash
	found   []Finding
}

func (w *walked) fault(at int64, detail string) {
	w.found = append(w.found, Finding{"lineage_is_a_signed_chain", fmt.Sprintf("%s/%d", w.project, at), detail})
}

func (w *walked) walk(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `SELECT `+lineageColumns+` FROM lineage WHERE project_id = $1 ORDER BY position`, w.project)
	if err != nil {
		return err
	}
	entries, err := pgx.CollectRows(rows, pgx.RowToStructByName[lineageRow])
	if err != nil {
		return err
	}
	for _, r := range entries {
		w.take(r)
	}
	rows, err = tx.Query(ctx, `SELECT head FROM lineage_heads WHERE project_id = $1`, w.project)
	if err != nil {
		return err
	}
	heads, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		return err
	}
	if len(heads) == 0 {
		w.fault(0, "the log has no head")
		return nil
	}
	head, err := lineage.ParseHead(heads[0])
	if err != nil {
		w.fault(0, "head: "+err.Error())
		return nil
	}
	if head.Tip() != w.tip {
		w.fault(0, fmt.Sprintf("the head counts %d entries, the log has %d or ends in another chain", head.Entries, w.tip.Entries))
	}
	for _, fault := range head.Verify(w.keys, w.secret) {
		w.fault(0, "head: "+fault)
	}
	return nil
}

func (w *walked) take(r lineageRow) {
	if r.Position != w.tip.Entries+1 {
		w.fault(r.Position, fmt.Sprintf("follows position %d", w.tip.Entries))
	}
	var parent *string
	if before, ok := w.newest[r.ArtefactPath]; ok {
		parent = &before
	}
	faults := r.faults(parent, func(l lineage.Line) []string {
		faults := lineage.VerifyRecord(l, w.tip.Chain, r.Sidecar, w.keys, w.secret)
		if l.ContentHash != r.ContentHash || (l.Kind == lineage.Attachment) != r.Attachment {
			faults = append(faults, "is filed under another content or kind")
		}
		w.tip.Chain = l.Chain
		return faults
	})
	if len(faults) > 0 {
		w.fault(r.Position, strings.Join(faults, "; "))
	}
	w.tip.Entries = r.Position
	w.newest[r.ArtefactPath] = r.EntryHash
}

// fsckBlobs hashes all kept bytes again.
func fsckBlobs(ctx context.Context, tx pgx.Tx) (found []Finding, err error) {
	rows, err := tx.Query(ctx, `SELECT content_hash, bytes FROM blobs ORDER BY content_hash`)
	if err != nil {
		return nil, err
	}
	type blob struct {
		ContentHash string
		Bytes       int64
	}
	blobs, err := pgx.CollectRows(rows, pgx.RowToStructByName[blob])
	if err != nil {
		return nil, err
	}
	for _, b := range blobs {
		// Part by part, for all of them may be more than memory holds.
		hash, size := sha256.New(), int64(0)
		rows, err := tx.Query(ctx, `SELECT body FROM blob_parts WHERE content_hash = $1 ORDER BY part`, b.ContentHash)
		if err != nil {
			return nil, err
		}
		var body []byte
		if _, err := pgx.ForEachRow(rows, []any{&body}, func() error {
			size += int64(len(body))
			hash.Write(body)
			return nil
		}); err != nil {
			return nil, err
		}
		if size != b.Bytes || "sha256:"+hex.EncodeToString(hash.Sum(nil)) != b.ContentHash {
			found = append(found, Finding{"blob_has_its_hash", b.ContentHash, "the kept bytes are others"})
		}
	}
	return found, nil
}
