// keys.json: every key an instance has signed with, each vouched for by the one before it.

package receipt

import (
	"encoding/base64"
	"fmt"
	"time"

	"countersign/contracts"
	"countersign/contracts/canonjson"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
)

// KeySet is keys.json and the answer of GET /v1/keys: all keys, oldest first.
type KeySet struct {
	Keys []KeyRecord `json:"keys"`
}

// KeyRecord is one key in public. Times are by the database's clock.
type KeyRecord struct {
	// ID is how a person names the key: the first 16 digits of SHA256.
	ID        string `json:"id"`
	PublicPEM string `json:"public_pem"`
	// SHA256 is the lowercase hex SHA-256 of the SubjectPublicKeyInfo's DER, and the keyid in envelopes.
	SHA256    string    `json:"sha256"`
	NotBefore time.Time `json:"not_before"`
	// NotAfter is when the next key took its place.
	NotAfter  *time.Time `json:"not_after,omitzero"`
	RevokedAt *time.Time `json:"revoked_at,omitzero"`
	Reason    string     `json:"reason,omitzero"`
	// SignedBy is the SHA256 of the key before, which vouches for this one with Signature. The first
	// key has neither, nor has one that begins a new chain because the key before was lost or revoked.
	SignedBy  string `json:"signed_by,omitzero"`
	Signature string `json:"signature,omitzero"`
	// Proof is this key's own signature of the same bytes: it names the key before as its own
	// predecessor, so that who pins this key can believe what that one signed until then.
	Proof string `json:"proof,omitzero"`
}

// idLength is how much of a fingerprint a key is called by.
const idLength = 16

// KeyID is what a person calls a key of that fingerprint.
func KeyID(sha256 string) string { return sha256[:idLength] }

// Begin is the record of a key that no other vouches for: an instance's first, or the first of a new
// chain.
func (k *Key) Begin(notBefore time.Time) KeyRecord {
	return KeyRecord{ID: KeyID(k.public.SHA256), PublicPEM: k.public.PEM, SHA256: k.public.SHA256, NotBefore: notBefore.UTC()}
}

// Succeed is the record of a key that takes the previous one's place at notBefore and is vouched for
// by it.
func (k *Key) Succeed(previous *Key, notBefore time.Time) (KeyRecord, error) {
	r := k.Begin(notBefore)
	r.SignedBy = previous.public.SHA256
	pae, err := r.LinkPAE()
	if err != nil {
		return r, err
	}
	signature, err := previous.sign(pae)
	if err != nil {
		return r, err
	}
	proof, err := k.sign(pae)
	r.Signature, r.Proof = base64.StdEncoding.EncodeToString(signature), base64.StdEncoding.EncodeToString(proof)
	return r, err
}

// LinkPAE is what Signature and Proof sign: the DSSE encoding, under LinkType, of the RFC 8785 bytes
// of id, not_before, public_pem, sha256 and signed_by.
func (r KeyRecord) LinkPAE() ([]byte, error) {
	payload, err := canonjson.Marshal(map[string]any{
		"id": r.ID, "not_before": r.NotBefore, "public_pem": r.PublicPEM, "sha256": r.SHA256, "signed_by": r.SignedBy,
	})
	if err != nil {
		return nil, err
	}
	return dsse.PAE(LinkType, payload), nil
}

// ParseKeySet reads keys.json and checks all of it: forms, fingerprints, order, every signature.
func ParseKeySet(data []byte) (KeySet, error) {
	var s KeySet
	if err := canonjson.Decode(data, &s); err != nil {
		return s, within("keys.json", err)
	}
	if _, err := s.open(); err != nil {
		return s, err
	}
	return s, nil
}

// Check holds a whole set to what ParseKeySet demands.
func (s KeySet) Check() error {
	if _, err := s.open(); err != nil {
		return err
	}
	return nil
}

