// receipt.json: a task's pointer to its signed entry.

package lineage

import (
	"bytes"
	"fmt"

	"countersign/contracts"
	"countersign/contracts/artifact"
	"countersign/contracts/canonjson"
)

// Receipt says which entry a task completed on. Nothing in it is believed: every field is checked against
// the signed entry. Its path in a tree is ReceiptPath.
type Receipt struct {
	AgentCardKID string        `json:"agent_card_kid"`
	AgentID      string        `json:"agent_id"`
	ArtefactPath string        `json:"artefact_path"`
	ContentHash  string        `json:"content_hash"`
	EntryHash    string        `json:"entry_hash"`
	Kind         artifact.Kind `json:"kind"`
	TaskID       string        `json:"task_id"`
	// TsNS is always 0.
	TsNS int64 `json:"ts_ns"`
}

// NewReceipt is the receipt of a task's entry.
func NewReceipt(e Entry) Receipt { return receiptOf(e, e.Hash()) }

// receiptOf is NewReceipt where the entry_hash is known.
func receiptOf(e Entry, entryHash string) Receipt {
	return Receipt{
		AgentCardKID: KeyID, AgentID: AgentID, ArtefactPath: e.Path(), ContentHash: e.ContentHash,
		EntryHash: entryHash, Kind: e.Kind, TaskID: e.TaskID,
	}
}

// Encode is the receipt's RFC 8785 bytes, the content of receipt.json. The error is that of a string that
// JSON cannot hold, which a receipt of NewReceipt or ParseReceipt does not have.
func (r Receipt) Encode() ([]byte, error) { return canonjson.Marshal(r) }

// ParseReceipt reads a receipt of format v 2: closed, all keys there, in RFC 8785 form. The error is a
// *contracts.Error.
func ParseReceipt(data []byte) (Receipt, error) {
	r, err := parseReceipt(data)
	if err != nil {
		return Receipt{}, err
	}
	if again, err := r.Encode(); err != nil || !bytes.Equal(again, data) {
		return Receipt{}, contracts.Invalid("", "is not in canonical form")
	}
	return r, nil
}

// parseReceipt takes any white space and order of keys, as format v 1 does.
func parseReceipt(data []byte) (Receipt, error) {
	var w struct {
		AgentCardKID *string        `json:"agent_card_kid"`
		AgentID      *string        `json:"agent_id"`
		ArtefactPath *string        `json:"artefact_path"`
		ContentHash  *string        `json:"content_hash"`
		EntryHash    *string        `json:"entry_hash"`
		Kind         *artifact.Kind `json:"kind"`
		TaskID       *string        `json:"task_id"`
		TsNS         *int64         `json:"ts_ns"`
	}
	if len(data) > MaxLine {
		return Receipt{}, contracts.Invalid("", "has more than %d bytes", MaxLine)
	}
	if err := canonjson.Decode(data, &w); err != nil {
		return Receipt{}, err
	}
	if w.AgentCardKID == nil || w.AgentID == nil || w.ArtefactPath == nil || w.ContentHash == nil || w.EntryHash == nil ||
		w.Kind == nil || w.TaskID == nil || w.TsNS == nil {
		return Receipt{}, contracts.Invalid("", "a key is missing")
	}
	return Receipt{*w.AgentCardKID, *w.AgentID, *w.ArtefactPath, *w.ContentHash, *w.EntryHash, *w.Kind, *w.TaskID, *w.TsNS}, nil
}

// Check says in which fields the receipt differs from the one it should be, each in a sentence without a
// subject.
func (r Receipt) Check(want Receipt) []string {
	var faults []string
	for _, f := range []struct {
		name      string
		got, want any
	}{
		{"task_id", r.TaskID, want.TaskID},
		{"kind", r.Kind, want.Kind},
		{"artefact_path", r.ArtefactPath, want.ArtefactPath},
		{"content_hash", r.ContentHash, want.ContentHash},
		{"entry_hash", r.EntryHash, want.EntryHash},
		{"agent_id", r.AgentID, want.AgentID},
		{"agent_card_kid", r.AgentCardKID, want.AgentCardKID},
		{"ts_ns", r.TsNS, want.TsNS},
	} {
		if f.got != f.want {
			faults = append(faults, fmt.Sprintf("%s is %s where the signed entry has %s", f.name, clip(fmt.Sprint(f.got)), fmt.Sprint(f.want)))
		}
	}
	return faults
}
