// The deliverable of a work attempt, and the bytes of a candidate.

package store

import (
	"context"
	"errors"
	"fmt"

	"countersign/contracts/artifact"
	"countersign/contracts/canonjson"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
)

// Declared is what the frozen task of an execution's revision declares to produce; its zero value is a
// commit.
func (s *Store) Declared(ctx context.Context, executionID string) (artifact.Spec, error) {
	var contract []byte
	err := s.pool.QueryRow(ctx, `SELECT r.contract FROM revisions r JOIN executions e ON e.workflow_id = r.workflow_id WHERE e.id = $1`, executionID).Scan(&contract)
	if errors.Is(err, pgx.ErrNoRows) {
		return artifact.Spec{}, notFound("execution")
	}
	if err != nil {
		return artifact.Spec{}, translate(err)
	}
	var c workflow.Contract
	if err := json.Unmarshal(contract, &c); err != nil {
		return artifact.Spec{}, fmt.Errorf("read the contract: %w", err)
	}
	return c.Task.Declaration()
}

// SaveUpload keeps what a running work attempt uploaded, in the place of what it uploaded before. The
// lease is asked again under the row's lock, so that no upload counts that came after the end.
func (s *Store) SaveUpload(ctx context.Context, executionID string, held workflow.Fence, up workflow.Upload, content Blob) error {
	stored, err := canonjson.Marshal(up)
	if err != nil {
		return fmt.Errorf("store the upload: %w", err)
	}
	return s.blobTx(ctx, func(tx pgx.Tx) error {
		if up.ContentHash != "" {
			if err := putBlob(ctx, tx, content); err != nil {
				return err
			}
		}
		row, now, err := lockExecution(ctx, tx, executionID)
		if err != nil {
			return err
		}
		if err := row.attempt().Uploads(held, now); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO uploads (execution_id, content_hash, upload) VALUES ($1, nullif($2, ''), $3)
			ON CONFLICT (execution_id) DO UPDATE SET content_hash = excluded.content_hash, upload = excluded.upload, uploaded_at = clock_timestamp()`,
			executionID, up.ContentHash, stored)
		return err
	})
}

// CandidateHash is the artifact that an attempt is to verify or to correct; "" when there is none.
func (s *Store) CandidateHash(ctx context.Context, executionID string) (string, error) {
	var hash *string
	err := s.pool.QueryRow(ctx, `SELECT r.candidate_hash FROM revisions r JOIN executions e ON e.workflow_id = r.workflow_id
		WHERE e.id = $1 AND (e.purpose = 'verify' OR e.number > 1)`, executionID).Scan(&hash)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && hash == nil {
		return "", nil
	}
	if err != nil {
		return "", translate(err)
	}
	return *hash, nil
}

// scanUpload reads a stored upload; NULL is none.
func scanUpload(data []byte) (*workflow.Upload, error) {
	if data == nil {
		return nil, nil
	}
	up := new(workflow.Upload)
	if err := json.Unmarshal(data, up); err != nil {
		return nil, fmt.Errorf("read the upload: %w", err)
	}
	return up, nil
}

// queueUpload reads what the execution uploaded last; up stays nil for nothing.
func queueUpload(b *pgx.Batch, executionID string, up **workflow.Upload) {
	b.Queue(`SELECT upload FROM uploads WHERE execution_id = $1`, executionID).QueryRow(func(row pgx.Row) error {
		var data []byte
		err := row.Scan(&data)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err == nil {
			*up, err = scanUpload(data)
		}
		return err
	})
}