// open checks the set and returns its keys, one a record.
func (s KeySet) open() ([]PublicKey, *contracts.Error) {
	keys := make([]PublicKey, len(s.Keys))
	for i, r := range s.Keys {
		key, err := ParsePublicKey([]byte(r.PublicPEM))
		if err != nil {
			return nil, within("key "+r.ID, err)
		}
		keys[i] = key
		if key.SHA256 != r.SHA256 || r.ID != KeyID(r.SHA256) {
			return nil, unproven("key %s: its fingerprint is another", r.ID)
		}
		if err := s.checkLink(keys[:i+1]); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// checkLink checks how the last of the keys follows on the one before.
func (s KeySet) checkLink(keys []PublicKey) *contracts.Error {
	i := len(keys) - 1
	r := s.Keys[i]
	if i == 0 {
		if r.SignedBy != "" || r.Signature != "" || r.Proof != "" {
			return unproven("key %s: it is the first, and says that another vouches for it", r.ID)
		}
		return nil
	}
	before := s.Keys[i-1]
	for _, other := range keys[:i] {
		if other.SHA256 == r.SHA256 {
			return unproven("key %s stands twice", r.ID)
		}
	}
	if r.NotBefore.Before(before.NotBefore) {
		return unproven("key %s is older than the one before it", r.ID)
	}
	if r.SignedBy == "" && r.Signature == "" && r.Proof == "" {
		return nil // begins a new chain, and is to be pinned itself
	}
	if r.SignedBy != before.SHA256 {
		return unproven("key %s is signed by another key than the one before it", r.ID)
	}
	if before.RevokedAt != nil && !r.NotBefore.Before(*before.RevokedAt) {
		return unproven("key %s is signed by a key that was revoked", r.ID)
	}
	pae, err := r.LinkPAE()
	if err != nil {
		return within("key "+r.ID, err)
	}
	if !verifiesText(keys[i-1], pae, r.Signature) {
		return unproven("key %s: the signature of the key before it fails", r.ID)
	}
	if r.Proof != "" && !verifiesText(keys[i], pae, r.Proof) {
		return unproven("key %s: its own signature fails", r.ID)
	}
	return nil
}

func verifiesText(key PublicKey, pae []byte, text string) bool {
	raw, err := decode(text)
	return err == nil && key.verifies(pae, raw)
}

// find is the place of a key by its fingerprint, -1 when it is not there.
func (s KeySet) find(sha256 string) int {
	for i, r := range s.Keys {
		if r.SHA256 == sha256 {
			return i
		}
	}
	return -1
}

// reaches tells whether trust in the key at from carries over to the one at to: forward by each key's
// signature on the next, backward by each key's own word who came before it.
func (s KeySet) reaches(from, to int) bool {
	for i := from + 1; i <= to; i++ {
		if s.Keys[i].Signature == "" {
			return false
		}
	}
	for i := from; i > to; i-- {
		if s.Keys[i].Proof == "" {
			return false
		}
	}
	return true
}

// revokedSince names those of the signers that were revoked later: a receipt's date is its signer's own
// word, and who has stolen a key can write any.
func (s KeySet) revokedSince(signers []string) (warnings []string) {
	for _, sha256 := range signers {
		if i := s.find(sha256); i >= 0 && s.Keys[i].RevokedAt != nil {
			warnings = append(warnings, fmt.Sprintf("key %s was revoked later, at %s (%s); that it signed before is its holder's word",
				s.Keys[i].ID, s.Keys[i].RevokedAt.UTC().Format(time.RFC3339), s.Keys[i].Reason))
		}
	}
	return warnings
}

// signsAt refuses a key that could not sign at a time: not yet, not any more, or revoked by then.
func (s KeySet) signsAt(i int, at time.Time) *contracts.Error {
	r := s.Keys[i]
	switch {
	case at.Before(r.NotBefore):
		return unproven("key %s was not in use yet when it signed", r.ID)
	case r.RevokedAt != nil && !at.Before(*r.RevokedAt):
		return unproven("key %s was revoked before it signed", r.ID)
	case r.NotAfter != nil && at.After(*r.NotAfter), i+1 < len(s.Keys) && at.After(s.Keys[i+1].NotBefore):
		return unproven("key %s had been replaced when it signed", r.ID)
	}
	return nil
}
