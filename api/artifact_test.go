// Tasks that end in an artifact: handing it in, judging it, verifying exactly its bytes.

package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/api/apitest"
	"countersign/contracts"
	"countersign/contracts/artifact"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

// rows is a dataset as a worker may write it, canonicalRows what it is.
const (
	rows          = "{\"b\":2,\"a\":1.0}\r\n\n{\"a\":3}\n"
	canonicalRows = "{\"a\":1,\"b\":2}\n{\"a\":3}"
)

func contentHash(data string) string {
	sum := sha256.Sum256([]byte(data))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// producing makes a task with an artifact declaration and dispatches it.
func producing(t *testing.T, s *apitest.Stack, declared string) workflow.Detail {
	t.Helper()
	task := apitest.Into[workflow.Task](t, 201, s.Operator("POST", "/v1/tasks", workflow.CreateTask{
		WriteContext: s.WriteContext(), Title: "Produce", Goal: "Rows.", ArtifactSpec: jsontext.Value(declared),
	}))
	return s.DispatchSpec(s.Spec(task))
}

const dataset = `{"kind":"dataset","output_path":"out/rows.jsonl","criteria":[{"type":"criteria_match","value":"[{\"path\":\"0.a\",\"op\":\"eq\",\"value\":1}]"}]}`

func TestArtifactUpload(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	task := producing(t, s, dataset).TaskID
	h := s.Claim()
	apitest.Refused(t, 409, contracts.CodeStateConflict, h.Upload(rows)) // not running yet
	h.Run()

	// Nobody but the holder.
	for _, header := range []http.Header{{}, {"X-Lease-Id": {h.LeaseID}}, {"X-Lease-Id": {h.LeaseID}, "X-Fencing-Token": {"01"}}} {
		a := apitest.CallWith(t, "PUT", s.URL, "/bridge/v1/executions/"+h.ExecutionID+"/artifact", s.NodeToken, header, strings.NewReader(rows))
		apitest.Refused(t, 422, contracts.CodeInvalid, a)
	}
	// Bytes that are said to be encoded are not taken for what they are.
	encoded := h.FenceHeader()
	encoded.Set("Content-Encoding", "gzip")
	for method, route := range map[string]string{"PUT": "artifact", "POST": "attachments"} {
		apitest.Refused(t, 415, contracts.CodeUnsupportedMedia,
			apitest.CallWith(t, method, s.URL, "/bridge/v1/executions/"+h.ExecutionID+"/"+route, s.NodeToken, encoded, strings.NewReader(rows)))
	}
	other := *h
	other.FencingToken++
	apitest.Refused(t, 409, contracts.CodeFenced, other.Upload(rows))
	_, strange := s.AddNode(t)
	apitest.Refused(t, 404, contracts.CodeNotFound,
		apitest.CallWith(t, "PUT", s.URL, "/bridge/v1/executions/"+h.ExecutionID+"/artifact", strange, h.FenceHeader(), strings.NewReader(rows)))
	apitest.Refused(t, 404, contracts.CodeNotFound, h.Candidate())

	// A rejection is said with its line, and counts as the last upload.
	bad := h.Upload("{\"a\":1}\n{\"a\":1,\"a\":2}\n")
	apitest.Refused(t, 422, artifact.CodeRejected, bad)
	require.Contains(t, string(bad.Body), "line 2")
	view := s.Detail(task).ActiveAttempt.Artifact
	require.NotNil(t, view)
	require.Contains(t, view.Rejection, "line 2")
	require.Empty(t, view.ContentHash)

	// The last one counts, whatever came before.
	up := apitest.Into[workflow.Upload](t, 200, h.Upload("{\"a\":9}"))
	require.False(t, up.Passed())
	up = apitest.Into[workflow.Upload](t, 200, h.Upload(rows))
	require.Equal(t, contentHash(canonicalRows), up.ContentHash)
	require.Equal(t, int64(len(canonicalRows)), up.Bytes)
	require.True(t, up.Passed())
	require.Len(t, up.Criteria, 1)
	require.Equal(t, up, *s.Detail(task).ActiveAttempt.Artifact)

	// The proofs of a commit are none here, and the hash must be the server's.
	e := h.Completed(strings.Repeat("ab", 20))
	apitest.Refused(t, 422, contracts.CodeInvalid, h.Event(e))
	h.Sequence--
	apitest.Refused(t, 422, contracts.CodeInvalid, h.Event(h.Produced(contentHash("else"))))
	h.Sequence--
	answer := apitest.Into[workflow.EventAnswer](t, 200, h.Event(h.Produced(up.ContentHash)))
	require.Equal(t, workflow.PhaseAwaitingVerification, answer.WorkflowPhase)
	apitest.Refused(t, 409, contracts.CodeExecutionTerminal, h.Upload(rows))

	d := s.Detail(task)
	require.Nil(t, d.CandidateCommit)
	require.Equal(t, up.ContentHash, *d.CandidateHash)

	// The verifier gets exactly those bytes.
	v := s.Claim()
	require.Equal(t, up.ContentHash, *v.Plan.Workflow.CandidateHash)
	require.Nil(t, v.Plan.Workflow.CandidateCommit)
	v.Run()
	got := v.Candidate()
	require.Equal(t, 200, got.Status)
	require.Equal(t, canonicalRows, string(got.Body))
	apitest.Refused(t, 409, contracts.CodeStateConflict, v.Upload(rows)) // a verifier hands in nothing
	wrong := v.Produced(up.ContentHash)
	wrong.Verdict = v.Verdict()
	wrong.Verdict.CandidateHash, wrong.Verdict.CandidateCommit = "", strings.Repeat("ab", 20)
	answer = apitest.Into[workflow.EventAnswer](t, 200, v.Event(wrong))
	require.Equal(t, workflow.ReasonVerdictInvalid, answer.Reason)
}

// TestArtifactNotProduced: what is missing, has no canonical form or fails a criterion blocks for what
// it is, with what was found.
func TestArtifactNotProduced(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	for name, c := range map[string]struct {
		upload string
		reason workflow.Reason
		said   string
	}{
		"missing":  {"", workflow.ReasonArtifactMissing, "wrote no output at out/rows.jsonl"},
		"rejected": {"[1]", workflow.ReasonArtifactRejected, "line 1"},
		"failing":  {"{\"a\":2}", workflow.ReasonArtifactRejected, "criteria_match"},
	} {
		d := producing(t, s, dataset)
		h := s.Claim().Run()
		if c.upload != "" {
			h.Upload(c.upload)
		}
		answer := apitest.Into[workflow.EventAnswer](t, 200, h.Event(h.Produced(contentHash(c.upload))))
		require.Equal(t, c.reason, answer.Reason, name)
		require.Equal(t, workflow.PhaseBlocked, answer.WorkflowPhase, name)
		d = s.Detail(d.TaskID)
		require.Nil(t, d.CandidateHash, name)
		require.Contains(t, string(d.History[len(d.History)-2].Data), c.said, name)
		require.Empty(t, apitest.Into[workflow.OfferList](t, 200, s.Bridge("GET", "/bridge/v1/executions", nil)).Executions, name)
	}
}

// TestArtifactCorrection: a correction starts from the rejected bytes.
func TestArtifactCorrection(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	producing(t, s, dataset)
	h := s.Claim().Run()
	hash := apitest.Into[workflow.Upload](t, 200, h.Upload(rows)).ContentHash
	apitest.Into[workflow.EventAnswer](t, 200, h.Event(h.Produced(hash)))
	v := s.Claim().Run()
	e := v.Produced(hash)
	e.Verdict = v.Verdict("tests")
	answer := apitest.Into[workflow.EventAnswer](t, 200, v.Event(e))
	require.Equal(t, workflow.PhaseOffered, answer.WorkflowPhase)
	again := s.Claim()
	require.Equal(t, hash, *again.Plan.Workflow.CandidateHash)
	require.Equal(t, canonicalRows, string(again.Candidate().Body))
	require.Equal(t, 2, len(again.Plan.Workflow.Feedback))
}

// TestArtifactLimits: what is too large is refused and leaves nothing; what is cut is no upload.
func TestArtifactLimits(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	d := producing(t, s, `{"kind":"report","output_path":"r.md"}`)
	h := s.Claim().Run()
	const limit = 64 << 20
	apitest.Refused(t, 413, contracts.CodeTooLarge, h.Upload(strings.Repeat("x", limit+1)))
	require.Nil(t, s.Detail(d.TaskID).ActiveAttempt.Artifact)
	up := apitest.Into[workflow.Upload](t, 200, h.Upload(strings.Repeat("x", limit)))
	require.Equal(t, int64(limit), up.Bytes)
	apitest.Into[workflow.EventAnswer](t, 200, h.Event(h.Produced(up.ContentHash)))
	got := s.Claim().Candidate()
	require.Equal(t, 200, got.Status)
	require.Equal(t, up.ContentHash, contentHash(string(got.Body)))
}

// TestUploadsRaceTheEnd: whatever comes first, a candidate is what was uploaded last before the end, and
// nothing is taken after it.
func TestUploadsRaceTheEnd(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{APIs: 2})
	d := producing(t, s, `{"kind":"report","output_path":"r.md"}`)
	for range rounds(t, 5) {
		h := s.Claim().Run()
		hash := apitest.Into[workflow.Upload](t, 200, h.Upload("one")).ContentHash
		var race sync.WaitGroup
		answers := make([]apitest.Answer, 4)
		for i, text := range []string{"one", "two", "three"} {
			race.Go(func() {
				answers[i] = apitest.CallWith(t, "PUT", s.URLs[i%2], "/bridge/v1/executions/"+h.ExecutionID+"/artifact", s.NodeToken, h.FenceHeader(), strings.NewReader(text))
			})
		}
		race.Go(func() { answers[3] = h.Event(h.Produced(hash)) })
		race.Wait()
		for _, a := range answers[:3] {
			require.Contains(t, []int{200, 409}, a.Status, "%s", a.Body)
		}
		d = s.Detail(d.TaskID)
		if answers[3].Status == 200 {
			require.Equal(t, hash, *d.CandidateHash)
			require.Equal(t, hash, d.Attempts[len(d.Attempts)-2].Artifact.ContentHash)
		} else {
			apitest.Refused(t, 422, contracts.CodeInvalid, answers[3])
			require.Equal(t, workflow.PhaseRunning, d.Phase)
		}
		sound(t, s)
		require.Equal(t, 200, s.Control(d.TaskID, workflow.ControlCancel).Status)
		apitest.Refused(t, 409, contracts.CodeExecutionTerminal, h.Upload("one"))
		task := apitest.Into[workflow.Task](t, 200, s.Operator("GET", "/v1/tasks/"+d.TaskID, nil))
		s.DispatchSpec(s.Spec(task))
	}
}

