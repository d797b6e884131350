// Decisions on worker dispatches: written with the step that made them, read as records.

package store

import (
	"context"
	"fmt"

	"countersign/contracts/canonjson"
	"countersign/contracts/capability"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
)

// queueReported reads the recorded events of the revision's live execution into the facts.
func (k *commit) queueReported(b *pgx.Batch) {
	b.Queue(`SELECT v.at, p.body FROM events v JOIN executions e ON e.id = v.execution_id JOIN payloads p ON p.sha256 = v.body_sha256
		WHERE e.workflow_id = $1 AND e.state = 'live' ORDER BY v.sequence`, k.workflowID).Query(func(rows pgx.Rows) (err error) {
		k.facts.Reported, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (r workflow.ReportedEvent, err error) {
			var body []byte
			if err := row.Scan(&r.At, &body); err != nil {
				return r, err
			}
			r.Event, err = workflow.DecodeEvent(body)
			return r, err
		})
		return err
	})
}

// settledRecords selects a revision's settled decisions, oldest first.
const settledRecords = `SELECT p.body FROM dispatch_decisions d JOIN payloads p ON p.sha256 = d.record_sha256
	WHERE d.workflow_id = $1 AND d.stage = 'settle' ORDER BY d.sequence, d.ordinal`

// queueSettled reads what was settled of the revision's earlier attempts, for its receipt.
func (k *commit) queueSettled(b *pgx.Batch) {
	b.Queue(settledRecords, k.workflowID).Query(func(rows pgx.Rows) (err error) {
		k.settled, err = pgx.CollectRows(rows, scanRecord)
		return err
	})
}

// receiptDispatches are the settled dispatches of all attempts, the one that the step settles last.
func (k *commit) receiptDispatches(d workflow.Decision) []workflow.DispatchRecord {
	settled := k.settled
	for _, j := range d.Judged {
		if j.Record.Stage == workflow.StageSettle {
			settled = append(settled, j.Record)
		}
	}
	return settled
}

func scanRecord(row pgx.CollectableRow) (r workflow.DispatchRecord, err error) {
	var body []byte
	if err := row.Scan(&body); err != nil {
		return r, err
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return r, fmt.Errorf("read a dispatch record: %w", err)
	}
	return r, nil
}

