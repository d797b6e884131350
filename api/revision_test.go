// A revision over HTTP, on the real parts.

package api_test

import (
	"net/http"
	"strings"
	"testing"

	"countersign/api/apitest"
	"countersign/contracts/receipt"
	"countersign/contracts/workflow"

	"github.com/stretchr/testify/require"
)

var candidate = strings.Repeat("c0", 20)

func TestFromDispatchToReceipt(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	d := s.DispatchTask()
	require.Equal(t, workflow.PhaseOffered, d.Phase)
	a := s.Work(candidate)
	require.Equal(t, workflow.PhaseAwaitingVerification, a.WorkflowPhase)
	a = s.Verify()
	require.Equal(t, workflow.PhaseAccepted, a.WorkflowPhase)
	r := apitest.Into[workflow.Receipt](t, http.StatusOK, s.Operator("GET", "/v1/tasks/"+d.TaskID+"/receipt", nil))
	require.Equal(t, candidate, *r.CandidateCommit)
	keys := apitest.Into[receipt.KeySet](t, http.StatusOK, apitest.Call(t, "GET", s.URL, "/v1/keys", "", nil))
	v, err := receipt.VerifyWith(r.Envelope, s.Detail(d.TaskID).Contract, receipt.Trust{Keys: keys, Pins: []string{keys.Keys[0].SHA256}})
	require.NoError(t, err)
	require.Equal(t, r.ReceiptID, v.ReceiptID)
	require.Equal(t, r.AcceptedAt, v.AcceptedAt)
}
