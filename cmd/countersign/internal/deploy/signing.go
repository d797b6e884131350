// The signing key of a deployment.

package deploy

import (
	"context"
	"fmt"
	"os"

	"countersign/cmd/countersign/internal/keyfile"
	"countersign/contracts"
	"countersign/contracts/receipt"
	"countersign/store"
)

// Signing says where the signing key is. Every worker needs it, the API has none of it.
type Signing struct {
	SigningKey string `type:"path" default:"~/.local/state/countersign/signing-key.pem" env:"COUNTERSIGN_SIGNING_KEY" placeholder:"FILE" help:"The key that signs receipts: PKCS#8 in PEM, readable by its owner alone (${default})."`
}

// Algorithm is what a new key is made for.
type Algorithm struct {
	SigningAlgorithm keyfile.Algorithm `enum:"ed25519,p256" default:"ed25519" env:"COUNTERSIGN_SIGNING_ALGORITHM" placeholder:"NAME" help:"What a new signing key is for: ed25519, or p256 (ECDSA with SHA-256) where that is asked for (${default})."`
}

// EnsureKey makes sure that the file holds the instance's key in use: for an instance that has none
// yet the file's key is taken, or one is made. It returns the key's fingerprint.
func (c Signing) EnsureKey(ctx context.Context, st *store.Store, a Algorithm) (sha256 string, err error) {
	sha256, err = st.EnsureKey(ctx, func() (*receipt.Key, error) { return keyfile.Ensure(c.SigningKey, a.SigningAlgorithm) })
	if err != nil {
		return "", err
	}
	if sha256 == "" {
		return "", contracts.Refuse(contracts.CodeStateConflict, "the instance's last key is revoked: run `countersign keys rotate --new-chain`")
	}
	key, err := keyfile.Load(c.SigningKey)
	if err != nil {
		return sha256, err
	}
	if have := key.Public().SHA256; have != sha256 {
		return sha256, fmt.Errorf("%s holds the key %s, but the instance signs with %s: bring that key's file here", c.SigningKey, have, sha256)
	}
	return sha256, nil
}

// WorkerName names this process among those that can sign.
func WorkerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "worker"
	}
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}
