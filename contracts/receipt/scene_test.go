// An acceptance to test with, and keys.

package receipt_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/receipt"
	"countersign/contracts/workflow"

	"github.com/stretchr/testify/require"
)

var (
	base      = strings.Repeat("a1", 20)
	candidate = strings.Repeat("c0", 20)
	noon      = time.Date(2026, 3, 4, 12, 0, 0, 123456000, time.UTC)
)

// scene is an acceptance in order, to be signed as it is or after something was changed.
type scene struct {
	contract  workflow.Contract
	verdict   workflow.Verdict
	attempts  []receipt.Attempt
	entryHash string // of an artifact
	settled   []workflow.DispatchRecord
}

func newScene() *scene {
	profile := func(id string) workflow.Profile {
		return workflow.Profile{ProfileID: id, Version: workflow.StringVersion("1"), Runtime: workflow.RuntimeSynthetic, Instructions: "Do it."}
	}
	s := &scene{contract: workflow.Contract{
		V: 1, ProjectID: "p1", Task: workflow.ContractTask{ID: "t1", Goal: "A goal.", Version: 1, Repository: "r"}, Revision: 1, BridgeID: "n1",
		BaseCommit: base, Profile: profile("worker"), Verifier: profile("verifier"),
		Criteria: []workflow.Criterion{{ID: "builds", Description: "d", Method: "m"}, {ID: "tests", Description: "d", Method: "m"}},
	}}
	s.attempts = []receipt.Attempt{
		{ExecutionID: "e1", Purpose: workflow.PurposeWork, Number: 1, NodeID: "n1", SessionID: "s1", ProviderSessionID: "ps1", FencingToken: 1,
			BaseCommit: base, ResultCommit: candidate, EvidencePath: "e/run.json", Outcome: workflow.OutcomeResult, ClaimedAt: noon.Add(-time.Hour), EndedAt: noon.Add(-time.Minute)},
		{ExecutionID: "e2", Purpose: workflow.PurposeVerify, Number: 1, NodeID: "n1", SessionID: "s2", ProviderSessionID: "ps2", FencingToken: 2,
			BaseCommit: candidate, ResultCommit: candidate, EvidencePath: "e/run.json", Outcome: workflow.OutcomeVerdictPass, ClaimedAt: noon.Add(-time.Second), EndedAt: noon},
	}
	s.verdict = workflow.Verdict{CandidateCommit: candidate, WorkerExecutionID: "e1", VerifierExecutionID: "e2"}
	for _, c := range s.contract.Criteria {
		s.verdict.Results = append(s.verdict.Results, workflow.VerdictResult{CriterionID: c.ID, Outcome: workflow.CriterionPass, EvidencePath: "e/" + c.ID, Feedback: "Seen."})
	}
	return s
}

func (s *scene) contractBytes(t testing.TB) []byte {
	t.Helper()
	data, err := s.contract.Bytes()
	require.NoError(t, err)
	return data
}

// acceptance fills in the contract's digest where the verdict names none.
func (s *scene) acceptance(t testing.TB) receipt.Acceptance {
	t.Helper()
	contract := s.contractBytes(t)
	v := s.verdict
	if v.ContractDigest == "" {
		v.ContractDigest = canonjson.Digest(contract)
	}
	verdict, err := canonjson.Marshal(v)
	require.NoError(t, err)
	return receipt.Acceptance{
		ReceiptID: "r1", AcceptedAt: noon, Server: receipt.Server{InstanceID: "i1", Resource: "https://countersign.test"}, WorkflowID: "w1",
		Contract: contract, Verdict: verdict, Attempts: s.attempts, EntryHash: s.entryHash, Settled: s.settled,
	}
}

// sign signs the scene's acceptance.
func (s *scene) sign(t testing.TB, k *receipt.Key) []byte {
	t.Helper()
	envelope, err := k.Accept(s.acceptance(t))
	require.NoError(t, err)
	return envelope
}

// privatePEM is a key made from a name, in a file's form.
func privatePEM(t testing.TB, secret any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(secret)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func ed25519Key(t testing.TB, name string) *receipt.Key {
	t.Helper()
	seed := sha256.Sum256([]byte(name))
	key, err := receipt.ParseKey(privatePEM(t, ed25519.NewKeyFromSeed(seed[:])))
	require.NoError(t, err)
	return key
}

func p256Key(t testing.TB) *receipt.Key {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	key, err := receipt.ParseKey(privatePEM(t, secret))
	require.NoError(t, err)
	return key
}

// keySet is the keys one after the other, an hour apart from a day before noon on, each but the first
// vouched for.
func keySet(t testing.TB, keys ...*receipt.Key) receipt.KeySet {
	t.Helper()
	at := noon.Add(-24 * time.Hour)
	set := receipt.KeySet{Keys: []receipt.KeyRecord{keys[0].Begin(at)}}
	for i := 1; i < len(keys); i++ {
		at = at.Add(time.Hour)
		set.Keys[i-1].NotAfter = new(at)
		r, err := keys[i].Succeed(keys[i-1], at)
		require.NoError(t, err)
		set.Keys = append(set.Keys, r)
	}
	return set
}

func pin(k *receipt.Key) []string { return []string{k.Public().SHA256} }

// requireCode asserts how a verification failed; "" asserts that it did not.
func requireCode(t testing.TB, code contracts.Code, err error) {
	t.Helper()
	if code == "" {
		require.NoError(t, err)
		return
	}
	require.Error(t, err)
	require.Equal(t, code, contracts.CodeOf(err), "%v", err)
}
