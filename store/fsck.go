// The check of the whole database against the rules that must always hold.

package store

import (
	"context"
	"fmt"
	"reflect"

	"countersign/contracts/canonjson"
	"countersign/contracts/workflow"

	"github.com/jackc/pgx/v5"
)

// Finding is one violation of an invariant.
type Finding struct {
	// Rule names the invariant.
	Rule string `json:"rule"`
	// Where is the id of the row concerned.
	Where  string `json:"where"`
	Detail string `json:"detail"`
}

// Fsck checks every invariant over the whole database in one snapshot and writes nothing. No findings
// means that the database is sound; the error says that it could not be read.
func (s *Store) Fsck(ctx context.Context) ([]Finding, error) {
	findings := []Finding{}
	err := s.read(ctx, func(tx pgx.Tx) error {
		findings = findings[:0]
		for _, q := range fsckQueries {
			found, err := fsckQuery(ctx, tx, q)
			if err != nil {
				return fmt.Errorf("fsck %s: %w", q.rule, err)
			}
			findings = append(findings, found...)
		}
		for _, check := range []func(context.Context, pgx.Tx) ([]Finding, error){fsckDigests, fsckPayloads, fsckSteps, fsckKeys, fsckReceipts, fsckLedgers, s.fsckLineage, fsckBlobs, fsckDispatches} {
			found, err := check(ctx, tx)
			if err != nil {
				return fmt.Errorf("fsck: %w", err)
			}
			findings = append(findings, found...)
		}
		return nil
	})
	return findings, err
}

