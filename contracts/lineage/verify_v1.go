// Format v 1, which is read and never written.

package lineage

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"countersign/contracts"
	"countersign/contracts/artifact"
	"countersign/contracts/canonjson"

	"github.com/go-json-experiment/json"
)

var formatV1 = format{1, parseRecordV1, parseReceipt, parseCardV1, func(file string) string { return strings.TrimSuffix(file, "\n") }, newOrderV1}

// lineV1 is a line of format v 1, in the order of its canonical form.
type lineV1 struct {
	AgentCardKID string        `json:"agent_card_kid"`
	AgentID      string        `json:"agent_id"`
	Kind         artifact.Kind `json:"artefact_kind"`
	Path         string        `json:"artefact_path"`
	ContentHash  string        `json:"content_hash"`
	OperatorHMAC string        `json:"operator_hmac"`
	ParentHashes []string      `json:"parent_hashes"`
	SpanID       string        `json:"span_id"`
	ToolCallID   string        `json:"tool_call_id"`
	TsNS         int64         `json:"ts_ns"`
	V            int64         `json:"v"`
}

// parseRecordV1 reads a line: closed, all keys there, in RFC 8785 form. The entry's hash and its signature
// cover the whole line, its HMAC the line with an empty operator_hmac.
func parseRecordV1(data []byte) (*record, error) {
	var l lineV1
	if err := canonjson.Decode(data, &l); err != nil {
		return nil, err
	}
	again, err := canonjson.Marshal(l)
	switch {
	case err != nil || !bytes.Equal(again, data):
		return nil, contracts.Invalid("", "is not in canonical form, or a key is missing")
	case l.V != 1:
		return nil, contracts.Invalid("v", "is %d in a log of format v 1", l.V)
	case !IsHash(l.ContentHash):
		return nil, contracts.Invalid("content_hash", "is not sha256: and 64 lowercase hex digits")
	}
	r := &record{
		want: Receipt{
			AgentCardKID: l.AgentCardKID, AgentID: l.AgentID, ArtefactPath: l.Path, ContentHash: l.ContentHash,
			EntryHash: HashOf(data), Kind: l.Kind, TsNS: l.TsNS,
		},
		parents: l.ParentHashes, signed: data, seal: l.OperatorHMAC,
	}
	if r.want.TaskID = taskOfPath(l.Path); r.want.TaskID != "" {
		e := Entry{TaskID: r.want.TaskID, Kind: l.Kind}
		switch {
		case l.ToolCallID != e.ToolCallID():
			return nil, contracts.Invalid("tool_call_id", "is %q where %s belongs to the path", clip(l.ToolCallID), e.ToolCallID())
		case l.SpanID != e.SpanID():
			return nil, contracts.Invalid("span_id", "is %q where %s belongs to path and kind", clip(l.SpanID), e.SpanID())
		}
	}
	l.OperatorHMAC = ""
	if r.sealed, err = canonjson.Marshal(l); err != nil {
		return nil, err
	}
	digits, path := strings.TrimPrefix(r.want.EntryHash, hashPrefix), sha256.Sum256([]byte(l.Path))
	directory := hex.EncodeToString(path[:])
	r.sidecar = "lineage/signatures/" + directory[:2] + "/" + directory + "/" + digits + ".jws"
	return r, nil
}

// parseCardV1 reads an open card; its key may have white space around it.
func parseCardV1(data []byte) (Card, error) {
	var c Card
	if err := json.Unmarshal(data, &c); err != nil {
		return Card{}, err
	}
	for _, text := range append([]*string{&c.PublicKeyPEM}, pointers(c.PreviousKeys)...) {
		*text = strings.TrimSpace(*text) + "\n"
		if _, err := parsePublicPEM(*text); err != nil {
			return Card{}, err
		}
	}
	return c, nil
}

func pointers(texts []string) []*string {
	all := make([]*string, len(texts))
	for i := range texts {
		all[i] = &texts[i]
	}
	return all
}

// orderV1 holds a line's parents to being earlier lines, and each line to standing there once.
type orderV1 struct {
	seen map[string]bool
	last map[[32]byte]string
}

func newOrderV1() order { return &orderV1{map[string]bool{}, map[[32]byte]string{}} }

func (o *orderV1) place(r *record) (faults []string) {
	if o.seen[r.want.EntryHash] {
		faults = append(faults, "stands there twice")
	}
	for _, parent := range r.parents {
		if !o.seen[parent] {
			faults = append(faults, "parent "+clip(parent)+" is no earlier line")
		}
	}
	o.seen[r.want.EntryHash] = true
	o.last[r.pathKey] = r.want.EntryHash
	return faults
}

func (o *orderV1) newest(r *record) bool { return o.last[r.pathKey] == r.want.EntryHash }
