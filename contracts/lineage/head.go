// The head: how many lines the log has and where its chain ends, signed.

package lineage

import (
	"bytes"
	"crypto/ed25519"
	"fmt"

	"countersign/contracts"
	"countersign/contracts/canonjson"
)

// Tip is the state of a log: how many lines it has, and the chain value of the last one.
type Tip struct {
	Entries int64
	// Chain is NoChain when Entries is 0.
	Chain string
}

// EmptyTip is that of a log without lines.
func EmptyTip() Tip { return Tip{Chain: NoChain} }

// Head is the signed Tip.
type Head struct {
	Chain   string `json:"chain"`
	Entries int64  `json:"entries"`
	// JWS is a detached signature over the statement, see SignHead.
	JWS string `json:"jws"`
	// OperatorHMAC is the lowercase hex HMAC-SHA256 over the same bytes, "" without a secret.
	OperatorHMAC string `json:"operator_hmac"`
}

// statement is what a head signs: the RFC 8785 bytes of {"chain","entries","type"}.
func (t Tip) statement() []byte {
	return fmt.Appendf(nil, `{"chain":"%s","entries":%d,"type":"lineage-head/v2"}`, t.Chain, t.Entries)
}

// SignHead signs a tip. The tip's chain must be 64 hex digits.
func SignHead(s Signer, t Tip) Head {
	statement := t.statement()
	return Head{Chain: t.Chain, Entries: t.Entries, JWS: SignDetached(s.Key, statement), OperatorHMAC: seal(s.Secret, statement)}
}

// Tip is what the head says; Verify tells whether to believe it.
func (h Head) Tip() Tip { return Tip{h.Entries, h.Chain} }

// Encode is the head's RFC 8785 bytes, the content of lineage/head.json.
func (h Head) Encode() []byte {
	return fmt.Appendf(nil, `{"chain":"%s","entries":%d,"jws":"%s","operator_hmac":"%s"}`, h.Chain, h.Entries, h.JWS, h.OperatorHMAC)
}

// ParseHead reads a head. It takes exactly what Encode writes for an Entries of at least 1; the error is a
// *contracts.Error.
func ParseHead(data []byte) (Head, error) {
	var h Head
	if len(data) > MaxLine {
		return h, contracts.Invalid("", "has more than %d bytes", MaxLine)
	}
	if err := canonjson.Decode(data, &h); err != nil {
		return Head{}, err
	}
	switch {
	case !isHex64(h.Chain):
		return Head{}, contracts.Invalid("chain", "is not 64 lowercase hex digits")
	case h.Entries < 1:
		return Head{}, contracts.Invalid("entries", "is %d, and a head counts at least one", h.Entries)
	case h.OperatorHMAC != "" && !isHex64(h.OperatorHMAC):
		return Head{}, contracts.Invalid("operator_hmac", "is neither empty nor 64 lowercase hex digits")
	case !bytes.Equal(h.Encode(), data):
		return Head{}, contracts.Invalid("", "is not in canonical form, or a key is missing")
	}
	return h, nil
}

// Verify says what is wrong with the head's signature and seal, each in a sentence without a subject; the
// seal is looked at when there is a secret. Whether it fits the log is another question.
func (h Head) Verify(keys []ed25519.PublicKey, secret []byte) []string {
	var faults []string
	statement := h.Tip().statement()
	if err := VerifyDetached(h.JWS, KeyID, statement, keys); err != nil {
		faults = append(faults, err.Error())
	}
	if fault := sealFault(secret, statement, h.OperatorHMAC); fault != "" {
		faults = append(faults, fault)
	}
	return faults
}