// fsckQueries select the id and a sentence for each violation.
var fsckQueries = []struct{ rule, sql string }{
	{"history_without_gaps", `SELECT workflow_id, format('%s entries, the last is %s', count(*), max(sequence)) FROM history
		GROUP BY workflow_id HAVING min(sequence) <> 1 OR max(sequence) <> count(*)`},
	{"history_complete", `SELECT workflow_id, format('entry %s is still pending', sequence) FROM history WHERE kind = 'pending'`},
	{"history_begins_with_dispatch", `SELECT r.workflow_id, 'the first entry is no dispatch' FROM revisions r
		WHERE NOT EXISTS (SELECT FROM history h WHERE h.workflow_id = r.workflow_id AND h.sequence = 1 AND h.kind = 'dispatched' AND h.step IS NOT NULL)`},
	{"one_attempt_while_active", `SELECT r.workflow_id, format('phase %s with %s open attempts', r.phase, count(e.id)) FROM revisions r
		LEFT JOIN executions e ON e.workflow_id = r.workflow_id AND e.state <> 'ended'
		GROUP BY r.workflow_id, r.phase HAVING count(e.id) <> CASE WHEN r.phase IN ('accepted', 'blocked', 'cancelled') THEN 0 ELSE 1 END`},
	{"ended_attempts_have_an_outcome", `SELECT id, format('state %s, phase %s, outcome %s', state, phase, coalesce(outcome, 'none')) FROM executions
		WHERE (state = 'ended') <> (outcome IS NOT NULL) OR (state = 'ended') <> (phase IN ('completed', 'failed', 'interrupted', 'cancelled'))`},
	{"attempts_without_gaps", `SELECT workflow_id, format('%s attempts, the last is %s', count(*), max(ordinal)) FROM executions
		WHERE workflow_id IS NOT NULL GROUP BY workflow_id HAVING min(ordinal) <> 1 OR max(ordinal) <> count(*)`},
	{"events_without_gaps", `SELECT e.id, format('%s events, last_event is %s', count(v.sequence), e.last_event) FROM executions e
		LEFT JOIN events v ON v.execution_id = e.id GROUP BY e.id, e.last_event
		HAVING count(v.sequence) <> e.last_event OR coalesce(max(v.sequence), 0) <> e.last_event`},
	{"work_within_budget", `SELECT r.workflow_id, format('%s work attempts of %s', count(*), r.max_work_attempts) FROM revisions r
		JOIN executions e ON e.workflow_id = r.workflow_id AND e.purpose = 'work' GROUP BY r.workflow_id, r.max_work_attempts HAVING count(*) > r.max_work_attempts`},
	{"sessions_separate", `SELECT max(id), format('session %s stands for %s attempts', session_id, count(*)) FROM executions
		WHERE session_id IS NOT NULL GROUP BY session_id HAVING count(*) > 1`},
	{"fencing_tokens_unique", `SELECT max(id), format('token %s was given %s times', fencing_token, count(*)) FROM executions
		WHERE fencing_token IS NOT NULL GROUP BY fencing_token HAVING count(*) > 1`},
	{"lease_within_deadline", `SELECT e.id, 'the lease was granted beyond what the contract allows' FROM executions e JOIN revisions r ON r.workflow_id = e.workflow_id
		WHERE e.deadline_at - e.claimed_at <> make_interval(secs => r.deadline / 1e9) OR e.lease_expires_at > e.deadline_at`},
	{"accepted_means_receipt_means_done", `SELECT r.workflow_id, format('phase %s, receipt %s, task %s', r.phase, coalesce(c.receipt_id, 'none'), t.status)
		FROM revisions r JOIN tasks t ON t.id = r.task_id LEFT JOIN receipts c ON c.workflow_id = r.workflow_id
		WHERE (r.phase = 'accepted') <> (c.receipt_id IS NOT NULL) OR (r.phase = 'accepted' AND (t.status <> 'done' OR r.receipt_id <> c.receipt_id))`},
	{"receipt_matches_revision", `SELECT c.receipt_id, 'digest, candidate or task is not the revision''s' FROM receipts c JOIN revisions r ON r.workflow_id = c.workflow_id
		WHERE c.contract_digest <> r.contract_digest OR c.candidate_commit IS DISTINCT FROM r.candidate_commit
			OR c.candidate_hash IS DISTINCT FROM r.candidate_hash OR c.task_id <> r.task_id`},
	{"accepted_artifacts_are_recorded", `SELECT c.receipt_id, 'no lineage entry of the task has the receipt''s hashes' FROM receipts c JOIN tasks t ON t.id = c.task_id
		WHERE c.candidate_hash IS NOT NULL AND NOT EXISTS (SELECT FROM lineage l WHERE l.project_id = t.project_id AND l.entry_hash = c.entry_hash
			AND l.content_hash = c.candidate_hash AND l.artefact_path = '.sdd/artifacts/' || c.task_id || '/artifact.bin')`},
	{"candidates_were_uploaded", `SELECT r.workflow_id, 'the candidate is not what its worker uploaded last' FROM revisions r
		WHERE r.candidate_hash IS NOT NULL AND NOT EXISTS (SELECT FROM uploads u WHERE u.execution_id = r.worker_execution_id AND u.content_hash = r.candidate_hash)`},
	{"idempotency_names_a_revision", `SELECT i.project_id || '/' || i.key, 'the key names no revision of its project' FROM idempotency i
		LEFT JOIN revisions r ON r.workflow_id = i.workflow_id AND r.project_id = i.project_id WHERE r.workflow_id IS NULL`},
	{"projects_have_an_owner", `SELECT id, 'no active owner' FROM projects p
		WHERE NOT EXISTS (SELECT FROM members m WHERE m.project_id = p.id AND m.role = 'owner' AND m.status = 'active')`},
	{"dispatches_are_decided", `SELECT h.workflow_id || '/' || h.sequence, format('no decision belongs to attempt %s, which was %s', e.id, h.kind)
		FROM history h JOIN executions e ON e.id = h.attempt_id WHERE e.dispatch IS NOT NULL
			AND CASE h.kind WHEN 'preparing' THEN NOT EXISTS (SELECT FROM dispatch_decisions d
					WHERE d.workflow_id = h.workflow_id AND d.sequence = h.sequence AND d.execution_id = e.id AND d.stage = 'preparing')
				WHEN 'running' THEN e.state = 'ended' AND NOT EXISTS (SELECT FROM dispatch_decisions d WHERE d.execution_id = e.id AND d.stage = 'settle')
				ELSE false END`},
	{"start_is_on_its_way", `SELECT r.workflow_id, 'no outbox row starts its workflow' FROM revisions r
		WHERE NOT EXISTS (SELECT FROM outbox o WHERE o.workflow_id = r.workflow_id AND o.kind = 'start')`},
}

