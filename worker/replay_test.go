// Histories of every released version replay on today's workflow code.

package worker_test

import (
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"countersign/contracts/workflow"
	"countersign/store/storetest"
	"countersign/worker"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/encoding/protojson"
)

// record writes the histories of this version; released ones are never written again.
var record = flag.String("record", "", "version under which to record histories in testdata/histories")

func TestRecordedHistoriesReplay(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../testdata/histories/*/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			f, err := os.Open(file)
			require.NoError(t, err)
			defer f.Close()
			h, err := client.HistoryFromJSON(f, client.HistoryJSONOptions{})
			require.NoError(t, err)
			replay(t, h)
		})
	}
}

func replay(t *testing.T, h *history.History) {
	t.Helper()
	r := sdk.NewWorkflowReplayer()
	worker.RegisterWorkflow(r)
	require.NoError(t, r.ReplayWorkflowHistory(slog.New(slog.DiscardHandler), h))
}

// TestHistoriesReplay runs each way a revision can go and replays what Temporal recorded of it; with
// -record it keeps the recordings.
func TestHistoriesReplay(t *testing.T) {
	t.Parallel()
	const lease, deadline = 90 * time.Second, 15 * time.Minute
	for name, run := range map[string]func(r *rig) string{
		"accepted": func(r *rig) string {
			id := r.dispatch(lease, deadline).WorkflowID
			r.run(id, storetest.BaseCommit, nil)
			r.run(id, storetest.BaseCommit, r.verdict(id))
			return id
		},
		"work_budget_exhausted": func(r *rig) string {
			id := r.dispatch(lease, deadline).WorkflowID
			for range 2 {
				r.run(id, storetest.BaseCommit, nil)
				r.run(id, storetest.BaseCommit, r.verdict(id, "tests"))
			}
			return id
		},
		"lease_expired": func(r *rig) string {
			id := r.dispatch(200*time.Millisecond, deadline).WorkflowID
			r.claim(id)
			require.Eventually(r.t, func() bool { return r.detail(id).Phase == workflow.PhaseBlocked }, 20*time.Second, 20*time.Millisecond)
			return id
		},
		"cancelled_while_claimed": func(r *rig) string {
			id := r.dispatch(lease, deadline).WorkflowID
			r.claim(id)
			r.do(id, workflow.Command{Kind: workflow.CommandCancel, Actor: "owner"})
			return id
		},
		"cancelled_in_temporal": func(r *rig) string {
			id := r.dispatch(lease, deadline).WorkflowID
			require.NoError(r.t, r.gateway.CatchUp(r.t.Context(), id))
			require.NoError(r.t, r.client.CancelWorkflow(r.t.Context(), "revision/"+id, ""))
			require.Eventually(r.t, func() bool { return r.detail(id).Phase == workflow.PhaseCancelled }, 20*time.Second, 20*time.Millisecond)
			return id
		},
		"claim_folded_in": func(r *rig) string {
			id := r.dispatch(lease, deadline).WorkflowID
			require.NoError(r.t, r.gateway.CatchUp(r.t.Context(), id))
			_, err := r.Store.CommitNext(r.t.Context(), id, workflow.Command{
				Kind: workflow.CommandClaim, ExecutionID: r.OfferedExecution(r.t), ClaimID: uuid.NewString(), Actor: r.Node.ID,
			})
			require.NoError(r.t, err)
			require.NoError(r.t, r.gateway.CatchUp(r.t.Context(), id))
			r.do(id, workflow.Command{Kind: workflow.CommandCancel, Actor: "owner"})
			return id
		},
		"node_revoked": func(r *rig) string {
			id := r.dispatch(lease, deadline).WorkflowID
			a := r.claim(id)
			r.do(id, workflow.Command{Kind: workflow.CommandBlock, ExecutionID: a.ExecutionID, Reason: workflow.ReasonNodeRevoked, Actor: "relay"})
			return id
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			id := run(r)
			require.Eventually(t, func() bool {
				closed, err := r.gateway.Closed(t.Context(), id)
				return err == nil && closed
			}, 20*time.Second, 20*time.Millisecond)
			h := &history.History{}
			for it := r.client.GetWorkflowHistory(t.Context(), "revision/"+id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
				e, err := it.Next()
				require.NoError(t, err)
				h.Events = append(h.Events, e)
			}
			replay(t, h)
			findings, err := r.Store.Fsck(t.Context())
			require.NoError(t, err)
			require.Empty(t, findings)
			if *record != "" {
				data, err := protojson.Marshal(h)
				require.NoError(t, err)
				dir := filepath.Join("../testdata/histories", *record)
				require.NoError(t, os.MkdirAll(dir, 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(dir, name+".json"), data, 0o600))
			}
		})
	}
}
