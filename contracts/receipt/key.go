// Signing keys and public keys: Ed25519, or ECDSA on P-256.

package receipt

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"countersign/contracts/canonjson"
)

const (
	pemPrivate = "PRIVATE KEY"
	pemPublic  = "PUBLIC KEY"
)

// Key can sign. What it signs is decided here alone; the secret does not leave it.
type Key struct {
	secret crypto.Signer
	public PublicKey
}

// ParseKey reads a PKCS#8 PEM file with one key and nothing else.
func ParseKey(file []byte) (*Key, error) {
	block, err := onlyBlock(file, pemPrivate)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block)
	if err != nil {
		return nil, errors.New("it holds no PKCS#8 private key") // the cause may quote what is secret
	}
	secret, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, errors.New("its key cannot sign")
	}
	public, err := newPublicKey(secret.Public())
	if err != nil {
		return nil, err
	}
	return &Key{secret, public}, nil
}

// Public is the key's other half.
func (k *Key) Public() PublicKey { return k.public }

// sign signs the bytes of a PAE. ECDSA is deterministic too (RFC 6979), so that no randomness is needed.
func (k *Key) sign(pae []byte) ([]byte, error) {
	if _, ok := k.secret.(ed25519.PrivateKey); ok {
		return k.secret.Sign(nil, pae, crypto.Hash(0))
	}
	sum := sha256.Sum256(pae)
	return k.secret.Sign(nil, sum[:], crypto.SHA256)
}

// PublicKey checks signatures.
type PublicKey struct {
	key crypto.PublicKey
	// PEM is its SubjectPublicKeyInfo, as openssl writes it.
	PEM string
	// SHA256 is the lowercase hex SHA-256 of the SubjectPublicKeyInfo's DER: the key's fingerprint.
	SHA256 string
}

// ParsePublicKey reads a PEM file with one public key and nothing else.
func ParsePublicKey(file []byte) (PublicKey, error) {
	block, err := onlyBlock(file, pemPublic)
	if err != nil {
		return PublicKey{}, err
	}
	parsed, err := x509.ParsePKIXPublicKey(block)
	if err != nil {
		return PublicKey{}, fmt.Errorf("it holds no public key: %w", err)
	}
	key, err := newPublicKey(parsed)
	if err == nil && key.SHA256 != canonjson.Digest(block) {
		err = errors.New("its public key is not in DER")
	}
	return key, err
}

func newPublicKey(key crypto.PublicKey) (PublicKey, error) {
	switch k := key.(type) {
	case ed25519.PublicKey:
	case *ecdsa.PublicKey:
		if k.Curve != elliptic.P256() {
			return PublicKey{}, errors.New("its key is on another curve than P-256")
		}
	default:
		return PublicKey{}, fmt.Errorf("its key is neither Ed25519 nor ECDSA (%T)", key)
	}
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return PublicKey{}, err
	}
	return PublicKey{key, string(pem.EncodeToMemory(&pem.Block{Type: pemPublic, Bytes: der})), canonjson.Digest(der)}, nil
}

// Ed25519 tells whether the key is one; else it is ECDSA on P-256 with SHA-256.
func (p PublicKey) Ed25519() bool { _, ok := p.key.(ed25519.PublicKey); return ok }

func (p PublicKey) verifies(pae, signature []byte) bool {
	switch k := p.key.(type) {
	case ed25519.PublicKey:
		return ed25519.Verify(k, pae, signature)
	case *ecdsa.PublicKey:
		sum := sha256.Sum256(pae)
		return ecdsa.VerifyASN1(k, sum[:], signature)
	}
	return false
}

// onlyBlock is the content of a PEM file's one block.
func onlyBlock(file []byte, kind string) ([]byte, error) {
	block, rest := pem.Decode(file)
	switch {
	case block == nil:
		return nil, errors.New("it is no PEM file")
	case block.Type != kind:
		return nil, fmt.Errorf("it holds a %s where a %s is expected", block.Type, kind)
	case len(block.Headers) > 0 || len(bytes.TrimSpace(rest)) > 0:
		return nil, errors.New("it holds more than one plain key")
	}
	return block.Bytes, nil
}
