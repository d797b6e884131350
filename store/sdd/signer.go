// The tree's signing key and its card.

package sdd

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"countersign/contracts/lineage"
)

// maxKey is far above any key file's size, in bytes.
const maxKey = 64 << 10

// errUnfit says that a tree is not one to record into.
var errUnfit = errors.New("cannot record here")

func unfit(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errUnfit, fmt.Sprintf(format, args...))
}

// loadKey reads the signing key; nil when there is none. One that others can read is refused.
func (t *tree) loadKey() (ed25519.PrivateKey, error) {
	info, err := t.root.Lstat(lineage.KeyPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, unfit("others than its owner may use the signing key %s/%s (mode %04o)", directory, lineage.KeyPath, info.Mode().Perm())
	}
	data, err := t.read(lineage.KeyPath, maxKey)
	if err != nil {
		return nil, err
	}
	key, err := lineage.ParseKey(data)
	if err != nil {
		return nil, unfit("the signing key %s/%s: %v", directory, lineage.KeyPath, err)
	}
	return key, nil
}

// makeKey makes the signing key of a tree that has recorded nothing yet.
func (t *tree) makeKey() (ed25519.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	data, err := lineage.EncodeKey(key)
	if err != nil {
		return nil, err
	}
	if err := t.makeDirs("artifacts", 0o755); err != nil {
		return nil, err
	}
	if err := t.makeDirs(path.Dir(lineage.KeyPath), 0o700); err != nil {
		return nil, err
	}
	return key, t.replace(lineage.KeyPath, data, 0o600)
}

// card reads the agent's card; nil when there is none.
func (t *tree) card() (*lineage.Card, error) {
	data, err := t.read(lineage.CardPath, lineage.MaxCard)
	if data == nil || err != nil {
		return nil, err
	}
	card, err := lineage.ParseCard(data)
	if err != nil {
		return nil, unfit("%s/%s is no card: %v", directory, lineage.CardPath, err)
	}
	return &card, nil
}

// publish writes the signing key's card.
func (w *writer) publish() error {
	data, err := lineage.NewCard(w.signer.Public()).Encode()
	if err != nil {
		return err
	}
	return w.replace(lineage.CardPath, data, 0o644)
}