func fsckQuery(ctx context.Context, tx pgx.Tx, q struct{ rule, sql string }) ([]Finding, error) {
	rows, err := tx.Query(ctx, q.sql)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Finding, error) {
		f := Finding{Rule: q.rule}
		return f, row.Scan(&f.Where, &f.Detail)
	})
}

// fsckDigests holds every frozen contract to its digest.
func fsckDigests(ctx context.Context, tx pgx.Tx) (found []Finding, err error) {
	rows, err := tx.Query(ctx, `SELECT workflow_id, contract, contract_digest FROM revisions`)
	if err != nil {
		return nil, err
	}
	var (
		id, digest string
		contract   []byte
	)
	_, err = pgx.ForEachRow(rows, []any{&id, &contract, &digest}, func() error {
		if canonical, err := canonjson.Canonical(contract); err != nil || string(canonical) != string(contract) {
			found = append(found, Finding{"contract_frozen", id, "the stored contract is not in canonical form"})
		} else if canonjson.Digest(contract) != digest {
			found = append(found, Finding{"contract_frozen", id, "the stored contract does not have its digest"})
		}
		return nil
	})
	return found, err
}

// fsckPayloads holds every stored body to the digest it is named by.
func fsckPayloads(ctx context.Context, tx pgx.Tx) (found []Finding, err error) {
	rows, err := tx.Query(ctx, `SELECT sha256, body FROM payloads`)
	if err != nil {
		return nil, err
	}
	var (
		digest string
		body   []byte
	)
	_, err = pgx.ForEachRow(rows, []any{&digest, &body}, func() error {
		if canonjson.Digest(body) != digest {
			found = append(found, Finding{"payload_has_its_digest", digest, "the stored body has another digest"})
		}
		return nil
	})
	return found, err
}

// fsckSteps replays every revision's recorded steps and compares with its rows.
func fsckSteps(ctx context.Context, tx pgx.Tx) ([]Finding, error) {
	type revision struct {
		frozenRow
		currentRow
	}
	rows, err := tx.Query(ctx, `SELECT `+frozenColumns+`, `+currentColumns+` FROM revisions ORDER BY workflow_id`)
	if err != nil {
		return nil, err
	}
	revisions, err := pgx.CollectRows(rows, pgx.RowToStructByName[revision])
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, r := range revisions {
		detail, err := replayed(ctx, tx, r.frozenRow, r.currentRow)
		if err != nil {
			return nil, err
		}
		if detail != "" {
			found = append(found, Finding{"history_leads_to_the_state", r.WorkflowID, detail})
		}
	}
	return found, nil
}

// replayed says where a revision's rows differ from what its history leads to, or "".
func replayed(ctx context.Context, tx pgx.Tx, r frozenRow, current currentRow) (string, error) {
	recorded, err := steps(ctx, tx, r.WorkflowID, 1)
	if err != nil {
		return "", err
	}
	state := r.state()
	for _, step := range recorded {
		if step.First != state.Sequence+1 {
			return fmt.Sprintf("a step begins at %d after %d", step.First, state.Sequence), nil
		}
		state = workflow.Apply(state, step)
	}
	rows, err := tx.Query(ctx, `SELECT `+executionColumns+` FROM executions WHERE workflow_id = $1`, r.WorkflowID)
	if err != nil {
		return "", err
	}
	executions, err := pgx.CollectRows(rows, pgx.RowToStructByName[executionRow])
	if err != nil {
		return "", err
	}
	stored, err := current.state(r, executions, state.Sequence)
	if err != nil {
		return "", err
	}
	// Renewals move an expiry without a step.
	if stored.Active != nil && state.Active != nil {
		state.Active.LeaseExpiresAt = stored.Active.LeaseExpiresAt
	}
	if len(state.FailedCriteria) == 0 {
		state.FailedCriteria = nil
	}
	if !reflect.DeepEqual(stored, state) {
		return fmt.Sprintf("the rows say %s %s, the history %s %s", stored.Phase, stored.Reason, state.Phase, state.Reason), nil
	}
	return "", nil
}