// TestUploadsUnderALostLease: an upload that comes too late is refused for it and settles the attempt; a
// cut one, and one of a revoked node, leave nothing.
func TestUploadsUnderALostLease(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Lease: 2 * time.Second, NoSweeper: true})
	d := producing(t, s, `{"kind":"report","output_path":"r.md"}`)
	h := s.Claim().Run()

	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	require.NoError(t, err)
	_, err = fmt.Fprintf(conn, "PUT /bridge/v1/executions/%s/artifact HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nX-Lease-Id: %s\r\nX-Fencing-Token: %d\r\nContent-Length: 1000\r\n\r\nhalf",
		h.ExecutionID, s.NodeToken, h.LeaseID, h.FencingToken)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.Nil(t, s.Detail(d.TaskID).ActiveAttempt.Artifact)

	eventually(t, "the lease is over", func() bool {
		detail := s.Detail(d.TaskID)
		return detail.ActiveAttempt == nil || detail.ActiveAttempt.LeaseExpired
	})
	require.Contains(t, []contracts.Code{contracts.CodeLeaseExpired, contracts.CodeExecutionTerminal}, h.Upload("late").Code())
	d = s.Detail(d.TaskID)
	require.Equal(t, workflow.ReasonLeaseExpired, *d.Reason)
	require.Nil(t, d.Attempts[0].Artifact)
	var blobs int
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM blobs`).Scan(&blobs))
	require.Zero(t, blobs)

	producing(t, s, `{"kind":"report","output_path":"r.md"}`)
	h = s.Claim().Run()
	require.Equal(t, 200, s.Operator("PATCH", "/v1/nodes/"+s.Node.ID, workflow.PatchNode{Status: ptr(workflow.NodeRevoked), WriteContext: ptr(s.WriteContext())}).Status)
	require.Contains(t, []contracts.Code{contracts.CodeUnauthenticated, contracts.CodeNodeRevoked}, h.Upload("x").Code())
	sound(t, s)
}
