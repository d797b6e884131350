// The signing key's file form.

package lineage

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
)

const pemPrivate = "PRIVATE KEY"

// EncodeKey is a signing key as PKCS#8 in PEM, as openssl writes it.
func EncodeKey(key ed25519.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemPrivate, Bytes: der}), nil
}

// ParseKey reads a PKCS#8 PEM file with one Ed25519 key and nothing else. The error never quotes what it
// read.
func ParseKey(file []byte) (ed25519.PrivateKey, error) {
	block, rest := pem.Decode(file)
	if block == nil || block.Type != pemPrivate || len(block.Headers) > 0 || len(rest) > 0 {
		return nil, errors.New("it is not one PKCS#8 private key in PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("it holds no PKCS#8 private key")
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("its key is not Ed25519")
	}
	return key, nil
}

// Public is the half of the signer's key that verifies.
func (s Signer) Public() ed25519.PublicKey { return s.Key.Public().(ed25519.PublicKey) }
