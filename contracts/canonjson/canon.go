// The canonical form and its digest.

package canonjson

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Canonical returns the RFC 8785 bytes of one JSON document: keys in UTF-16 order, no white space,
// numbers as ECMAScript writes them. The error is a *Fault when the document is not strictly good JSON.
func Canonical(data []byte) ([]byte, error) {
	if f := Scan(data); f != nil {
		return nil, f
	}
	v := jsontext.Value(data).Clone()
	if err := v.Canonicalize(lenient); err != nil {
		return nil, fmt.Errorf("canonicalise: %w", err)
	}
	return v, nil
}

// Marshal returns the RFC 8785 bytes of a Go value. Nil slices and maps become [] and {}, so that
// an absent list has one spelling. It fails for values that JSON cannot hold.
func Marshal(v any) ([]byte, error) {
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("marshal: %w", err)
	}
	return Canonical(data)
}

// Digest is the lowercase hex SHA-256 of data.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// DigestOf is the Digest of a Go value's RFC 8785 bytes.
func DigestOf(v any) (string, error) {
	data, err := Marshal(v)
	if err != nil {
		return "", err
	}
	return Digest(data), nil
}
