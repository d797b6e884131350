// The in-toto statement of an acceptance.

package receipt

import (
	"fmt"
	"time"

	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// Names of the subjects.
const (
	SubjectContract  = "contract"
	SubjectCandidate = "candidate"
	SubjectVerdict   = "verdict"
)

// Names of digests.
const (
	digestSHA256    = "sha256"
	digestGitCommit = "gitCommit"

	hashPrefix = digestSHA256 + ":"
)

// Statement is an in-toto Statement v1 about one acceptance. Its subjects are the frozen contract, the
// candidate and the verdict, each by digest.
type Statement struct {
	Type          string    `json:"_type"`
	Subject       []Subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     Predicate `json:"predicate"`
}

// Subject is one thing the statement is about: its name, and algorithm → lowercase hex.
type Subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// Predicate says what was accepted, on whose word. A fact that not every acceptance has is absent when
// it has not; readers pass over members they do not know.
type Predicate struct {
	ReceiptID string `json:"receipt_id"`
	// AcceptedAt is the database's clock in the accepting transaction.
	AcceptedAt time.Time `json:"accepted_at"`
	Server     Server    `json:"server"`
	ProjectID  string    `json:"project_id"`
	TaskID     string    `json:"task_id"`
	WorkflowID string    `json:"workflow_id"`
	Revision   int       `json:"revision"`
	// Attempts are all attempts of the revision, oldest first.
	Attempts []Attempt `json:"attempts"`
	// Verdict is the whole verdict as its verifier handed it in.
	Verdict jsontext.Value `json:"verdict"`
	// EntryHash is the signed lineage entry that records an accepted artifact (see package lineage),
	// "sha256:" and 64 lowercase hex; absent for a commit.
	EntryHash string `json:"entry_hash,omitzero"`
	// WorkerDispatch are the settled dispatches of the revision's attempts, oldest first, when the
	// contract binds them by the worker dispatch capability contract.
	WorkerDispatch []workflow.DispatchRecord `json:"worker_dispatch,omitzero"`
	// Policy is the contract that was judged against.
	Policy Policy `json:"policy"`
	// AssertedBy names for each fact whose word it is: worker, verifier or server.
	AssertedBy    map[string]string `json:"asserted_by"`
	ClaimBoundary ClaimBoundary     `json:"claim_boundary"`
}

// Server is the instance that accepted.
type Server struct {
	InstanceID string `json:"instance_id"`
	Resource   string `json:"resource"`
}

// Policy is where the contract can be read, and its digest (algorithm → lowercase hex).
type Policy struct {
	URI    string            `json:"uri"`
	Digest map[string]string `json:"digest"`
}

// Attempt is one execution of the revision. Times are by the database's clock.
type Attempt struct {
	ExecutionID       string           `json:"execution_id"`
	Purpose           workflow.Purpose `json:"purpose"`
	Number            int              `json:"number"`
	NodeID            string           `json:"node_id"`
	SessionID         string           `json:"session_id"`
	ProviderSessionID string           `json:"provider_session_id,omitzero"`
	FencingToken      int64            `json:"fencing_token"`
	BaseCommit        string           `json:"base_commit"`
	ResultCommit      string           `json:"result_commit,omitzero"`
	ArtifactHash      string           `json:"artifact_hash,omitzero"`
	EvidencePath      string           `json:"evidence_path,omitzero"`
	Outcome           workflow.Outcome `json:"outcome"`
	ClaimedAt         time.Time        `json:"claimed_at"`
	EndedAt           time.Time        `json:"ended_at"`
}

// ClaimBoundary is how far the receipt's word goes.
type ClaimBoundary struct {
	JudgedBy         JudgedBy `json:"judged_by"`
	ServerChecked    []string `json:"server_checked"`
	ServerDidNot     []string `json:"server_did_not"`
	AcceptanceIsNot  []string `json:"acceptance_is_not"`
	SameNode         bool     `json:"same_node"`
	SessionsReported string   `json:"sessions"`
}

// JudgedBy is who judged: the verifier's attempt, session, node and frozen profile.
type JudgedBy struct {
	ExecutionID string `json:"execution_id"`
	SessionID   string `json:"session_id"`
	NodeID      string `json:"node_id"`
	ProfileID   string `json:"profile_id"`
}

// Words of ClaimBoundary.SessionsReported.
const (
	sessionsOfOneNode = "separate sessions as reported by that node"
	sessionsOfNodes   = "separate sessions on separate nodes, as reported by each"
)

// assertedBy says of each fact whose word it is. The server's are those it made or checked itself.
var assertedBy = map[string]string{
	"contract": "server", "policy": "server", "accepted_at": "server", "attempts.execution_id": "server",
	"attempts.session_id": "server", "attempts.fencing_token": "server", "attempts.claimed_at": "server",
	"attempts.ended_at": "server", "attempts.provider_session_id": "worker", "candidate": "worker",
	"attempts.evidence_path": "worker", "verdict": "verifier",
}

// boundary is the claim boundary of an acceptance by one verifier.
func boundary(verifier, worker Attempt, profileID string) ClaimBoundary {
	same := verifier.NodeID == worker.NodeID
	sessions := sessionsOfNodes
	if same {
		sessions = sessionsOfOneNode
	}
	return ClaimBoundary{
		JudgedBy:         JudgedBy{verifier.ExecutionID, verifier.SessionID, verifier.NodeID, profileID},
		ServerChecked:    []string{"identities", "order", "references", "completeness"},
		ServerDidNot:     []string{"run the tests", "read the evidence"},
		AcceptanceIsNot:  []string{"merge", "deployment"},
		SameNode:         same,
		SessionsReported: sessions,
	}
}

// parseStatement reads a payload by in-toto's rules and by ours.
func parseStatement(payload []byte) (Statement, error) {
	var st Statement
	if f := canonjson.Scan(payload); f != nil {
		return st, fmt.Errorf("statement: %w", f)
	}
	var read intoto.Statement
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(payload, &read); err != nil {
		return st, fmt.Errorf("statement: %w", err)
	}
	if err := read.Validate(); err != nil {
		return st, fmt.Errorf("statement: %w", err)
	}
	if err := json.Unmarshal(payload, &st); err != nil {
		return st, fmt.Errorf("statement: %w", err)
	}
	return st, nil
}

// digestOf is the one digest that a subject has, "" when it is not there exactly so.
func (st *Statement) digestOf(name, algorithm string) string {
	for _, s := range st.Subject {
		if s.Name == name && len(s.Digest) == 1 {
			return s.Digest[algorithm]
		}
	}
	return ""
}

// ContractDigest is the lowercase hex SHA-256 of the contract's bytes.
func (st *Statement) ContractDigest() string { return st.digestOf(SubjectContract, digestSHA256) }

// CandidateHash is the content hash of the accepted artifact, "sha256:" and 64 lowercase hex; "" for a
// commit.
func (st *Statement) CandidateHash() string {
	if digest := st.digestOf(SubjectCandidate, digestSHA256); digest != "" {
		return hashPrefix + digest
	}
	return ""
}

// CandidateCommit is the accepted commit, 40 lowercase hex; "" for an artifact.
func (st *Statement) CandidateCommit() string {
	return st.digestOf(SubjectCandidate, digestGitCommit)
}

// VerdictDigest is the lowercase hex SHA-256 of the verdict's RFC 8785 bytes.
func (st *Statement) VerdictDigest() string { return st.digestOf(SubjectVerdict, digestSHA256) }

// VerdictBytes are the verdict's RFC 8785 bytes.
func (st *Statement) VerdictBytes() ([]byte, error) { return canonjson.Canonical(st.Predicate.Verdict) }

// verdict is the verdict of the predicate, its digest held to the subject's.
func (st *Statement) verdict() (v workflow.Verdict, err *contracts.Error) {
	data, problem := st.VerdictBytes()
	if problem != nil {
		return v, within("verdict", problem)
	}
	if canonjson.Digest(data) != st.VerdictDigest() {
		return v, unproven("the verdict is not the one among the subjects")
	}
	if problem := json.Unmarshal(data, &v); problem != nil {
		return v, within("verdict", problem)
	}
	return v, nil
}
