// Receipts of artifacts: the candidate is content, and its lineage entry is named.

package receipt_test

import (
	"strings"
	"testing"

	"countersign/contracts/canonjson"
	"countersign/contracts/receipt"

	"github.com/stretchr/testify/require"
)

var (
	content   = "sha256:" + strings.Repeat("d1", 32)
	entryHash = "sha256:" + strings.Repeat("e2", 32)
)

// newArtifactScene is an acceptance of a report.
func newArtifactScene() *scene {
	s := newScene()
	s.entryHash = entryHash
	s.contract.Task.ArtifactSpec = []byte(`{"kind":"report","output_path":"r.md"}`)
	s.verdict.CandidateCommit, s.verdict.CandidateHash = "", content
	for i := range s.attempts {
		s.attempts[i].BaseCommit, s.attempts[i].ResultCommit, s.attempts[i].ArtifactHash = base, "", content
	}
	return s
}

func TestAcceptSignsArtifacts(t *testing.T) {
	t.Parallel()
	key := ed25519Key(t, "a")
	s := newArtifactScene()
	v, err := receipt.VerifyWith(s.sign(t, key), s.contractBytes(t), receipt.Trust{Pinned: []receipt.PublicKey{key.Public()}})
	require.NoError(t, err)
	require.Equal(t, receipt.Verified{
		ReceiptID: "r1", TaskID: "t1", WorkflowID: "w1", ContractDigest: canonjson.Digest(s.contractBytes(t)), CandidateHash: content,
		EntryHash: entryHash, VerdictDigest: v.VerdictDigest, AcceptedAt: noon, Signers: pin(key),
	}, v)
}

// TestNoReceiptForAMixedAcceptance: neither commits for artifacts nor artifacts for commits.
func TestNoReceiptForAMixedAcceptance(t *testing.T) {
	t.Parallel()
	key := ed25519Key(t, "a")
	for name, spoil := range map[string]func(*scene){
		"no entry":                 func(s *scene) { s.entryHash = "" },
		"entry is no hash":         func(s *scene) { s.entryHash = "sha256:x" },
		"task ends in a commit":    func(s *scene) { s.contract.Task.ArtifactSpec = nil },
		"code task":                func(s *scene) { s.contract.Task.ArtifactSpec = []byte(`{"kind":"code_diff"}`) },
		"worker handed in another": func(s *scene) { s.attempts[0].ArtifactHash = entryHash },
		"verifier judged another":  func(s *scene) { s.attempts[1].ArtifactHash = entryHash },
		"worker had a commit":      func(s *scene) { s.attempts[0].ResultCommit = candidate },
		"both in the verdict":      func(s *scene) { s.verdict.CandidateCommit = candidate },
		"commit for an artifact": func(s *scene) {
			spec := s.contract.Task.ArtifactSpec
			*s = *newScene()
			s.contract.Task.ArtifactSpec = spec
		},
		"entry for a commit": func(s *scene) { *s = *newScene(); s.entryHash = entryHash },
	} {
		s := newArtifactScene()
		spoil(s)
		_, err := key.Accept(s.acceptance(t))
		require.Error(t, err, name)
		requireCode(t, receipt.CodeUnproven, err)
	}
}
