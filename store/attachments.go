// Attachments: bytes that reports can anchor their figures to.

package store

import (
	"context"
	"fmt"

	"countersign/contracts/lineage"
	"countersign/contracts/workflow"

	"github.com/jackc/pgx/v5"
)

// Attach records bytes in a project's lineage for a user who may write there. The same bytes again are
// the same record.
func (s *Store) Attach(ctx context.Context, user, projectID string, content Blob) (workflow.LineageEntry, error) {
	var made workflow.LineageEntry
	if err := projectRole(ctx, s.pool, user, projectID, "project", writers...); err != nil {
		return made, translate(err)
	}
	err := s.blobTx(ctx, func(tx pgx.Tx) error {
		if err := putBlob(ctx, tx, content); err != nil {
			return err
		}
		if err := lockProjectRole(ctx, tx, user, projectID, writers...); err != nil {
			return err
		}
		var err error
		made, err = s.attach(ctx, tx, projectID, user, content)
		return err
	})
	return made, err
}

// AttachFor is Attach for the node that runs an attempt, under the attempt's living lease.
func (s *Store) AttachFor(ctx context.Context, executionID string, held workflow.Fence, content Blob) (workflow.LineageEntry, error) {
	var made workflow.LineageEntry
	err := s.blobTx(ctx, func(tx pgx.Tx) error {
		// The bytes come first, as in SaveUpload: writing them takes a while, and renewals and a cancel want
		// the execution's row.
		if err := putBlob(ctx, tx, content); err != nil {
			return err
		}
		row, now, err := lockExecution(ctx, tx, executionID)
		if err != nil {
			return err
		}
		if err := row.attempt().Runs(held, now); err != nil {
			return err
		}
		made, err = s.attach(ctx, tx, row.ProjectID, executionID, content)
		return err
	})
	return made, err
}

// attach appends the entry of bytes that the transaction has put among the blobs.
func (s *Store) attach(ctx context.Context, tx pgx.Tx, projectID, by string, content Blob) (workflow.LineageEntry, error) {
	log, err := lockLineage(ctx, tx, projectID, by)
	if err != nil {
		return workflow.LineageEntry{}, err
	}
	entry, err := log.record(ctx, s.lineage, lineage.Deliverable{Kind: lineage.Attachment, ContentHash: content.ContentHash})
	if err != nil {
		return workflow.LineageEntry{}, err
	}
	out := workflow.LineageEntry{Kind: string(entry.Kind), ArtefactPath: entry.Path(), ContentHash: entry.ContentHash, EntryHash: entry.Hash(), Bytes: content.Bytes}
	err = tx.QueryRow(ctx, `SELECT position FROM lineage WHERE project_id = $1 AND artefact_path = $2 ORDER BY position DESC LIMIT 1`,
		projectID, entry.Path()).Scan(&out.Position)
	return out, err
}

// recordArtifact records an accepted artifact and returns its entry_hash, "" for a commit.
func (k *commit) recordArtifact(ctx context.Context, d workflow.Decision) (string, error) {
	if d.Accepted == nil || d.Step.CandidateHash == "" {
		return "", nil
	}
	spec, err := k.facts.Contract.Task.Declaration()
	if err != nil {
		return "", fmt.Errorf("read the frozen declaration: %w", err)
	}
	log, err := lockLineage(ctx, k.tx, k.frozen.ProjectID, d.Step.WorkerExecutionID)
	if err != nil {
		return "", err
	}
	entry, err := log.record(ctx, k.store.lineage, lineage.Deliverable{TaskID: k.frozen.TaskID, Kind: spec.Kind, ContentHash: d.Step.CandidateHash})
	if err != nil {
		return "", err
	}
	return entry.Hash(), nil
}
