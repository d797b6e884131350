// The receipt of an acceptance, signed in the accepting transaction.

package store

import (
	"fmt"

	"countersign/contracts/canonjson"
	"countersign/contracts/receipt"
	"countersign/contracts/workflow"

	"github.com/jackc/pgx/v5"
)

// queueAcceptance signs and writes the receipt and sets the task done, in the step's own transaction.
// Without a key that may sign the whole step fails: there is no acceptance without a receipt.
func (k *commit) queueAcceptance(b *pgx.Batch, d workflow.Decision, entryHash string) error {
	verdict, err := canonjson.Marshal(d.Accepted)
	if err != nil {
		return fmt.Errorf("store the verdict: %w", err)
	}
	key, err := k.signing.usableAt(d.Step.At)
	if err != nil {
		return err
	}
	envelope, err := key.Accept(receipt.Acceptance{
		ReceiptID: d.Step.ReceiptID, AcceptedAt: d.Step.At, Server: k.server, WorkflowID: k.workflowID,
		Contract: k.contractBytes, Verdict: verdict, Attempts: k.receiptAttempts(d), EntryHash: entryHash,
		Settled: k.receiptDispatches(d),
	})
	if err != nil {
		// The machine has accepted what the receipt's own rules do not: nothing may come of that. The
		// cause is wrapped as text, for it must not pass for a refusal.
		return fmt.Errorf("the receipt is not signed: %v", err)
	}
	digest := canonjson.Digest(verdict)
	queuePayload(b, digest, verdict)
	b.Queue(`INSERT INTO receipts (receipt_id, task_id, workflow_id, contract_digest, candidate_commit, verdict_sha256, accepted_at, key_sha256, envelope,
			candidate_hash, entry_hash)
		VALUES ($1, $2, $3, $4, nullif($5, ''), $6, $7, $8, $9, nullif($10, ''), nullif($11, ''))`,
		d.Step.ReceiptID, k.frozen.TaskID, k.workflowID, k.frozen.ContractDigest, d.Step.CandidateCommit, digest, d.Step.At,
		key.Public().SHA256, envelope, d.Step.CandidateHash, entryHash)
	b.Queue(`UPDATE tasks SET status = 'done', version = version + 1, updated_at = $2,
			result_summary = (SELECT result_summary FROM executions WHERE id = $3) WHERE id = $1`,
		k.frozen.TaskID, d.Step.At, d.Step.WorkerExecutionID)
	return nil
}

// receiptAttempts are the revision's attempts as the step leaves them: the rows, and the end that the
// step puts to the verifier's.
func (k *commit) receiptAttempts(d workflow.Decision) []receipt.Attempt {
	attempts := make([]receipt.Attempt, len(k.executions))
	for _, e := range k.executions {
		a := receipt.Attempt{
			ExecutionID: e.ID, Purpose: e.Purpose, Number: e.Number, NodeID: e.NodeID, SessionID: e.SessionID,
			ProviderSessionID: e.ProviderSessionID, FencingToken: e.FencingToken, BaseCommit: e.BaseCommit,
			ResultCommit: e.ResultCommit, ArtifactHash: e.ArtifactHash, EvidencePath: e.EvidencePath, Outcome: workflow.Outcome(e.Outcome),
		}
		if e.ClaimedAt != nil {
			a.ClaimedAt = *e.ClaimedAt
		}
		if e.EndedAt != nil {
			a.EndedAt = *e.EndedAt
		}
		if e.ID == d.Step.Ended.ExecutionID {
			a.Outcome, a.EndedAt = d.Step.Ended.Outcome, d.Step.At
			a.ResultCommit, a.ArtifactHash, a.EvidencePath = d.Result.ResultCommit, d.Result.ArtifactHash, d.Result.EvidencePath
		}
		attempts[e.Ordinal-1] = a
	}
	return attempts
}
