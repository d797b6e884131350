// The part of the check that is about receipts and the keys they are signed with.

package store

import (
	"context"
	"time"

	"countersign/contracts/receipt"

	"github.com/jackc/pgx/v5"
)

// fsckKeys checks that the keys are one chain as far as it goes, every link signed.
func fsckKeys(ctx context.Context, tx pgx.Tx) ([]Finding, error) {
	set, err := readKeys(ctx, tx)
	if err != nil {
		return nil, err
	}
	if err := set.Check(); err != nil {
		return []Finding{{"keys_are_a_chain", "keys", err.Error()}}, nil
	}
	return nil, nil
}

// storedReceipt is a receipt's row with what its envelope must say.
type storedReceipt struct {
	ReceiptID     string
	TaskID        string
	WorkflowID    string
	Digest        string
	Commit        string
	Artifact      string
	EntryHash     string
	VerdictSHA256 string `db:"verdict_sha256"`
	AcceptedAt    time.Time
	KeySHA256     string `db:"key_sha256"`
	Envelope      []byte
	Contract      []byte
}

// fsckReceipts verifies every receipt as a stranger would who trusts the instance's keys, and holds
// it to its row: the verdict passed all frozen criteria, each once, and the signature is the key's.
func fsckReceipts(ctx context.Context, tx pgx.Tx) (found []Finding, err error) {
	set, err := readKeys(ctx, tx)
	if err != nil {
		return nil, err
	}
	if set.Check() != nil {
		return nil, nil // fsckKeys says so; nothing can be verified by such keys
	}
	rows, err := tx.Query(ctx, `SELECT c.receipt_id, c.task_id, c.workflow_id, c.contract_digest AS digest, coalesce(c.candidate_commit, '') AS commit,
		coalesce(c.candidate_hash, '') AS artifact, coalesce(c.entry_hash, '') AS entry_hash, c.verdict_sha256,
		c.accepted_at, c.key_sha256, c.envelope, r.contract FROM receipts c JOIN revisions r ON r.workflow_id = c.workflow_id ORDER BY c.receipt_id`)
	if err != nil {
		return nil, err
	}
	receipts, err := pgx.CollectRows(rows, pgx.RowToStructByName[storedReceipt])
	if err != nil {
		return nil, err
	}
	for _, r := range receipts {
		if detail := r.fault(set); detail != "" {
			found = append(found, Finding{"receipt_proves_its_row", r.ReceiptID, detail})
		}
	}
	return found, nil
}

// fault says what is wrong with a receipt, "" when nothing is.
func (r storedReceipt) fault(set receipt.KeySet) string {
	v, err := receipt.VerifyWith(r.Envelope, r.Contract, receipt.Trust{Keys: set, Pins: []string{r.KeySHA256}})
	switch {
	case err != nil:
		return err.Error()
	case v.ReceiptID != r.ReceiptID || v.TaskID != r.TaskID || v.WorkflowID != r.WorkflowID || !v.AcceptedAt.Equal(r.AcceptedAt):
		return "the signed statement is about another receipt, task, workflow or time"
	case v.ContractDigest != r.Digest || v.CandidateCommit != r.Commit || v.CandidateHash != r.Artifact || v.EntryHash != r.EntryHash || v.VerdictDigest != r.VerdictSHA256:
		return "the signed statement is about another contract, candidate or verdict"
	}
	return ""
}
