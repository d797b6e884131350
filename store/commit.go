// One command, one transaction: the step that every change of a revision goes through.

package store

import (
	"context"
	"errors"
	"fmt"

	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/receipt"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
)

// Outcome is what Commit did. At most one of Step, Behind and Refusal is set; none means that there
// was nothing to do.
type Outcome struct {
	// Step was committed now, or is the stored one of the same command.
	Step *workflow.Step `json:"step,omitzero"`
	// Behind are the steps that history already has from the asked sequence on: nothing was written,
	// the caller applies them and asks again.
	Behind []workflow.Step `json:"behind,omitzero"`
	// Refusal changes nothing.
	Refusal *contracts.Error `json:"refusal,omitzero"`
}

// ErrHistoryGap says that a caller knows history the database does not have, as after a restore from
// an older dump. Repeating cannot help.
var ErrHistoryGap = errors.New("the caller is ahead of the recorded history")

// errRollback takes everything back without being an error.
var errRollback = errors.New("roll back")

// Commit decides one command against the locked rows and writes the step as history entries from n
// on. The same command again, at n or elsewhere, returns the stored step; another step at n returns
// Behind. A refusal is a value and leaves no trace.
func (s *Store) Commit(ctx context.Context, workflowID string, n int, c workflow.Command) (Outcome, error) {
	var out Outcome
	err := s.tx(ctx, func(tx pgx.Tx) error {
		out = Outcome{}
		k := commit{store: s, tx: tx, workflowID: workflowID, n: n, command: c, hash: c.InputHash()}
		err := k.run(ctx)
		out = k.out
		return err
	})
	if errors.Is(err, errRollback) {
		err = nil
	}
	return out, err
}

// CommitNext is Commit at the end of the history, for callers that hold no state: the API and the
// sweeper when Temporal stays away.
func (s *Store) CommitNext(ctx context.Context, workflowID string, c workflow.Command) (Outcome, error) {
	for {
		var last int
		err := s.pool.QueryRow(ctx, `SELECT coalesce(max(sequence), 0) FROM history WHERE workflow_id = $1`, workflowID).Scan(&last)
		if err != nil {
			return Outcome{}, translate(err)
		}
		out, err := s.Commit(ctx, workflowID, last+1, c)
		if err != nil || out.Behind == nil {
			return out, err
		}
	}
}

// commit is one run of Commit.
type commit struct {
	store      *Store
	tx         pgx.Tx
	workflowID string
	n          int
	command    workflow.Command
	hash       string
	out        Outcome

	frozen     frozenRow
	purpose    workflow.Purpose // of the execution the command names
	executions []executionRow
	facts      workflow.Facts
	ledger     chain

	// What a receipt needs besides; set when a verifier's completion may lead to one.
	signing       signingKey
	server        receipt.Server
	contractBytes []byte
	settled       []workflow.DispatchRecord
}

func (k *commit) run(ctx context.Context) error {
	mine, last, err := k.reserve(ctx)
	if err != nil {
		return err
	}
	if !mine {
		return k.replay(ctx)
	}
	if last != k.n-1 {
		return fmt.Errorf("%w: asked for sequence %d after %d", ErrHistoryGap, k.n, last)
	}
	state, err := k.lock(ctx)
	if err != nil {
		return err
	}
	d := workflow.Decide(state, k.command, k.facts)
	if d.Step == nil {
		k.out.Refusal = d.Refusal
		return errRollback
	}
	if err := k.write(ctx, state, d); err != nil {
		return err
	}
	k.out.Step = d.Step
	return nil
}

// reserve takes the history row n for the command and reads what needs no lock. It waits for a twin
// that holds the row; mine is false when the twin committed.
func (k *commit) reserve(ctx context.Context) (mine bool, last int, err error) {
	b := &pgx.Batch{}
	b.Queue(`INSERT INTO history (workflow_id, sequence, kind, input_hash) VALUES ($1, $2, 'pending', $3) ON CONFLICT DO NOTHING`,
		k.workflowID, k.n, k.hash).Exec(func(tag commandTag) error {
		mine = tag.RowsAffected() == 1
		return nil
	})
	b.Queue(`SELECT coalesce(max(sequence), 0) FROM history WHERE workflow_id = $1 AND sequence < $2`, k.workflowID, k.n).
		QueryRow(func(row pgx.Row) error { return row.Scan(&last) })
	b.Queue(`SELECT `+frozenColumns+` FROM revisions WHERE workflow_id = $1`, k.workflowID).
		Query(func(rows pgx.Rows) (err error) {
			k.frozen, err = one[frozenRow](rows, nil, notFound("revision"))
			return err
		})
	if k.command.ExecutionID != "" {
		b.Queue(`SELECT purpose FROM executions WHERE id = $1 AND workflow_id = $2`, k.command.ExecutionID, k.workflowID).
			QueryRow(func(row pgx.Row) error {
				if err := row.Scan(&k.purpose); errors.Is(err, pgx.ErrNoRows) {
					return notFound("execution")
				} else {
					return err
				}
			})
	}
	if k.command.Kind == workflow.CommandEvent {
		b.Queue(`SELECT body FROM payloads WHERE sha256 = $1`, k.command.BodySHA256).QueryRow(func(row pgx.Row) error {
			var body []byte
			if err := row.Scan(&body); err != nil {
				return fmt.Errorf("event body: %w", err)
			}
			e, err := workflow.DecodeEvent(body)
			k.facts.Event = &e
			return err
		})
	}
	if err := k.tx.SendBatch(ctx, b).Close(); err != nil {
		if foreignKey(err) {
			return false, 0, notFound("revision")
		}
		return false, 0, err
	}
	return mine, last, nil
}

