// What a history entry says beyond its kind, in a few words.

package follow

import (
	"strings"

	"countersign/cmd/countersign/internal/term"
	"countersign/contracts/artifact"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
)

// noted are the fields of entries that a person wants to see; ids, leases and evidence paths are in
// the JSON output.
type noted struct {
	Reason string `json:"reason"`
	// Path is where a payload violates its contract, Said in what.
	Path            string   `json:"path"`
	Said            string   `json:"said"`
	Outcome         string   `json:"outcome"`
	FailedCriteria  []string `json:"failed_criteria"`
	ResultCommit    string   `json:"result_commit"`
	CandidateCommit string   `json:"candidate_commit"`
	ArtifactHash    string   `json:"artifact_hash"`
	CandidateHash   string   `json:"candidate_hash"`
	// Criteria are what a rejected artifact was found to be.
	Criteria    []artifact.Result `json:"criteria"`
	Warning     string            `json:"warning"`
	ReceiptID   string            `json:"receipt_id"`
	By          string            `json:"by"`
	Action      string            `json:"action"`
	ReasonCodes []string          `json:"reason_codes"`
}

// note passes over data it does not understand: a server may be newer than its reader.
func note(e workflow.HistoryEntry) string {
	var n noted
	if json.Unmarshal(e.Data, &n) != nil {
		return ""
	}
	var parts []string
	add := func(label, value string) {
		if value != "" {
			parts = append(parts, label+term.Safe(value))
		}
	}
	add("", n.Outcome)
	add("", n.Action)
	add("", n.Reason)
	add("", strings.Join(n.ReasonCodes, " "))
	add("failed: ", strings.Join(n.FailedCriteria, ", "))
	add("at ", n.Path)
	add("said: ", n.Said)
	add("commit ", abbreviated(n.ResultCommit))
	add("candidate ", abbreviated(n.CandidateCommit))
	add("artifact ", abbreviated(n.ArtifactHash))
	add("candidate ", abbreviated(n.CandidateHash))
	for _, c := range n.Criteria {
		if !c.Passed {
			add(string(c.Type)+": ", c.Detail)
		}
	}
	add("note: ", n.Warning)
	add("receipt ", n.ReceiptID)
	add("by ", n.By)
	return strings.Join(parts, ", ")
}

// abbreviated keeps 12 digits of a commit or content hash.
func abbreviated(id string) string {
	digits, hash := strings.CutPrefix(id, "sha256:")
	if len(digits) > 12 {
		digits = digits[:12]
	}
	if hash {
		return "sha256:" + digits
	}
	return digits
}
