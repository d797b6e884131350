// Where a tree keeps what belongs to a log. Paths are relative to the .sdd directory, with slashes.

package lineage

import "strings"

// The files of a tree that are there once.
const (
	LogPath  = "lineage/log.jsonl"
	HeadPath = "lineage/head.json"
	// KeyPath is the signing key's, PKCS#8 in PEM; it is never exported.
	KeyPath = "artifacts/identity/artifact_lineage.pem"
	// CardPath is that of AgentID's card.
	CardPath = "agents/" + AgentID + "/card.json"
)

// SidecarPath is where the detached signature of an entry is kept.
func SidecarPath(entryHash string) string {
	digits := strings.TrimPrefix(entryHash, hashPrefix)
	return "lineage/signatures/" + digits[:min(2, len(digits))] + "/" + digits + ".jws"
}

// ReceiptPath is where a task's receipt is kept. The task id must have passed artifact.CheckTaskID.
func ReceiptPath(taskID string) string { return "artifacts/" + taskID + "/receipt.json" }

// BytesPath is where the bytes of an artefact_path are kept.
func BytesPath(artefactPath string) string { return strings.TrimPrefix(artefactPath, ".sdd/") }
