// The keys that receipts are signed with, in public.

package store

import (
	"context"
	"errors"
	"time"

	"countersign/contracts"
	"countersign/contracts/receipt"

	"github.com/jackc/pgx/v5"
)

// keyRow is one key as it is stored.
type keyRow struct {
	SHA256    string `db:"sha256"`
	PublicPEM string `db:"public_pem"`
	NotBefore time.Time
	NotAfter  *time.Time
	RevokedAt *time.Time
	Reason    string
	SignedBy  string
	Signature string
	Proof     string
}

const keyColumns = `sha256, public_pem, not_before, not_after, revoked_at, coalesce(reason, '') AS reason,
	coalesce(signed_by, '') AS signed_by, coalesce(signature, '') AS signature, coalesce(proof, '') AS proof`

// inUse selects the one key that may sign.
const inUse = `not_after IS NULL AND revoked_at IS NULL`

func (r keyRow) record() receipt.KeyRecord {
	return receipt.KeyRecord{
		ID: receipt.KeyID(r.SHA256), PublicPEM: r.PublicPEM, SHA256: r.SHA256, NotBefore: r.NotBefore, NotAfter: r.NotAfter,
		RevokedAt: r.RevokedAt, Reason: r.Reason, SignedBy: r.SignedBy, Signature: r.Signature, Proof: r.Proof,
	}
}

// Keys are all keys of the instance, oldest first.
func (s *Store) Keys(ctx context.Context) (receipt.KeySet, error) {
	set, err := readKeys(ctx, s.pool)
	if err != nil {
		return set, translate(err)
	}
	return set, nil
}

func readKeys(ctx context.Context, q querier) (receipt.KeySet, error) {
	set := receipt.KeySet{Keys: []receipt.KeyRecord{}}
	rows, err := q.Query(ctx, `SELECT `+keyColumns+` FROM keys ORDER BY sequence`)
	if err != nil {
		return set, err
	}
	stored, err := pgx.CollectRows(rows, pgx.RowToStructByName[keyRow])
	for _, r := range stored {
		set.Keys = append(set.Keys, r.record())
	}
	return set, err
}

// EnsureKey gives an instance that has no key yet the one that first makes, and returns the
// fingerprint of the key in use, "" when the last one was revoked. Two calls at once agree.
func (s *Store) EnsureKey(ctx context.Context, first Signer) (sha256 string, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		set, err := lockKeys(ctx, tx)
		if err != nil {
			return err
		}
		if len(set.Keys) > 0 {
			sha256 = usable(set)
			return nil
		}
		key, err := first()
		if err != nil {
			return err
		}
		sha256 = key.Public().SHA256
		now, err := clock(ctx, tx)
		if err != nil {
			return err
		}
		return insertKey(ctx, tx, 1, key.Begin(now))
	})
	return sha256, err
}

// RotateKey puts next in the place of the key in use. previous must be that key and vouches for next;
// nil begins a new chain, which nobody vouches for.
func (s *Store) RotateKey(ctx context.Context, next, previous *receipt.Key) (made receipt.KeyRecord, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		set, err := lockKeys(ctx, tx)
		if err != nil {
			return err
		}
		active := usable(set)
		if previous != nil && previous.Public().SHA256 != active {
			return contracts.Refuse(contracts.CodeStateConflict, "the key that should vouch for the new one is not the instance's key in use")
		}
		// After the locks, so that no acceptance under the old key is dated later.
		now, err := clock(ctx, tx)
		if err != nil {
			return err
		}
		if made = next.Begin(now); previous != nil {
			if made, err = next.Succeed(previous, now); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, `UPDATE keys SET not_after = $1 WHERE `+inUse, now); err != nil {
			return err
		}
		return insertKey(ctx, tx, len(set.Keys)+1, made)
	})
	return made, err
}

// RevokeKey ends a key for ever: nothing that it signs from now on is believed. id is a key's id or
// fingerprint. Revoking it again changes nothing.
func (s *Store) RevokeKey(ctx context.Context, id, reason string) (revoked receipt.KeyRecord, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		set, err := lockKeys(ctx, tx)
		if err != nil {
			return err
		}
		for _, k := range set.Keys {
			if k.ID != id && k.SHA256 != id {
				continue
			}
			rows, err := tx.Query(ctx, `UPDATE keys SET revoked_at = coalesce(revoked_at, clock_timestamp()), reason = coalesce(reason, $2)
				WHERE sha256 = $1 RETURNING `+keyColumns, k.SHA256, reason)
			if err != nil {
				return err
			}
			row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[keyRow])
			revoked = row.record()
			return err
		}
		return notFound("key")
	})
	return revoked, err
}

// lockKeys reads all keys; until the transaction ends nobody adds or ends one, and no acceptance that
// is under way uses one.
func lockKeys(ctx context.Context, tx pgx.Tx) (receipt.KeySet, error) {
	if _, err := tx.Exec(ctx, `SELECT FROM instance FOR NO KEY UPDATE`); err != nil {
		return receipt.KeySet{}, err
	}
	if _, err := tx.Exec(ctx, `SELECT FROM keys FOR NO KEY UPDATE`); err != nil {
		return receipt.KeySet{}, err
	}
	return readKeys(ctx, tx)
}

// usable is the fingerprint of the key in use, "" for none.
func usable(set receipt.KeySet) string {
	for _, k := range set.Keys {
		if k.NotAfter == nil && k.RevokedAt == nil {
			return k.SHA256
		}
	}
	return ""
}

func insertKey(ctx context.Context, tx pgx.Tx, sequence int, k receipt.KeyRecord) error {
	_, err := tx.Exec(ctx, `INSERT INTO keys (sequence, sha256, public_pem, not_before, signed_by, signature, proof)
		VALUES ($1, $2, $3, $4, nullif($5, ''), nullif($6, ''), nullif($7, ''))`,
		sequence, k.SHA256, k.PublicPEM, k.NotBefore, k.SignedBy, k.Signature, k.Proof)
	if duplicate(err) {
		return contracts.Refuse(contracts.CodeAlreadyExists, "the instance has had this key before")
	}
	return err
}

func clock(ctx context.Context, tx pgx.Tx) (now time.Time, err error) {
	err = tx.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now)
	return now, err
}

// signingKey is the key of this process and whether it may sign, found under its row's lock.
type signingKey struct {
	key       *receipt.Key // nil when there is none at the moment
	notBefore *time.Time   // nil when it is not the key in use
}

// queueSigningKey locks the row of this process's key, so that it is neither replaced nor revoked
// before the transaction has committed. Why there is no key is not told here, where it could travel
// on: the worker's log says it.
func (s *Store) queueSigningKey(b *pgx.Batch, k *signingKey) {
	*k = signingKey{}
	if s.signer == nil {
		return
	}
	key, err := s.signer()
	if err != nil {
		return
	}
	k.key = key
	b.Queue(`SELECT not_before FROM keys WHERE sha256 = $1 AND `+inUse+` FOR SHARE`, key.Public().SHA256).
		QueryRow(func(row pgx.Row) error {
			if err := row.Scan(&k.notBefore); !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
			return nil
		})
}

// usableAt is the key when it may sign at a time. Else the acceptance has to wait for a process that
// can, and says so.
func (k signingKey) usableAt(at time.Time) (*receipt.Key, error) {
	if k.key == nil || k.notBefore == nil || at.Before(*k.notBefore) {
		return nil, contracts.Refuse(contracts.CodeUnavailable, "the receipt cannot be signed at the moment; repeat the same call")
	}
	return k.key, nil
}