// queueJudged writes what a step decided on the worker's dispatch.
func (k *commit) queueJudged(b *pgx.Batch, d workflow.Decision) error {
	for i, j := range d.Judged {
		record, err := canonjson.Marshal(j.Record)
		if err != nil {
			return fmt.Errorf("store a dispatch record: %w", err)
		}
		digest := canonjson.Digest(record)
		queuePayload(b, j.Record.InputSHA256, j.Input)
		queuePayload(b, digest, record)
		r := j.Record
		b.Queue(`INSERT INTO dispatch_decisions (workflow_id, sequence, ordinal, execution_id, stage, action, status, reason_codes, claims_denied,
				independence_gate, result_promotable, input_sha256, record_sha256)
			VALUES ($1, $2, $3, nullif($4, ''), $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
			k.workflowID, d.Step.First, i+1, r.ExecutionID, r.Stage, r.Action, r.Outcome.Status, r.Outcome.ReasonCodes, r.ClaimsDenied,
			r.IndependenceGate, r.ResultPromotable, r.InputSHA256, digest)
	}
	return nil
}

// latestRecords selects the last decision on each attempt of a revision.
const latestRecords = `SELECT DISTINCT ON (d.execution_id) p.body FROM dispatch_decisions d JOIN payloads p ON p.sha256 = d.record_sha256
	WHERE d.workflow_id = $1 AND d.execution_id IS NOT NULL ORDER BY d.execution_id, d.sequence DESC, d.ordinal DESC`

// joinDispatch finds the last decision of a revision r, as x.
const joinDispatch = `
	LEFT JOIN LATERAL (SELECT stage, action, status, reason_codes, claims_denied, independence_gate, result_promotable FROM dispatch_decisions
		WHERE workflow_id = r.workflow_id ORDER BY sequence DESC, ordinal DESC LIMIT 1) x ON true`

// dispatchColumns are what a summary is made of; all null for a revision without decisions.
const dispatchColumns = `x.stage, x.action, x.status, x.reason_codes, x.claims_denied, x.independence_gate, x.result_promotable`

// summaryRow is a summary as its columns are scanned.
type summaryRow struct {
	stage      *workflow.DispatchStage
	action     *capability.Action
	status     *capability.Status
	codes      []capability.ReasonCode
	denied     []capability.Claim
	gate       *capability.Gate
	promotable *bool
}

func (s *summaryRow) targets() []any {
	return []any{&s.stage, &s.action, &s.status, &s.codes, &s.denied, &s.gate, &s.promotable}
}

func (s *summaryRow) summary() *workflow.DispatchSummary {
	if s.stage == nil {
		return nil
	}
	return &workflow.DispatchSummary{
		Stage: *s.stage, Action: *s.action, Status: s.status, ReasonCodes: s.codes, ClaimsDenied: s.denied,
		IndependenceGate: *s.gate, ResultPromotable: *s.promotable,
	}
}

// fsckDispatches evaluates every decision again on its stored input, and holds its row to its record.
func fsckDispatches(ctx context.Context, tx pgx.Tx) (found []Finding, err error) {
	rows, err := tx.Query(ctx, `SELECT d.workflow_id || '/' || d.sequence, r.contract, i.body, o.body, d.input_sha256, d.stage, `+
		`d.action, d.status, d.reason_codes, d.claims_denied, d.independence_gate, d.result_promotable, coalesce(d.execution_id, ''), coalesce(e.purpose, 'work')
		FROM dispatch_decisions d JOIN revisions r ON r.workflow_id = d.workflow_id LEFT JOIN executions e ON e.id = d.execution_id
		JOIN payloads i ON i.sha256 = d.input_sha256 JOIN payloads o ON o.sha256 = d.record_sha256 ORDER BY d.workflow_id, d.sequence, d.ordinal`)
	if err != nil {
		return nil, err
	}
	var (
		where, inputSHA256, execution string
		contract, input, record       []byte
		purpose                       workflow.Purpose
		row                           summaryRow
	)
	targets := append(append([]any{&where, &contract, &input, &record, &inputSHA256}, row.targets()...), &execution, &purpose)
	_, err = pgx.ForEachRow(rows, targets, func() error {
		if detail := dispatchFault(contract, input, record, inputSHA256, execution, purpose, row.summary()); detail != "" {
			found = append(found, Finding{"dispatch_decision_follows", where, detail})
		}
		return nil
	})
	return found, err
}

// dispatchFault says what is wrong with a decision, "" when nothing is.
func dispatchFault(contract, input, record []byte, inputSHA256, execution string, purpose workflow.Purpose, row *workflow.DispatchSummary) string {
	var (
		c workflow.Contract
		r workflow.DispatchRecord
	)
	in, err := capability.Decode(input)
	if err != nil || json.Unmarshal(contract, &c) != nil || json.Unmarshal(record, &r) != nil || c.WorkerDispatch == nil {
		return "the contract, the input or the record is not readable"
	}
	result, said := c.WorkerDispatch.Judge(r.Stage, in)
	again, err := canonjson.Marshal(result)
	if err != nil {
		return err.Error()
	}
	recorded, err := canonjson.Marshal(r.Result)
	if err != nil {
		return err.Error()
	}
	shown, err := canonjson.Marshal(row)
	if err != nil {
		return err.Error()
	}
	told, err := canonjson.Marshal(r.Summary())
	if err != nil {
		return err.Error()
	}
	switch {
	case !said || string(again) != string(recorded):
		return "the input leads to another result"
	case r.Contract != c.WorkerDispatch.Contract || r.Purpose != purpose:
		return "the record is about another contract or purpose than its attempt's"
	case r.InputSHA256 != inputSHA256 || r.ExecutionID != execution || string(shown) != string(told):
		return "the row says something else than its record"
	}
	return ""
}
