// The agent card: under which public keys entries verify.

package lineage

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"slices"

	"countersign/contracts"
	"countersign/contracts/canonjson"
)

// protocolVersion is that of every card.
const protocolVersion = "a2a/1.0"

// MaxCard is how many bytes a card has at most.
const MaxCard = 64 << 10

// Card publishes an agent's keys. Its path in a tree is CardPath.
type Card struct {
	AgentID         string `json:"agent_id"`
	KeyID           string `json:"kid"`
	ProtocolVersion string `json:"protocol_version"`
	// PublicKeyPEM is the key in use: SubjectPublicKeyInfo in PEM, as openssl writes it.
	PublicKeyPEM string `json:"public_key_pem"`
	// PreviousKeys are keys that signed earlier, in the same form.
	PreviousKeys []string `json:"previous_keys,omitempty"`
}

// NewCard is the card of AgentID with the key that signs now, and those that did before, newest first.
func NewCard(current ed25519.PublicKey, previous ...ed25519.PublicKey) Card {
	c := Card{AgentID: AgentID, KeyID: KeyID, ProtocolVersion: protocolVersion, PublicKeyPEM: publicPEM(current)}
	for _, key := range previous {
		c.PreviousKeys = append(c.PreviousKeys, publicPEM(key))
	}
	return c
}

func publicPEM(key ed25519.PublicKey) string {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "" // an Ed25519 key always has a form
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// Encode is the card's RFC 8785 bytes, the content of card.json. The error is that of a string that JSON
// cannot hold, which a card of NewCard or ParseCard does not have.
func (c Card) Encode() ([]byte, error) { return canonjson.Marshal(c) }

// ParseCard reads a card of format v 2: strict JSON, closed, whatever its white space; keys Ed25519 in
// exactly the PEM that openssl writes. The error is a *contracts.Error.
func ParseCard(data []byte) (Card, error) {
	var c Card
	if len(data) > MaxCard {
		return c, contracts.Invalid("", "has more than %d bytes", MaxCard)
	}
	if err := canonjson.Decode(data, &c); err != nil {
		return Card{}, err
	}
	switch {
	case c.AgentID == "" || c.KeyID == "":
		return Card{}, contracts.Invalid("agent_id", "agent_id or kid is missing")
	case c.ProtocolVersion != protocolVersion:
		return Card{}, contracts.Invalid("protocol_version", "is not %s", protocolVersion)
	}
	for _, text := range c.pems() {
		if _, err := parsePublicPEM(text); err != nil {
			return Card{}, err
		}
	}
	return c, nil
}

func (c Card) pems() []string { return append([]string{c.PublicKeyPEM}, c.PreviousKeys...) }

// Keys are the card's keys, the one in use first. Text that is no key is left out.
func (c Card) Keys() []ed25519.PublicKey {
	var keys []ed25519.PublicKey
	for _, text := range c.pems() {
		if key, err := parsePublicPEM(text); err == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// same reports whether two cards say the same.
func (c Card) same(other Card) bool {
	return c.AgentID == other.AgentID && c.KeyID == other.KeyID && c.PublicKeyPEM == other.PublicKeyPEM &&
		slices.Equal(c.PreviousKeys, other.PreviousKeys)
}

func parsePublicPEM(text string) (ed25519.PublicKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, contracts.Invalid("public_key_pem", "is no PEM")
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, contracts.Invalid("public_key_pem", "holds no public key")
	}
	key, ok := parsed.(ed25519.PublicKey)
	if !ok {
		return nil, contracts.Invalid("public_key_pem", "is not Ed25519")
	}
	if !bytes.Equal([]byte(publicPEM(key)), []byte(text)) {
		return nil, contracts.Invalid("public_key_pem", "is not the key's one spelling in PEM")
	}
	return key, nil
}
