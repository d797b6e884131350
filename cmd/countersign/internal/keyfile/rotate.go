// The change of the key: the new file, the database's word, the old file's place.

package keyfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"countersign/contracts"
	"countersign/contracts/receipt"
	"countersign/store"
)

// Rotate makes a new key, has the database put it in the place of the key in use, and puts its file in
// the place of the old one, whose secret is then gone. The old key vouches for the new one; with
// newChain, when it is lost or revoked, nobody does. It can be interrupted anywhere: the next call
// finishes what the database has taken, and begins again otherwise.
func Rotate(ctx context.Context, st *store.Store, path string, a Algorithm, newChain bool) (receipt.KeyRecord, error) {
	staged := path + ".next"
	if made, err := finish(ctx, st, path, staged); err != nil || made.SHA256 != "" {
		return made, err
	}
	var previous *receipt.Key
	if !newChain {
		var err error
		if previous, err = Load(path); err != nil {
			return receipt.KeyRecord{}, fmt.Errorf("the key in use cannot vouch for a new one (--new-chain does without): %w", err)
		}
	}
	next, err := Create(staged, a)
	if err != nil {
		return receipt.KeyRecord{}, err
	}
	made, err := st.RotateKey(ctx, next, previous)
	if refusal, ok := errors.AsType[*contracts.Error](err); ok && refusal.Code != contracts.CodeUnavailable {
		return made, errors.Join(err, os.Remove(staged))
	}
	if err != nil {
		return made, fmt.Errorf("whether the key was changed is not known; run the same again: %w", err)
	}
	return made, promote(staged, path)
}

// finish takes up a rotation that was interrupted.
func finish(ctx context.Context, st *store.Store, path, staged string) (receipt.KeyRecord, error) {
	key, err := Load(staged)
	if errors.Is(err, ErrMissing) {
		return receipt.KeyRecord{}, nil
	}
	if err != nil {
		return receipt.KeyRecord{}, err
	}
	set, err := st.Keys(ctx)
	if err != nil {
		return receipt.KeyRecord{}, err
	}
	for _, r := range set.Keys {
		if r.SHA256 == key.Public().SHA256 {
			return r, promote(staged, path)
		}
	}
	if err := os.Remove(staged); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return receipt.KeyRecord{}, err
	}
	return receipt.KeyRecord{}, nil
}

func promote(staged, path string) error {
	if err := os.Rename(staged, path); err != nil {
		return fmt.Errorf("the key was changed, but its file is still %s; run the same again: %w", staged, err)
	}
	return syncDir(path)
}
