// Which workers can sign, so that no work begins whose verdict would wait for a signature.

package store

import (
	"context"
	"errors"
	"time"

	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/jackc/pgx/v5"
)

const (
	// signerFresh is how long a worker's word that it can sign is believed.
	signerFresh = 30 * time.Second
	// signerForgotten is after how long silent workers' rows are removed.
	signerForgotten = time.Hour
)

// ErrNotInUse says that this process's signing key is not the instance's key in use.
var ErrNotInUse = errors.New("the signing key is not the instance's key in use: bring this process the new key file, or run `countersign keys list` to see which it is")

// SigningKey is the fingerprint of this process's signing key, or why it has none.
func (s *Store) SigningKey() (sha256 string, err error) {
	if s.signer == nil {
		return "", errors.New("this process has no signing key")
	}
	key, err := s.signer()
	if err != nil {
		return "", err
	}
	return key.Public().SHA256, nil
}

// BeatSigner says, by the database's clock, that this process can sign at the moment. worker is its
// name, which no other process has. The error says why it cannot.
func (s *Store) BeatSigner(ctx context.Context, worker string) error {
	key, err := s.SigningKey()
	if err != nil {
		return err
	}
	tag, err := s.pool.Exec(ctx, `INSERT INTO signers (key_sha256, worker, seen_at, lineage)
		SELECT sha256, $2, clock_timestamp(), $3 FROM keys WHERE sha256 = $1 AND `+inUse+`
		ON CONFLICT (worker) DO UPDATE SET key_sha256 = excluded.key_sha256, seen_at = excluded.seen_at, lineage = excluded.lineage`,
		key, worker, s.LineageKey() == nil)
	if err != nil {
		return translate(err)
	}
	if tag.RowsAffected() == 0 {
		return ErrNotInUse
	}
	return s.exec(ctx, `DELETE FROM signers WHERE seen_at < clock_timestamp() - make_interval(secs => $1)`, signerForgotten.Seconds())
}

// SignsNow refuses with unavailable while this process cannot sign, in the way an acceptance would.
func (s *Store) SignsNow(ctx context.Context) error {
	return s.tx(ctx, func(tx pgx.Tx) error {
		b, k := &pgx.Batch{}, signingKey{}
		s.queueSigningKey(b, &k)
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		now, err := clock(ctx, tx)
		if err == nil {
			_, err = k.usableAt(now)
		}
		return err
	})
}

// LineageKey says why this process cannot sign lineage entries, nil when it can.
func (s *Store) LineageKey() error {
	if s.lineage == nil {
		return errors.New("this process has no lineage key")
	}
	_, err := s.lineage()
	return err
}

// SignerReady refuses with unavailable while no worker has lately said that it can sign.
func (s *Store) SignerReady(ctx context.Context) error { return s.SignerReadyFor(ctx, "") }

// SignerReadyFor is SignerReady for what accepting a task of that declared kind takes; "" for a commit.
func (s *Store) SignerReadyFor(ctx context.Context, artifactKind string) error {
	if err := signerReady(ctx, s.pool, artifactKind); err != nil {
		return translate(err)
	}
	return nil
}

func signerReady(ctx context.Context, q querier, artifactKind string) error {
	var ready bool
	err := q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM signers s JOIN keys k ON k.sha256 = s.key_sha256
		WHERE k.not_after IS NULL AND k.revoked_at IS NULL AND s.seen_at > clock_timestamp() - make_interval(secs => $1) AND (s.lineage OR NOT $2))`,
		signerFresh.Seconds(), workflow.ArtifactMode(artifactKind)).Scan(&ready)
	if err == nil && !ready {
		err = contracts.Refuse(contracts.CodeUnavailable, "no worker can sign receipts at the moment, so no work is taken; repeat the same call")
	}
	return err
}
