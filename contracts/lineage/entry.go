// The entry: what one signed record says, and the hash that names it.

// Package lineage is the record of what artifacts and attachments there are: a log of signed entries,
// each bound to the one before it, a head that counts them, and a receipt for each task. Its bytes are
// those of format v 2, which docs/artifacts.md fixes; Verify reads format v 1 as well.
//
// Whoever keeps a log (a .sdd directory, a database) implements Log and appends through Record alone.
// The package is pure: keys, secrets and bytes are passed in, no clock is read, nothing is written.
package lineage

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"countersign/contracts"
	"countersign/contracts/artifact"
	"countersign/contracts/figures"
)

const (
	// AgentID is who signs every entry; it is a constant, so that two installs with different keys make
	// the same entry (seed, section "Signing identity").
	AgentID = "agent:artifact-completion"
	// KeyID names the signing key in entries, sidecars, head and card. It too is a constant.
	KeyID = "artifact-completion-1"
	// Attachment is the kind of an entry that is not a task's artifact but bytes to anchor to.
	Attachment artifact.Kind = figures.AnchorAttachment
)

// kinds are those an entry may have.
var kinds = []artifact.Kind{artifact.Report, artifact.Dataset, artifact.ActionLog, artifact.OpsResult, Attachment}

// Entry is the body of a record. All of its bytes follow from these four values: nothing in it depends
// on a clock, a key or an install.
type Entry struct {
	// TaskID is the task whose artifact it is; "" for an attachment.
	TaskID string
	// Kind is the artifact's kind, never code_diff, or Attachment.
	Kind artifact.Kind
	// ContentHash is "sha256:" and the lowercase hex SHA-256 of the canonical bytes; of an attachment's
	// bytes as they are.
	ContentHash string
	// Parent is the entry_hash of the last entry with the same Path, "" when it is the first. An
	// attachment has none.
	Parent string
}

// Check refuses an entry that cannot be: a task id that names no directory, a kind that has no entry, a
// hash that is none, an attachment with a task or a parent. The error is a *contracts.Error of code
// invalid whose path is the name of the field in a log line.
func (e Entry) Check() error {
	switch {
	case !slices.Contains(kinds, e.Kind):
		return contracts.Invalid("artefact_kind", "%q is none of report, dataset, action_log, ops_result, attachment", clip(string(e.Kind)))
	case !IsHash(e.ContentHash):
		return contracts.Invalid("content_hash", "is not sha256: and 64 lowercase hex digits")
	case e.Kind == Attachment && e.TaskID != "":
		return contracts.Invalid("artefact_kind", "a task has no entry of kind attachment")
	case e.Kind == Attachment && e.Parent != "":
		return contracts.Invalid("parent_hashes", "an attachment has no parent")
	case e.Parent != "" && !IsHash(e.Parent):
		return contracts.Invalid("parent_hashes", "is not sha256: and 64 lowercase hex digits")
	case e.Kind == Attachment:
		return nil
	}
	return artifact.CheckTaskID(e.TaskID)
}

// IsHash reports whether s is "sha256:" and 64 lowercase hex digits.
func IsHash(s string) bool {
	digits, ok := strings.CutPrefix(s, hashPrefix)
	return ok && isHex64(digits)
}

const hashPrefix = "sha256:"

func isHex64(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

// HashOf is "sha256:" and the lowercase hex SHA-256 of data.
func HashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hashPrefix + hex.EncodeToString(sum[:])
}

// Path is the artefact_path: where a tree keeps the bytes, whatever the task's output path. Slashes,
// relative to the workdir.
func (e Entry) Path() string {
	if e.Kind == Attachment {
		return AttachmentPath(e.ContentHash)
	}
	return ArtifactPath(e.TaskID)
}

// ArtifactPath is the artefact_path of a task's entries. The task id must have passed CheckTaskID.
func ArtifactPath(taskID string) string { return artifactsPrefix + taskID + artifactSuffix }

// AttachmentPath is the artefact_path of the attachment with a content hash.
func AttachmentPath(contentHash string) string {
	return attachmentsPrefix + strings.TrimPrefix(contentHash, hashPrefix)
}

const (
	artifactsPrefix   = ".sdd/artifacts/"
	artifactSuffix    = "/artifact.bin"
	attachmentsPrefix = ".sdd/attachments/"
)

// ToolCallID is "artifact:" and the task id, or "attachment:" and the hash's hex digits.
func (e Entry) ToolCallID() string {
	if e.Kind == Attachment {
		return "attachment:" + strings.TrimPrefix(e.ContentHash, hashPrefix)
	}
	return "artifact:" + e.TaskID
}

// SpanID is the first 16 hex digits of the SHA-256 of the tool call id, followed for a task by ":" and
// the kind.
func (e Entry) SpanID() string {
	text := e.ToolCallID()
	if e.Kind != Attachment {
		text += ":" + string(e.Kind)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// Body is the entry's RFC 8785 bytes: what is hashed and signed.
func (e Entry) Body() []byte { return e.render("", "", false) }

// Hash is the entry_hash: HashOf the Body. With the same history it is the same for every install.
func (e Entry) Hash() string { return HashOf(e.Body()) }

// render writes the entry as one object in RFC 8785 form: as a body, or as a line with chain and
// operator_hmac. No value has a character that JSON escapes.
func (e Entry) render(chain, hmac string, line bool) []byte {
	b := make([]byte, 0, 640)
	b = append(b, lineStart...)
	b = append(append(append(b, e.Kind...), keyPath...), e.Path()...)
	if line {
		b = append(append(b, keyChain...), chain...)
	}
	b = append(append(b, keyContent...), e.ContentHash...)
	if line {
		b = append(append(b, keyHMAC...), hmac...)
	}
	b = append(b, keyParents...)
	if e.Parent != "" {
		b = append(append(append(b, '"'), e.Parent...), '"')
	}
	b = append(append(b, keySpan...), e.SpanID()...)
	b = append(append(b, keyTool...), e.ToolCallID()...)
	return append(b, lineEnd...)
}

// The parts of a line between its values.
const (
	lineStart  = `{"agent_card_kid":"` + KeyID + `","agent_id":"` + AgentID + `","artefact_kind":"`
	keyPath    = `","artefact_path":"`
	keyChain   = `","chain":"`
	keyContent = `","content_hash":"`
	keyHMAC    = `","operator_hmac":"`
	keyParents = `","parent_hashes":[`
	keySpan    = `],"span_id":"`
	keyTool    = `","tool_call_id":"`
	lineEnd    = `","ts_ns":0,"v":2}`
)

// clip keeps a stranger's text short in a sentence.
func clip(s string) string {
	if len(s) <= 80 {
		return s
	}
	return strings.ToValidUTF8(s[:80], "") + "..."
}
