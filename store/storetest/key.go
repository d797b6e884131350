// The signing key of test instances.

package storetest

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"countersign/contracts/lineage"
	"countersign/contracts/receipt"

	"github.com/stretchr/testify/require"
)

// KeyPEM is a signing key of that name as a file has it; the same name is always the same key.
func KeyPEM(t testing.TB, name string) []byte {
	t.Helper()
	file, err := keyPEM(name)
	require.NoError(t, err)
	return file
}

func keyPEM(name string) ([]byte, error) {
	seed := sha256.Sum256([]byte(name))
	der, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(seed[:]))
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// Key is the signing key of that name.
func Key(t testing.TB, name string) *receipt.Key {
	t.Helper()
	key, err := receipt.ParseKey(KeyPEM(t, name))
	require.NoError(t, err)
	return key
}

// First is the name of the key that every test instance begins with.
const First = "first"

// Signer hands out the first key.
var Signer = sync.OnceValues(func() (*receipt.Key, error) {
	file, err := keyPEM(First)
	if err != nil {
		return nil, err
	}
	return receipt.ParseKey(file)
})

// Lineage hands out the lineage key of test instances, without an operator's secret.
func Lineage() (lineage.Signer, error) {
	seed := sha256.Sum256([]byte("lineage"))
	return lineage.Signer{Key: ed25519.NewKeyFromSeed(seed[:])}, nil
}

// KeyFile writes the key of that name to a file as its owner keeps it, in a directory of the test's.
func KeyFile(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "signing-key.pem")
	require.NoError(t, os.WriteFile(path, KeyPEM(t, name), 0o600))
	return path
}
