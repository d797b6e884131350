// Decisions on worker dispatches in the database: they stay, and damage to them shows.

package store_test

import (
	"fmt"
	"testing"
	"time"

	"countersign/contracts/capability"
	"countersign/contracts/workflow"

	"github.com/stretchr/testify/require"
)

// newBoundDriver plays a revision whose contract binds its worker, to the report that nothing speaks for.
func newBoundDriver(t *testing.T) *driver {
	t.Helper()
	d := newDriver(t, lease, deadline)
	again, err := d.Store.Commit(t.Context(), d.id, d.state.Sequence+1, workflow.Command{Kind: workflow.CommandCancel, Actor: "owner"})
	require.NoError(t, err)
	require.NotNil(t, again.Step)
	spec := d.Spec(d.AddTask(t))
	spec.WorkerDispatch = &workflow.WorkerDispatch{
		Contract: capability.Version,
		Request: workflow.WorkerRequest{
			WorkerDispatchAuthorization: capability.Authorized, ProviderTrustDomain: capability.DomainHostNative, MutationScope: capability.MutationForbidden,
		},
		AuthorizationReceipts: []workflow.AuthorizationReceipt{{Authorization: "worker_dispatch_authorization", Ref: "r", Basis: "b"}},
	}
	made, err := d.Dispatch(t, spec, lease, deadline)
	require.NoError(t, err)
	d.id = made.WorkflowID
	d.reload()
	d.claim()
	d.same()
	require.Equal(t, workflow.ReasonWorkerDispatch, d.event(workflow.Event{State: workflow.EventPreparing}).Step.Reason)
	d.same()
	return d
}

// rewritten puts another body, sound by its own digest, in the place of the one that a column names.
func rewritten(column, from, to string) string {
	return fmt.Sprintf(`WITH other AS (INSERT INTO payloads (sha256, body)
			SELECT encode(sha256(b), 'hex'), b FROM (SELECT replace(convert_from(body, 'UTF8'), '%[2]s', '%[3]s')::bytea AS b
				FROM payloads JOIN dispatch_decisions ON %[1]s = sha256) x RETURNING sha256)
		UPDATE dispatch_decisions SET %[1]s = (SELECT sha256 FROM other)`, column, from, to)
}

func TestFsckEvaluatesDecisionsAgain(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"":                 `SELECT 1`,
		"the action":       `UPDATE dispatch_decisions SET action = 'block'`,
		"the codes":        `UPDATE dispatch_decisions SET reason_codes = '{}'`,
		"the gate":         `UPDATE dispatch_decisions SET independence_gate = 'closed', result_promotable = true`,
		"the attempt":      `UPDATE dispatch_decisions SET stage = 'settle'`,
		"the record":       rewritten("record_sha256", `unproven`, `missing`),
		"the purpose":      rewritten("record_sha256", `"purpose":"work"`, `"purpose":"verify"`),
		"the contract":     rewritten("record_sha256", `worker-dispatch/v1`, `worker-dispatch/v2`),
		"the outcome":      rewritten("record_sha256", `host-native`, `external`),
		"the input":        rewritten("input_sha256", `host-native`, `external`),
		"an input like it": rewritten("input_sha256", `"input_refs":[]`, `"input_refs":["x"]`),
		"a table": `WITH other AS (INSERT INTO payloads (sha256, body) VALUES (encode(sha256('[]'), 'hex'), '[]') RETURNING sha256)
			UPDATE dispatch_decisions SET input_sha256 = (SELECT sha256 FROM other)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newBoundDriver(t)
			_, err := d.Pool.Exec(t.Context(), `ALTER TABLE dispatch_decisions DISABLE TRIGGER dispatch_decisions_stay`)
			require.NoError(t, err)
			_, err = d.Pool.Exec(t.Context(), damage)
			require.NoError(t, err)
			findings, err := d.Store.Fsck(t.Context())
			require.NoError(t, err)
			if name == "" {
				require.Empty(t, findings)
				return
			}
			rules := []string{}
			for _, f := range findings {
				rules = append(rules, f.Rule)
			}
			want := []string{"dispatch_decision_follows"}
			if name == "the attempt" { // its report is undecided then
				want = append(want, "dispatches_are_decided")
			}
			require.ElementsMatch(t, want, rules)
		})
	}
}

func TestDecisionsStay(t *testing.T) {
	t.Parallel()
	d := newBoundDriver(t)
	_, err := d.Pool.Exec(t.Context(), `UPDATE dispatch_decisions SET action = 'block'`)
	require.ErrorContains(t, err, "never changed")
	require.NoError(t, d.Store.SweepPayloads(t.Context(), -time.Hour, 1000), "what a decision names is not swept")
	var inputs int
	require.NoError(t, d.Pool.QueryRow(t.Context(), `SELECT count(*) FROM dispatch_decisions d JOIN payloads i ON i.sha256 = d.input_sha256
		JOIN payloads r ON r.sha256 = d.record_sha256`).Scan(&inputs))
	require.Equal(t, 1, inputs)
	findings, err := d.Store.Fsck(t.Context())
	require.NoError(t, err)
	require.Empty(t, findings)
}
