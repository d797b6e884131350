// Receipts and keys over HTTP: the same bytes for ever, and no work that nobody could sign for.

package api_test

import (
	"net/http"
	"testing"
	"time"

	"countersign/api"
	"countersign/api/apitest"
	"countersign/contracts"
	"countersign/contracts/receipt"
	"countersign/contracts/workflow"
	"countersign/store"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestAReceiptStaysTheSame(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{APIs: 2})
	d := s.DispatchTask()
	path := "/v1/tasks/" + d.TaskID + "/receipt"
	apitest.Refused(t, http.StatusNotFound, contracts.CodeNotFound, s.Operator("GET", path, nil))
	s.Work(candidate)
	s.Verify()
	first := s.Operator("GET", path, nil)
	require.Equal(t, http.StatusOK, first.Status)
	s.Workers[0].Stop()
	s.Workers[0].Start()
	for _, url := range s.URLs {
		require.Equal(t, string(first.Body), string(apitest.Call(t, "GET", url, path, s.OwnerToken, nil).Body))
	}
	var stored []byte
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT envelope FROM receipts`).Scan(&stored))
	require.Contains(t, string(first.Body), `"envelope":`+string(stored), "the answer carries the stored bytes as they are")
	_, stranger := s.AddNode(t)
	require.Equal(t, http.StatusForbidden, apitest.Call(t, "GET", s.URL, path, stranger, nil).Status)
}

// Anybody may read the public keys.
func TestKeysArePublic(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	keys := apitest.Into[receipt.KeySet](t, http.StatusOK, d.call("GET", "/v1/keys", "", nil))
	require.Len(t, keys.Keys, 1)
	require.NoError(t, keys.Check())
	require.NotContains(t, string(d.call("GET", "/v1/keys", "", nil).Body), "PRIVATE")
}

// While no worker can sign, nothing begins; what was answered before is answered still.
func TestNoWorkWithoutASigner(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	stopWorkers(s)
	held := s.DispatchTask()
	request := workflow.DispatchRequest{Spec: s.Spec(s.AddTask(t)), WriteContext: s.WriteContext()}
	offer := s.OfferedExecution(t)
	claim := func() apitest.Answer {
		return s.Bridge("POST", "/bridge/v1/executions/"+offer+"/claim", workflow.ClaimRequest{ClaimID: uuid.NewString()})
	}
	_, err := s.Pool.Exec(t.Context(), `UPDATE signers SET seen_at = clock_timestamp() - interval '31 seconds'`)
	require.NoError(t, err)
	for _, a := range []apitest.Answer{
		apitest.Once(t, "POST", s.URL, "/v1/workflows", s.OwnerToken, request),
		apitest.Once(t, "POST", s.URL, "/bridge/v1/executions/"+offer+"/claim", s.NodeToken, workflow.ClaimRequest{ClaimID: uuid.NewString()}),
	} {
		apitest.Refused(t, http.StatusServiceUnavailable, contracts.CodeUnavailable, a)
		require.Equal(t, "1", a.Header.Get("Retry-After"))
		require.Contains(t, string(a.Body), "no worker can sign")
	}
	require.Equal(t, http.StatusServiceUnavailable, apitest.Once(t, "GET", s.URL, "/readyz", "", nil).Status)
	require.Equal(t, http.StatusOK, s.Operator("GET", "/v1/tasks/"+held.TaskID, nil).Status)
	sound(t, s)

	// A worker that starts says so at once.
	s.Workers[0].Start()
	require.Eventually(t, func() bool { return claim().Status == http.StatusOK }, time.Minute, 50*time.Millisecond)
	require.Equal(t, http.StatusConflict, s.Operator("POST", "/v1/workflows", request).Status, "only now is the node asked, and busy")
}

// A verdict for which nobody can sign is not lost and not half recorded: the call is unavailable, and
// the same call accepts once somebody can.
func TestAVerdictWaitsForItsSignature(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	d := s.DispatchTask()
	s.Work(candidate)
	h := s.Claim().Run()
	e := h.Completed(candidate)
	e.Verdict = h.Verdict()
	hide := func(to string) {
		_, err := s.Pool.Exec(t.Context(), `UPDATE keys SET not_after = `+to)
		require.NoError(t, err)
	}
	hide(`clock_timestamp()`)
	h.Sequence++
	e.Fence, e.Sequence = h.Fence(), h.Sequence
	apitest.Refused(t, http.StatusServiceUnavailable, contracts.CodeUnavailable, h.TryPost("events", e))
	require.Equal(t, workflow.PhaseVerifying, s.Detail(d.TaskID).Phase)
	hide(`NULL`)
	h.Sequence--
	require.Eventually(t, func() bool {
		a := h.Event(e)
		h.Sequence--
		return a.Status == http.StatusOK
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, workflow.PhaseAccepted, s.Detail(d.TaskID).Phase)
	sound(t, s)
}

// The API itself signs nothing and needs no key.
func TestTheAPIHasNoKey(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	_, base := d.serve(t, api.Options{Store: d.Open(t, store.Options{})})
	require.Equal(t, http.StatusOK, apitest.Call(t, "GET", base, "/v1/keys", "", nil).Status)
}
