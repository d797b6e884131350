// The file of the lineage key.

package keyfile

import (
	"crypto/ed25519"

	"countersign/contracts/lineage"
	"countersign/store"
)

const lineageKey = "lineage key"

// LoadLineage reads the key that lineage entries are signed with, under the same rules as Load.
func LoadLineage(path string) (ed25519.PrivateKey, error) {
	return load(path, lineageKey, lineage.ParseKey, "restore the file, or run `countersign migrate`, which makes one")
}

// EnsureLineage is LoadLineage that makes the key, and its directory, when there is none.
func EnsureLineage(path string) (ed25519.PrivateKey, error) {
	return ensure(path, LoadLineage, func(path string) (ed25519.PrivateKey, error) {
		return create(path, lineageKey, Ed25519, lineage.ParseKey)
	})
}

// LineageSigner reads the key anew whenever it is asked for it. secret is the operator's, "" for none.
func LineageSigner(path, secret string) store.LineageSigner {
	return func() (lineage.Signer, error) {
		key, err := LoadLineage(path)
		return lineage.Signer{Key: key, Secret: []byte(secret)}, err
	}
}
