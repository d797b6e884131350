// The database check finds nothing in a sound database and each kind of damage by name.

package store_test

import (
	"strings"
	"testing"

	"countersign/contracts/canonjson"
	"countersign/store"

	"github.com/stretchr/testify/require"
)

// played is a database in which one task was accepted after a correction, and one is running.
func played(t *testing.T) *driver {
	t.Helper()
	d := newDriver(t, lease, deadline)
	d.work(candidate)
	d.verify("tests")
	d.work(candidate)
	d.verify()
	again, err := d.Dispatch(t, d.Spec(d.AddTask(t)), lease, deadline)
	require.NoError(t, err)
	d.id = again.WorkflowID
	d.reload()
	d.claim()
	d.runTo()
	_, err = d.Store.Attach(t.Context(), d.Owner.User, d.Project.ID, store.Blob{
		ContentHash: "sha256:" + canonjson.Digest([]byte("numbers")), Bytes: 7, Content: strings.NewReader("numbers"),
	})
	require.NoError(t, err)
	_, ok, err := d.Store.Renew(t.Context(), d.exec, d.held)
	require.NoError(t, err)
	require.True(t, ok)
	return d
}

func TestFsckNamesDamage(t *testing.T) {
	t.Parallel()
	for rule, damage := range map[string]string{
		"":                                  `SELECT 1`,
		"contract_frozen":                   `UPDATE revisions SET contract = replace(convert_from(contract, 'UTF8'), 'greeting', 'insult')::bytea`,
		"history_without_gaps":              `DELETE FROM history WHERE sequence = 4`,
		"payload_has_its_digest":            `UPDATE payloads SET body = body || ' '`,
		"accepted_means_receipt_means_done": `UPDATE tasks SET status = 'open'`,
		"receipt_matches_revision":          `UPDATE receipts SET candidate_commit = repeat('ee', 20)`,
		"events_without_gaps":               `DELETE FROM events WHERE sequence = 2`,
		"history_leads_to_the_state":        `UPDATE revisions SET candidate_commit = repeat('ee', 20) WHERE phase = 'running'`,
		"sessions_separate":                 `UPDATE executions SET session_id = 'same'`,
		"fencing_tokens_unique":             `UPDATE executions SET fencing_token = 1`,
		"lease_within_deadline":             `UPDATE executions SET deadline_at = deadline_at + interval '1 hour'`,
		"idempotency_names_a_revision":      `UPDATE idempotency SET workflow_id = 'gone'`,
		"projects_have_an_owner":            `UPDATE members SET status = 'suspended'`,
		"start_is_on_its_way":               `DELETE FROM outbox`,
		"keys_are_a_chain":                  `UPDATE keys SET public_pem = 'x'`,
		"receipt_proves_its_row":            `UPDATE receipts SET envelope = replace(convert_from(envelope, 'UTF8'), '"sig":"', '"sig":"AAAA')::bytea`,
		"blob_has_its_hash":                 `DELETE FROM blob_parts`,
		"lineage_is_a_signed_chain":         `UPDATE lineage SET line = replace(convert_from(line, 'UTF8'), '"chain":"', '"chain":"0')::bytea`,
		"one_attempt_while_active":          `UPDATE executions SET state = 'ended', phase = 'cancelled', outcome = 'cancelled', ended_at = now() WHERE state = 'live'`,
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			d := played(t)
			_, err := d.Pool.Exec(t.Context(), damage)
			require.NoError(t, err)
			findings, err := d.Store.Fsck(t.Context())
			require.NoError(t, err)
			if rule == "" {
				require.Empty(t, findings)
				return
			}
			rules := []string{}
			for _, f := range findings {
				rules = append(rules, f.Rule)
			}
			require.Contains(t, rules, rule)
		})
	}
}