// replay returns the stored step of the same command, or what history has from n on.
func (k *commit) replay(ctx context.Context) error {
	step, found, err := recordedStep(ctx, k.tx, k.workflowID, k.hash)
	if err != nil {
		return err
	}
	if found {
		k.out.Step = &step
		return errRollback
	}
	k.out.Behind, err = steps(ctx, k.tx, k.workflowID, k.n)
	if err == nil && len(k.out.Behind) == 0 {
		err = fmt.Errorf("history of %s: row %d is taken but starts no step", k.workflowID, k.n)
	}
	if err != nil {
		return err
	}
	return errRollback
}

// lock takes the rows in the store's lock order and gathers the facts, the clock last.
func (k *commit) lock(ctx context.Context) (workflow.State, error) {
	var current currentRow
	b := &pgx.Batch{}
	var node authority
	byNode := k.command.Kind == workflow.CommandClaim || k.command.Kind == workflow.CommandEvent
	if byNode {
		account, runtime := k.frozen.account(k.purpose)
		queueAuthority(b, k.frozen.NodeID, k.frozen.ProjectID, account, runtime, &node)
	}
	if e := k.facts.Event; e != nil && e.State == workflow.EventCompleted && k.purpose == workflow.PurposeVerify {
		k.store.queueSigningKey(b, &k.signing)
		b.Queue(`SELECT instance_id, resource FROM instance`).
			QueryRow(func(row pgx.Row) error { return row.Scan(&k.server.InstanceID, &k.server.Resource) })
	}
	b.Queue(`SELECT version, ledger_entries, ledger_head FROM tasks WHERE id = $1 FOR NO KEY UPDATE`, k.frozen.TaskID).
		QueryRow(func(row pgx.Row) error {
			k.ledger.taskID = k.frozen.TaskID
			return row.Scan(&k.facts.TaskVersion, &k.ledger.entries, &k.ledger.head)
		})
	b.Queue(`SELECT `+currentColumns+` FROM revisions WHERE workflow_id = $1 FOR NO KEY UPDATE`, k.workflowID).
		Query(func(rows pgx.Rows) (err error) {
			current, err = one[currentRow](rows, nil, notFound("revision"))
			return err
		})
	b.Queue(`SELECT `+executionColumns+` FROM executions WHERE workflow_id = $1 ORDER BY id FOR NO KEY UPDATE`, k.workflowID).
		Query(func(rows pgx.Rows) (err error) {
			k.executions, err = pgx.CollectRows(rows, pgx.RowToStructByName[executionRow])
			return err
		})
	if e := k.facts.Event; e != nil {
		if e.State == workflow.EventRunning {
			b.Queue(`SELECT EXISTS (SELECT FROM executions WHERE provider_session_id = $1)`, *e.ProviderSessionID).
				QueryRow(func(row pgx.Row) error { return row.Scan(&k.facts.SessionSeen) })
		}
		queueFollowUpConflict(b, k.frozen.TaskID, e.FollowUps(k.frozen.TaskID), &k.facts.FollowUpConflict)
		if e.State == workflow.EventCompleted && k.purpose == workflow.PurposeWork {
			queueUpload(b, k.command.ExecutionID, &k.facts.Upload)
		}
	}
	if e := k.facts.Event; k.frozen.WorkerDispatch || (e != nil && e.State == workflow.EventCompleted) {
		b.Queue(`SELECT contract FROM revisions WHERE workflow_id = $1`, k.workflowID).QueryRow(k.contract)
	}
	if k.frozen.WorkerDispatch {
		k.queueReported(b)
		if k.purpose == workflow.PurposeVerify {
			k.queueSettled(b)
		}
	}
	if k.command.Kind == workflow.CommandClaim {
		b.Queue(`SELECT nextval('fencing_tokens')`).QueryRow(func(row pgx.Row) error { return row.Scan(&k.facts.Fresh.FencingToken) })
	}
	b.Queue(`SELECT clock_timestamp()`).QueryRow(func(row pgx.Row) error { return row.Scan(&k.facts.Now) })
	if err := k.tx.SendBatch(ctx, b).Close(); err != nil {
		return workflow.State{}, err
	}
	if byNode {
		k.facts.Authority = node.refusal(k.command.Kind == workflow.CommandClaim)
	}
	k.facts.Lease, k.facts.Deadline = k.frozen.Lease, k.frozen.Deadline
	fresh := &k.facts.Fresh
	fresh.LeaseID, fresh.SessionID, fresh.ExecutionID, fresh.ReceiptID = newID(), newID(), newID(), newID()
	k.subject()
	return current.state(k.frozen, k.executions, k.n-1)
}

// subject finds the execution the command names; reserve has seen that it is there.
func (k *commit) subject() {
	for _, e := range k.executions {
		if e.ID == k.command.ExecutionID {
			k.facts.Subject = e.attempt()
		}
	}
}

func (k *commit) contract(row pgx.Row) error {
	if err := row.Scan(&k.contractBytes); err != nil {
		return err
	}
	k.facts.ContractIntact = canonjson.Digest(k.contractBytes) == k.frozen.ContractDigest
	k.facts.Contract = new(workflow.Contract)
	return json.Unmarshal(k.contractBytes, k.facts.Contract)
}
