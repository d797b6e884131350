// The signing key of a development server.

package devstack

import (
	"context"
	"errors"
	"log/slog"

	"countersign/cmd/countersign/internal/deploy"
	"countersign/cmd/countersign/internal/keyfile"
	"countersign/store"
)

// SigningKey is the name of the key's file in a development server's directory.
const SigningKey = "signing-key.pem"

// LineageKey is the name of the lineage key's file there.
const LineageKey = "lineage-key.pem"

// ensureKey makes the key at the first start. When it does not fit the database later, because one of
// them was removed or the key revoked, a new chain is begun: here nobody else is there to do it.
func ensureKey(ctx context.Context, st *store.Store, path string, log *slog.Logger) error {
	algorithm := deploy.Algorithm{SigningAlgorithm: keyfile.Ed25519}
	_, unfit := deploy.Signing{SigningKey: path}.EnsureKey(ctx, st, algorithm)
	if unfit == nil {
		return nil
	}
	if _, err := keyfile.Load(path); err != nil && !errors.Is(err, keyfile.ErrMissing) {
		return err
	}
	made, err := keyfile.Rotate(ctx, st, path, keyfile.Ed25519, true)
	if err != nil {
		return err
	}
	log.Warn("a new chain of signing keys begins; who trusts the old one must be told", "key", made.SHA256, "why", unfit)
	return nil
}
