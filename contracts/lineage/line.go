// The log line: an entry with its place in the chain.

package lineage

import (
	"strings"

	"countersign/contracts"
	"countersign/contracts/artifact"
	"countersign/contracts/canonjson"
)

// MaxLine is how many bytes a log line has at most, its line feed not counted.
const MaxLine = 4096

// Line is one line of the log.
type Line struct {
	Entry
	// Chain is the chain value at this line: Next of the line before.
	Chain string
	// OperatorHMAC is OperatorHMAC of Chain, "" when it was recorded without a secret.
	OperatorHMAC string
}

// Encode is the line's RFC 8785 bytes, without a line feed.
func (l Line) Encode() []byte { return l.render(l.Chain, l.OperatorHMAC, true) }

// ParseLine reads one line, without its line feed. It takes exactly what Encode writes for an entry that
// passes Check: the keys of format v 2 and no others, in RFC 8785 form, tool_call_id and span_id those
// that belong to path and kind. The error is a *contracts.Error of code invalid (malformed_json when it
// is no JSON) that names what is wrong; the path is that of the field.
func ParseLine(data []byte) (Line, error) {
	l, ok := matchLine(string(data))
	if ok && l.Check() == nil && string(l.Encode()) == string(data) {
		return l, nil
	}
	return Line{}, faultOf(data)
}

// matchLine takes a line apart where its parts stand; whether the values are good is for others to say.
func matchLine(s string) (l Line, ok bool) {
	if len(s) > MaxLine {
		return l, false
	}
	var path, parents string
	values := []*string{(*string)(&l.Kind), &path, &l.Chain, &l.ContentHash, &l.OperatorHMAC, &parents}
	ends := []string{keyPath, keyChain, keyContent, keyHMAC, keyParents, keySpan}
	if s, ok = strings.CutPrefix(s, lineStart); !ok {
		return l, false
	}
	for i, end := range ends {
		if *values[i], s, ok = strings.Cut(s, end); !ok {
			return l, false
		}
	}
	if parents != "" {
		if len(parents) < 2 || parents[0] != '"' || parents[len(parents)-1] != '"' {
			return l, false
		}
		l.Parent = parents[1 : len(parents)-1]
	}
	if rest, is := strings.CutPrefix(path, artifactsPrefix); is && l.Kind != Attachment {
		l.TaskID = strings.TrimSuffix(rest, artifactSuffix)
	}
	return l, isHex64(l.Chain) && (l.OperatorHMAC == "" || isHex64(l.OperatorHMAC))
}

// line is a log line as any JSON reader sees it.
type line struct {
	AgentCardKID string   `json:"agent_card_kid"`
	AgentID      string   `json:"agent_id"`
	Kind         string   `json:"artefact_kind"`
	Path         string   `json:"artefact_path"`
	Chain        string   `json:"chain"`
	ContentHash  string   `json:"content_hash"`
	OperatorHMAC string   `json:"operator_hmac"`
	ParentHashes []string `json:"parent_hashes"`
	SpanID       string   `json:"span_id"`
	ToolCallID   string   `json:"tool_call_id"`
	TsNS         int64    `json:"ts_ns"`
	V            int64    `json:"v"`
}

// faultOf says what is wrong with a line that was not taken.
func faultOf(data []byte) error {
	if len(data) > MaxLine {
		return contracts.Invalid("", "has more than %d bytes", MaxLine)
	}
	var w line
	if err := canonjson.Decode(data, &w); err != nil {
		return err
	}
	e := Entry{Kind: artifact.Kind(w.Kind), ContentHash: w.ContentHash}
	if rest, is := strings.CutPrefix(w.Path, artifactsPrefix); is && e.Kind != Attachment {
		e.TaskID = strings.TrimSuffix(rest, artifactSuffix)
	}
	if len(w.ParentHashes) > 0 {
		e.Parent = w.ParentHashes[0]
	}
	err := e.Check()
	switch {
	case w.V != 2:
		return contracts.Invalid("v", "is %d where 2 is expected", w.V)
	case w.AgentID != AgentID || w.AgentCardKID != KeyID:
		return contracts.Invalid("agent_id", "is signed by %q with key %q, not by %s with %s", clip(w.AgentID), clip(w.AgentCardKID), AgentID, KeyID)
	case err != nil:
		return err
	case w.Path != e.Path():
		return contracts.Invalid("artefact_path", "%q is not where an entry of kind %s has its bytes", clip(w.Path), w.Kind)
	case w.ToolCallID != e.ToolCallID():
		return contracts.Invalid("tool_call_id", "is %q where %s belongs to the path", clip(w.ToolCallID), e.ToolCallID())
	case w.SpanID != e.SpanID():
		return contracts.Invalid("span_id", "is %q where %s belongs to path and kind", clip(w.SpanID), e.SpanID())
	case w.TsNS != 0:
		return contracts.Invalid("ts_ns", "is %d where 0 is expected", w.TsNS)
	case len(w.ParentHashes) > 1:
		return contracts.Invalid("parent_hashes", "has more than one hash")
	case !isHex64(w.Chain):
		return contracts.Invalid("chain", "is not 64 lowercase hex digits")
	case w.OperatorHMAC != "" && !isHex64(w.OperatorHMAC):
		return contracts.Invalid("operator_hmac", "is neither empty nor 64 lowercase hex digits")
	}
	return contracts.Invalid("", "is not in canonical form, or a key is missing")
}
