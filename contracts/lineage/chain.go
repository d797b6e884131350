// The chain, and the operator's seal on it.

package lineage

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// NoChain is the chain value before the first line: 64 zeros.
var NoChain = strings.Repeat("0", 64)

// Next is the chain value of a line: the lowercase hex SHA-256 over the ASCII of the previous line's chain
// (NoChain before the first) followed by the line's entry_hash.
func Next(chain, entryHash string) string {
	sum := sha256.Sum256([]byte(chain + entryHash))
	return hex.EncodeToString(sum[:])
}

// OperatorHMAC is the lowercase hex HMAC-SHA256 of a chain value's ASCII, "" without a secret.
func OperatorHMAC(secret []byte, chain string) string { return seal(secret, []byte(chain)) }

func seal(secret, message []byte) string {
	if len(secret) == 0 {
		return ""
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write(message)
	return hex.EncodeToString(mac.Sum(nil))
}

// sealFault says what is wrong with a seal, or "". Without a secret nothing can be said.
func sealFault(secret, message []byte, got string) string {
	switch {
	case len(secret) == 0 || hmac.Equal([]byte(got), []byte(seal(secret, message))):
		return ""
	case got == "":
		return "recorded without a secret"
	}
	return "operator_hmac is not that of the operator's secret"
}
