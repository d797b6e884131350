// What must hold of an acceptance, before it is signed and whenever it is checked.

package receipt

import (
	"regexp"
	"slices"

	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	intoto "github.com/in-toto/attestation/go/v1"
)

// check holds a statement to itself: its subjects, its verdict and its attempts tell one story, and
// the story is an acceptance.
func (st *Statement) check() *contracts.Error {
	p := &st.Predicate
	switch {
	case st.Type != intoto.StatementTypeUri:
		return unproven("the statement's type is %q", st.Type)
	case st.PredicateType != PredicateType:
		return unproven("the predicate's type is %q, not an acceptance's", st.PredicateType)
	case len(st.Subject) != 3 || st.ContractDigest() == "" || st.CandidateCommit()+st.CandidateHash() == "" || st.VerdictDigest() == "":
		return unproven("the subjects are not contract, candidate and verdict")
	case p.Policy.Digest[digestSHA256] != st.ContractDigest():
		return unproven("the policy is not the contract among the subjects")
	case p.ReceiptID == "" || p.TaskID == "" || p.WorkflowID == "" || p.AcceptedAt.IsZero():
		return unproven("the receipt, its task, its workflow or its time is not named")
	}
	v, err := st.verdict()
	if err != nil {
		return err
	}
	if v.ContractDigest != st.ContractDigest() || v.CandidateCommit != st.CandidateCommit() || v.CandidateHash != st.CandidateHash() {
		return unproven("the verdict is about another contract or candidate")
	}
	if err := passes(v); err != nil {
		return err
	}
	if (st.CandidateHash() != "") != entryHash.MatchString(p.EntryHash) || st.CandidateHash() == "" && p.EntryHash != "" {
		return unproven("a lineage entry is named exactly when the candidate is an artifact")
	}
	if err := st.checkAttempts(v); err != nil {
		return err
	}
	return st.checkDispatch(v)
}

// entryHash is the form of a lineage entry's hash.
var entryHash = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// passes holds a verdict to passing each criterion it names, each once and with something to show.
func passes(v workflow.Verdict) *contracts.Error {
	if len(v.Results) == 0 {
		return unproven("the verdict judges nothing")
	}
	seen := map[string]bool{}
	for _, r := range v.Results {
		switch {
		case seen[r.CriterionID]:
			return unproven("criterion %q is judged twice", r.CriterionID)
		case r.Outcome != workflow.CriterionPass:
			return unproven("criterion %q did not pass", r.CriterionID)
		case !workflow.RelativePath(r.EvidencePath) || workflow.Blank(r.Feedback):
			return unproven("criterion %q has no evidence or feedback", r.CriterionID)
		}
		seen[r.CriterionID] = true
	}
	return nil
}

// checkAttempts finds worker and verifier among the attempts and holds them to candidate and verdict.
func (st *Statement) checkAttempts(v workflow.Verdict) *contracts.Error {
	p := &st.Predicate
	worker, verifier := p.attempt(v.WorkerExecutionID), p.attempt(v.VerifierExecutionID)
	switch {
	case worker == nil || worker.Purpose != workflow.PurposeWork || worker.Outcome != workflow.OutcomeResult:
		return unproven("the attempt that made the candidate is not there")
	case worker.ResultCommit != st.CandidateCommit() || worker.ArtifactHash != st.CandidateHash():
		return unproven("the worker handed in something else than the candidate")
	case verifier == nil || verifier.Purpose != workflow.PurposeVerify || verifier.Outcome != workflow.OutcomeVerdictPass:
		return unproven("the attempt that passed the candidate is not there")
	case st.CandidateCommit() != "" && verifier.BaseCommit != st.CandidateCommit():
		return unproven("the verifier started from another commit than the candidate")
	case verifier.ArtifactHash != st.CandidateHash():
		return unproven("the verifier judged another artifact than the candidate")
	case verifier != &p.Attempts[len(p.Attempts)-1]:
		return unproven("the verification is not the last attempt")
	}
	if err := p.separate(); err != nil {
		return err
	}
	claimed := boundary(*verifier, *worker, p.ClaimBoundary.JudgedBy.ProfileID)
	if claimed.JudgedBy != p.ClaimBoundary.JudgedBy || claimed.SameNode != p.ClaimBoundary.SameNode {
		return unproven("the claim boundary names another judge than the verdict")
	}
	return nil
}

// separate holds the attempts to being each its own, one after the other. Fencing tokens tell the order,
// for they grow with every claim, whatever a clock does.
func (p *Predicate) separate() *contracts.Error {
	ids, sessions, fence := map[string]bool{}, map[string]bool{}, int64(0)
	for _, a := range p.Attempts {
		switch {
		case a.ExecutionID == "" || ids[a.ExecutionID]:
			return unproven("two attempts have one execution id")
		case a.FencingToken <= fence:
			return unproven("the attempts are not in the order of their fencing tokens")
		case a.SessionID == "" || sessions[a.SessionID] || sessions[a.ProviderSessionID]:
			return unproven("an attempt has no session of its own")
		case a.ClaimedAt.IsZero() || a.EndedAt.IsZero():
			return unproven("attempt %s has no beginning or no end", a.ExecutionID)
		}
		ids[a.ExecutionID], sessions[a.SessionID], fence = true, true, a.FencingToken
		if a.ProviderSessionID != "" {
			sessions[a.ProviderSessionID] = true
		}
	}
	return nil
}

func (p *Predicate) attempt(executionID string) *Attempt {
	for i := range p.Attempts {
		if p.Attempts[i].ExecutionID == executionID {
			return &p.Attempts[i]
		}
	}
	return nil
}

// against holds a statement to the bytes of the contract: the digest, whose task it was, and that the
// verdict judged exactly its criteria under another profile than the worker's.
func (st *Statement) against(contract []byte) *contracts.Error {
	if canonjson.Digest(contract) != st.ContractDigest() {
		return unproven("the contract does not have the digest among the subjects")
	}
	var c workflow.Contract
	if err := json.Unmarshal(contract, &c); err != nil {
		return within("contract", err)
	}
	v, err := st.verdict()
	if err != nil {
		return err
	}
	p := &st.Predicate
	declared, problem := c.Task.Declaration()
	if problem != nil {
		return within("contract", problem)
	}
	var frozen, judged []string
	for _, criterion := range c.Criteria {
		frozen = append(frozen, criterion.ID)
	}
	for _, r := range v.Results {
		judged = append(judged, r.CriterionID)
	}
	slices.Sort(frozen)
	slices.Sort(judged)
	switch {
	case !slices.Equal(frozen, judged):
		return unproven("the verdict does not judge every criterion of the contract, each once")
	case c.ProjectID != p.ProjectID || c.Task.ID != p.TaskID || c.Revision != p.Revision:
		return unproven("the contract is another task's")
	case workflow.ArtifactMode(string(declared.Kind)) != (st.CandidateHash() != ""):
		return unproven("the contract asks for another kind of result")
	case c.Verifier.ProfileID != p.ClaimBoundary.JudgedBy.ProfileID || c.Verifier.ProfileID == c.Profile.ProfileID:
		return unproven("the contract names another verifier, or the worker as its own")
	}
	return p.boundBy(c.WorkerDispatch)
}
