// What the figures of a report can trace to in a project.

package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"countersign/contracts/figures"
	"countersign/contracts/lineage"
	"countersign/contracts/receipt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Grounds answers anchors from a project's records, each verified when it is asked for: its signature,
// its place in the chain, its parent, and the operator's seal when this process has the secret. A receipt
// is an acceptance receipt of the project by its id, verified under the instance's keys. What cannot be
// read does not resolve; failed then tells why, after the questions.
func (s *Store) Grounds(ctx context.Context, projectID string) (resolve figures.Resolver, failed func() error) {
	g := &grounds{ctx: ctx, store: s, projectID: projectID}
	return lineage.Resolver(g.find, g.receipt), func() error { return g.err }
}

type grounds struct {
	ctx       context.Context
	store     *Store
	projectID string
	err       error
}

// find is the first record with the anchor's content, of the anchor's kind. After a failure nothing more
// is asked: a report may have a million anchors.
func (g *grounds) find(a figures.Anchor) (lineage.Found, bool) {
	if g.err != nil {
		return lineage.Found{}, false
	}
	found, ok, err := g.record(a)
	if err != nil {
		g.err = err
		return lineage.Found{}, false
	}
	return found, ok
}

func (g *grounds) record(a figures.Anchor) (lineage.Found, bool, error) {
	var (
		row      lineageRow
		previous []byte
		parent   *string
	)
	err := g.store.pool.QueryRow(g.ctx, `SELECT l.position, l.artefact_path, l.entry_hash, l.line, l.sidecar,
			(SELECT p.line FROM lineage p WHERE p.project_id = l.project_id AND p.position = l.position - 1),
			(SELECT p.entry_hash FROM lineage p WHERE p.project_id = l.project_id AND p.artefact_path = l.artefact_path AND p.position < l.position
				ORDER BY p.position DESC LIMIT 1)
		FROM lineage l WHERE l.project_id = $1 AND l.content_hash = $2 AND l.attachment = $3 ORDER BY l.position LIMIT 1`,
		g.projectID, a.Ref, a.Kind == figures.AnchorAttachment).
		Scan(&row.Position, &row.ArtefactPath, &row.EntryHash, &row.Line, &row.Sidecar, &previous, &parent)
	if errors.Is(err, pgx.ErrNoRows) {
		return lineage.Found{}, false, nil
	}
	if err != nil {
		return lineage.Found{}, false, translate(err)
	}
	keys, err := lineageKeys(g.ctx, g.store.pool)
	if err != nil {
		return lineage.Found{}, false, translate(err)
	}
	chain := lineage.NoChain
	if row.Position > 1 {
		before, err := lineage.ParseLine(previous)
		if err != nil {
			return lineage.Found{Position: row.Position, Fault: "the line before cannot be read"}, true, nil
		}
		chain = before.Chain
	}
	faults := row.faults(parent, func(l lineage.Line) []string {
		return lineage.VerifyRecord(l, chain, row.Sidecar, keys, g.store.secret())
	})
	return lineage.Found{Position: row.Position, Fault: strings.Join(faults, "; ")}, true, nil
}

// secret is the operator's when this process has it.
func (s *Store) secret() []byte {
	if s.lineage == nil {
		return nil
	}
	signer, err := s.lineage()
	if err != nil {
		return nil
	}
	return signer.Secret
}

// receipt resolves an acceptance receipt of the project. Receipts have UUIDs; what is none may not even be
// text that PostgreSQL can be asked about.
func (g *grounds) receipt(a figures.Anchor) figures.Resolution {
	if g.err != nil || uuid.Validate(a.Ref) != nil {
		return figures.Missing(a)
	}
	var (
		envelope, contract []byte
		acceptedAt         time.Time
	)
	err := g.store.pool.QueryRow(g.ctx, `SELECT c.envelope, r.contract, c.accepted_at FROM receipts c JOIN revisions r ON r.workflow_id = c.workflow_id
		WHERE c.receipt_id = $1 AND r.project_id = $2`, a.Ref, g.projectID).Scan(&envelope, &contract, &acceptedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return figures.Missing(a)
	}
	var keys receipt.KeySet
	if err == nil {
		keys, err = readKeys(g.ctx, g.store.pool)
	}
	if err != nil {
		g.err = translate(err)
		return figures.Missing(a)
	}
	var pins []string
	for _, k := range keys.Keys {
		pins = append(pins, k.SHA256)
	}
	_, err = receipt.VerifyWith(envelope, contract, receipt.Trust{Keys: keys, Pins: pins})
	if err != nil {
		return figures.Unverified(a, err.Error())
	}
	return figures.Accepted(a, acceptedAt)
}
