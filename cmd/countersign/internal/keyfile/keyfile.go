// The file of the signing key.

// Package keyfile keeps the keys that sign, that of receipts and that of the lineage: PKCS#8 in PEM,
// readable by its owner alone.
package keyfile

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"countersign/contracts/receipt"
	"countersign/store"
)

// Algorithm is the kind of a new key.
type Algorithm string

// The algorithms.
const (
	Ed25519 Algorithm = "ed25519"
	P256    Algorithm = "p256"
)

// maxSize is far above any key's.
const maxSize = 64 << 10

// ErrMissing says that there is no key file; what wraps it goes on with which.
var ErrMissing = errors.New("there is no")

// Load reads a key. A file that others than its owner can read or write is refused, for a key that
// others know proves nothing.
func Load(path string) (*receipt.Key, error) {
	return load(path, "signing key", receipt.ParseKey,
		"restore the file, or run `countersign migrate` for a new instance and `countersign keys rotate --new-chain` when it is lost for good")
}

// load reads the file of a key that is called what. remedy is what to do when there is none.
func load[K any](path, what string, parse func([]byte) (K, error), remedy string) (key K, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return key, fmt.Errorf("%w %s at %s: %s", ErrMissing, what, path, remedy)
	}
	if err != nil {
		return key, fmt.Errorf("%s: %w", what, err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return key, fmt.Errorf("%s: %w", what, err)
	case !info.Mode().IsRegular():
		return key, fmt.Errorf("%s: %s is no regular file", what, path)
	case info.Mode().Perm()&0o077 != 0:
		return key, fmt.Errorf("%s: others than its owner may use %s (mode %04o): chmod 600 it, and rotate the key if anybody may have read it", what, path, info.Mode().Perm())
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSize))
	if err != nil {
		return key, fmt.Errorf("%s: %w", what, err)
	}
	if key, err = parse(data); err != nil {
		return key, fmt.Errorf("%s: %s: %w", what, path, err)
	}
	return key, nil
}

// Signer reads the key anew whenever it is asked for it, so that one that was rotated, lost or
// exposed is noticed at once.
func Signer(path string) store.Signer {
	return func() (*receipt.Key, error) { return Load(path) }
}

// Ensure is Load that makes the key, and its directory, when there is none.
func Ensure(path string, a Algorithm) (*receipt.Key, error) {
	return ensure(path, Load, func(path string) (*receipt.Key, error) { return Create(path, a) })
}

func ensure[K any](path string, load, create func(string) (K, error)) (K, error) {
	key, err := load(path)
	if !errors.Is(err, ErrMissing) {
		return key, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return key, err
	}
	return create(path)
}

// Create makes a key in a new file; one that exists is left alone and is an error.
func Create(path string, a Algorithm) (*receipt.Key, error) {
	return create(path, "signing key", a, receipt.ParseKey)
}

func create[K any](path, what string, a Algorithm, parse func([]byte) (K, error)) (key K, err error) {
	data, err := generate(a)
	if err == nil {
		err = write(path, data)
	}
	if err != nil {
		return key, fmt.Errorf("%s: %w", what, err)
	}
	return parse(data)
}

func generate(a Algorithm) ([]byte, error) {
	var secret crypto.Signer
	var err error
	if a == P256 {
		secret, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	} else {
		_, secret, err = ed25519.GenerateKey(rand.Reader)
	}
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// write makes the file whole and durable, or not at all: it is written under another name first, and
// linked to its own, which fails when that is taken.
func write(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Sync()
	}
	if closed := tmp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Link(tmp.Name(), path)
	}
	if err != nil {
		return err
	}
	return syncDir(path)
}

func syncDir(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
