// Nothing but a valid all-pass acceptance is ever signed.

package receipt_test

import (
	"slices"
	"testing"
	"time"

	"countersign/contracts/canonjson"
	"countersign/contracts/receipt"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"github.com/stretchr/testify/require"
)

func TestAcceptSigns(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]*receipt.Key{"ed25519": ed25519Key(t, "a"), "p256": p256Key(t)} {
		s := newScene()
		envelope := s.sign(t, key)
		require.Equal(t, envelope, s.sign(t, key), "%s: signing the same again gives the same bytes", name)
		canonical, err := canonjson.Canonical(envelope)
		require.NoError(t, err)
		require.Equal(t, canonical, envelope)
		v, err := receipt.VerifyWith(envelope, s.contractBytes(t), receipt.Trust{Pinned: []receipt.PublicKey{key.Public()}})
		require.NoError(t, err)
		require.Equal(t, receipt.Verified{
			ReceiptID: "r1", TaskID: "t1", WorkflowID: "w1", ContractDigest: canonjson.Digest(s.contractBytes(t)), CandidateCommit: candidate,
			VerdictDigest: v.VerdictDigest, AcceptedAt: noon, Signers: pin(key),
		}, v)
	}
}

// The statement says what the page promises, in in-toto's words.
func TestTheStatement(t *testing.T) {
	t.Parallel()
	s := newScene()
	var e dsse.Envelope
	require.NoError(t, json.Unmarshal(s.sign(t, ed25519Key(t, "a")), &e))
	payload, err := e.DecodeB64Payload()
	require.NoError(t, err)
	canonical, err := canonjson.Canonical(payload)
	require.NoError(t, err)
	require.Equal(t, string(canonical), string(payload))
	var st receipt.Statement
	require.NoError(t, json.Unmarshal(payload, &st))
	require.Equal(t, "https://in-toto.io/Statement/v1", st.Type)
	require.Equal(t, receipt.PredicateType, st.PredicateType)
	require.Equal(t, candidate, st.CandidateCommit())
	require.Equal(t, st.ContractDigest(), st.Predicate.Policy.Digest["sha256"])
	require.Equal(t, "https://countersign.test/v1/workflows/w1", st.Predicate.Policy.URI)
	require.Equal(t, s.attempts, st.Predicate.Attempts)
	require.Equal(t, receipt.ClaimBoundary{
		JudgedBy:      receipt.JudgedBy{ExecutionID: "e2", SessionID: "s2", NodeID: "n1", ProfileID: "verifier"},
		ServerChecked: []string{"identities", "order", "references", "completeness"}, ServerDidNot: []string{"run the tests", "read the evidence"},
		AcceptanceIsNot: []string{"merge", "deployment"}, SameNode: true, SessionsReported: "separate sessions as reported by that node",
	}, st.Predicate.ClaimBoundary)
	require.Equal(t, "verifier", st.Predicate.AssertedBy["verdict"])
	require.Equal(t, "worker", st.Predicate.AssertedBy["candidate"])
	require.Equal(t, "server", st.Predicate.AssertedBy["contract"])

	s.attempts[1].NodeID = "n2"
	require.NoError(t, json.Unmarshal(s.sign(t, ed25519Key(t, "a")), &e))
	payload, err = e.DecodeB64Payload()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(payload, &st))
	require.False(t, st.Predicate.ClaimBoundary.SameNode)
}

func TestNothingElseIsSigned(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*scene){
		"a criterion failed":             func(s *scene) { s.verdict.Results[1].Outcome = workflow.CriterionFail },
		"a criterion is missing":         func(s *scene) { s.verdict.Results = s.verdict.Results[:1] },
		"a criterion is judged twice":    func(s *scene) { s.verdict.Results[1].CriterionID = "builds" },
		"another criterion is judged":    func(s *scene) { s.verdict.Results[1].CriterionID = "other" },
		"no criterion is judged":         func(s *scene) { s.verdict.Results, s.contract.Criteria = nil, nil },
		"an outcome is no word":          func(s *scene) { s.verdict.Results[0].Outcome = "PASS" },
		"no feedback":                    func(s *scene) { s.verdict.Results[0].Feedback = " " },
		"no evidence":                    func(s *scene) { s.verdict.Results[0].EvidencePath = "../x" },
		"another contract":               func(s *scene) { s.verdict.ContractDigest = canonjson.Digest([]byte("x")) },
		"another candidate":              func(s *scene) { s.verdict.CandidateCommit = base },
		"a candidate that is no commit":  func(s *scene) { s.verdict.CandidateCommit, s.attempts[0].ResultCommit = "x", "x" },
		"another worker":                 func(s *scene) { s.verdict.WorkerExecutionID = "e9" },
		"the worker as verifier":         func(s *scene) { s.verdict.VerifierExecutionID = "e1" },
		"another verifier":               func(s *scene) { s.verdict.VerifierExecutionID = "e9" },
		"the verifier failed":            func(s *scene) { s.attempts[1].Outcome = workflow.OutcomeVerdictFail },
		"the worker failed":              func(s *scene) { s.attempts[0].Outcome = workflow.OutcomeFailed },
		"the verifier looked elsewhere":  func(s *scene) { s.attempts[1].BaseCommit = base },
		"one session for both":           func(s *scene) { s.attempts[1].SessionID = "s1" },
		"one provider session for both":  func(s *scene) { s.attempts[1].ProviderSessionID = "ps1" },
		"no session":                     func(s *scene) { s.attempts[0].SessionID = "" },
		"one execution id":               func(s *scene) { s.attempts = append(s.attempts[:1:1], s.attempts[0], s.attempts[1]) },
		"the verification came first":    func(s *scene) { slices.Reverse(s.attempts) },
		"an older fencing token":         func(s *scene) { s.attempts[1].FencingToken = 1 },
		"an attempt without a beginning": func(s *scene) { s.attempts[0].ClaimedAt = time.Time{} },
		"no attempts":                    func(s *scene) { s.attempts = nil },
		"one profile for both":           func(s *scene) { s.contract.Verifier.ProfileID = "worker" },
		"something after the verdict": func(s *scene) {
			a := s.attempts[0]
			a.ExecutionID, a.FencingToken = "e3", 3
			s.attempts = append(s.attempts, a)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene()
			change(s)
			envelope, err := ed25519Key(t, "a").Accept(s.acceptance(t))
			requireCode(t, receipt.CodeUnproven, err)
			require.Nil(t, envelope)
		})
	}
	broken := newScene().acceptance(t)
	broken.Contract = []byte("{")
	_, err := ed25519Key(t, "a").Accept(broken)
	requireCode(t, receipt.CodeUnproven, err)
	broken = newScene().acceptance(t)
	broken.Verdict = []byte("[]")
	_, err = ed25519Key(t, "a").Accept(broken)
	requireCode(t, receipt.CodeUnproven, err)
	broken = newScene().acceptance(t)
	broken.ReceiptID = ""
	_, err = ed25519Key(t, "a").Accept(broken)
	requireCode(t, receipt.CodeUnproven, err)
}
