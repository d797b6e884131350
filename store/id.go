// Identifiers and secrets, made by the server only.

package store

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"

	"github.com/google/uuid"
)

// newID is a random UUID: an id must not tell when or by whom it was made.
func newID() string { return uuid.NewString() }

// tokenPrefix lets secret scanners and people recognise a token.
const tokenPrefix = "cs_"

// newSecret is 256 bits of randomness as text; only its SHA-256 is stored.
func newSecret() (secret string, hash []byte) {
	raw := make([]byte, 32)
	rand.Read(raw) // never fails, see crypto/rand
	secret = tokenPrefix + base64.RawURLEncoding.EncodeToString(raw)
	return secret, hashSecret(secret)
}

func hashSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
