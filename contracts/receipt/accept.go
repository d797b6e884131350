// The one way to a signed receipt.

package receipt

import (
	"strings"
	"time"

	"countersign/contracts/canonjson"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	intoto "github.com/in-toto/attestation/go/v1"
)

// Acceptance is what an accepting transaction knows. Everything else of the statement follows from the
// bytes of contract and verdict.
type Acceptance struct {
	ReceiptID  string
	AcceptedAt time.Time
	Server     Server
	WorkflowID string
	// Contract and Verdict are RFC 8785 bytes.
	Contract []byte
	Verdict  []byte
	// EntryHash is the lineage entry that records an accepted artifact, "" for a commit.
	EntryHash string
	// Attempts are all of the revision, oldest first, the accepted ones included.
	Attempts []Attempt
	// Settled are the attempts' settled dispatches, when the contract has a worker_dispatch.
	Settled []workflow.DispatchRecord
}

// Accept signs for an acceptance and returns the envelope's bytes, which are to be kept as they are.
// It refuses with CodeUnproven to sign for anything but an acceptance in order: every criterion of the
// contract passed once, by an attempt of its own after the one that made the candidate.
func (k *Key) Accept(a Acceptance) ([]byte, error) {
	st, err := a.statement()
	if err != nil {
		return nil, err
	}
	payload, err := canonjson.Marshal(st)
	if err != nil {
		return nil, within("statement", err)
	}
	// What is checked is what a reader will read, not what was meant.
	read, err := parseStatement(payload)
	if err != nil {
		return nil, within("statement", err)
	}
	if err := read.check(); err != nil {
		return nil, err
	}
	if err := read.against(a.Contract); err != nil {
		return nil, err
	}
	return k.seal(payload)
}

func (a Acceptance) statement() (Statement, error) {
	var (
		c workflow.Contract
		v workflow.Verdict
	)
	if err := json.Unmarshal(a.Contract, &c); err != nil {
		return Statement{}, within("contract", err)
	}
	if err := json.Unmarshal(a.Verdict, &v); err != nil {
		return Statement{}, within("verdict", err)
	}
	digest := canonjson.Digest(a.Contract)
	p := Predicate{
		ReceiptID: a.ReceiptID, AcceptedAt: a.AcceptedAt.UTC(), Server: a.Server,
		ProjectID: c.ProjectID, TaskID: c.Task.ID, WorkflowID: a.WorkflowID, Revision: c.Revision,
		Attempts: a.Attempts, Verdict: a.Verdict,
		Policy:     Policy{URI: a.Server.Resource + "/v1/workflows/" + a.WorkflowID, Digest: map[string]string{digestSHA256: digest}},
		AssertedBy: assertedBy, EntryHash: a.EntryHash,
	}
	worker, verifier := p.attempt(v.WorkerExecutionID), p.attempt(v.VerifierExecutionID)
	if worker == nil || verifier == nil {
		return Statement{}, unproven("the verdict's attempts are not among the revision's")
	}
	candidate := map[string]string{digestGitCommit: v.CandidateCommit}
	if v.CandidateHash != "" {
		candidate = map[string]string{digestSHA256: strings.TrimPrefix(v.CandidateHash, hashPrefix)}
	}
	p.bind(a.Settled)
	p.ClaimBoundary = boundary(*verifier, *worker, c.Verifier.ProfileID)
	return Statement{
		Type: intoto.StatementTypeUri,
		Subject: []Subject{
			{SubjectContract, map[string]string{digestSHA256: digest}},
			{SubjectCandidate, candidate},
			{SubjectVerdict, map[string]string{digestSHA256: canonjson.Digest(a.Verdict)}},
		},
		PredicateType: PredicateType,
		Predicate:     p,
	}, nil
}
