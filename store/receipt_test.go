// Receipts and the keys they are signed with, in the database.

package store_test

import (
	"errors"
	"sync"
	"testing"

	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/receipt"
	"countersign/contracts/workflow"
	"countersign/store"
	"countersign/store/storetest"

	"github.com/stretchr/testify/require"
)

// keyOf makes a signer of the key of that name.
func keyOf(t *testing.T, name string) store.Signer {
	key := storetest.Key(t, name)
	return func() (*receipt.Key, error) { return key, nil }
}

func (d *driver) envelope() []byte {
	d.t.Helper()
	r, err := d.Store.TaskReceipt(d.t.Context(), d.Owner, d.state.TaskID)
	require.NoError(d.t, err)
	return r.Envelope
}

func (d *driver) proved(pins ...string) (receipt.Verified, error) {
	d.t.Helper()
	keys, err := d.Store.Keys(d.t.Context())
	require.NoError(d.t, err)
	detail, err := d.Store.Detail(d.t.Context(), d.Owner, d.id, 0, 1)
	require.NoError(d.t, err)
	return receipt.VerifyWith(d.envelope(), detail.Contract, receipt.Trust{Keys: keys, Pins: pins})
}

func (d *driver) sound() {
	d.t.Helper()
	findings, err := d.Store.Fsck(d.t.Context())
	require.NoError(d.t, err)
	require.Empty(d.t, findings)
}

func TestTheReceiptIsSignedWithTheAcceptance(t *testing.T) {
	t.Parallel()
	d := newDriver(t, lease, deadline)
	d.work(candidate)
	d.verify("tests")
	d.work(candidate)
	d.verify()
	v, err := d.proved(storetest.Key(t, storetest.First).Public().SHA256)
	require.NoError(t, err)
	require.Equal(t, d.id, v.WorkflowID)
	require.Equal(t, d.state.ReceiptID, v.ReceiptID)
	require.Equal(t, candidate, v.CandidateCommit)
	require.Equal(t, d.state.ContractDigest, v.ContractDigest)

	before := d.envelope()
	canonical, err := canonjson.Canonical(before)
	require.NoError(t, err)
	require.Equal(t, canonical, before)
	require.Equal(t, before, d.envelope())
	d.sound()
}

// Without a key that may sign there is no acceptance at all, and the same command accepts once there
// is one.
func TestNoAcceptanceWithoutAKey(t *testing.T) {
	t.Parallel()
	d := newDriver(t, lease, deadline)
	d.work(candidate)
	d.claim()
	e := completed(d.runTo(), candidate)
	e.Verdict = d.verdict()
	d.sent++
	e.Fence, e.Sequence = d.held, d.sent
	command := d.command(e)
	before, err := d.Store.Detail(t.Context(), d.Owner, d.id, 0, 100)
	require.NoError(t, err)
	for name, signer := range map[string]store.Signer{
		"no signer":   nil,
		"a lost file": func() (*receipt.Key, error) { return nil, errors.New("the secret path") },
		"another key": keyOf(t, "another"),
	} {
		_, err := d.Open(t, store.Options{Signer: signer}).Commit(t.Context(), d.id, d.state.Sequence+1, command)
		requireCode(t, contracts.CodeUnavailable, err)
		shown, ok := errors.AsType[*contracts.Error](err)
		require.True(t, ok)
		require.NotContains(t, shown.Detail, "secret", name)
		after, err := d.Store.Detail(t.Context(), d.Owner, d.id, 0, 100)
		require.NoError(t, err)
		require.Equal(t, before, after, name)
	}
	d.sound()
	out := d.commit(command)
	require.Equal(t, workflow.PhaseAccepted, out.Step.Phase)
	d.sound()
}

// A verdict that asks for changes needs no key: nothing is signed for it.
func TestOnlyAnAcceptanceNeedsTheKey(t *testing.T) {
	t.Parallel()
	d := newDriver(t, lease, deadline)
	d.Store = d.Open(t, store.Options{})
	d.work(candidate)
	out := d.verify("tests")
	require.Equal(t, workflow.PhaseOffered, out.Step.Phase)
}

func TestRotationInTheDatabase(t *testing.T) {
	t.Parallel()
	d := newDriver(t, lease, deadline)
	first, second, third := storetest.Key(t, storetest.First), storetest.Key(t, "second"), storetest.Key(t, "third")
	d.work(candidate)
	d.verify()
	old := d.envelope()

	_, err := d.Store.RotateKey(t.Context(), third, second)
	requireCode(t, contracts.CodeStateConflict, err)
	_, err = d.Store.RotateKey(t.Context(), first, first)
	requireCode(t, contracts.CodeAlreadyExists, err)
	made, err := d.Store.RotateKey(t.Context(), second, first)
	require.NoError(t, err)
	require.Equal(t, first.Public().SHA256, made.SignedBy)
	_, err = d.Store.RotateKey(t.Context(), third, first)
	requireCode(t, contracts.CodeStateConflict, err)

	again, err := d.Dispatch(t, d.Spec(d.AddTask(t)), lease, deadline)
	require.NoError(t, err)
	oldID := d.id
	d.id = again.WorkflowID
	d.reload()
	d.work(candidate)
	d.claim()
	e := completed(d.runTo(), candidate)
	e.Verdict = d.verdict()
	d.sent++
	e.Fence, e.Sequence = d.held, d.sent
	_, err = d.Store.Commit(t.Context(), d.id, d.state.Sequence+1, d.command(e))
	requireCode(t, contracts.CodeUnavailable, err)
	d.Store = d.Open(t, store.Options{Signer: keyOf(t, "second")})
	require.Equal(t, workflow.PhaseAccepted, d.commit(d.command(e)).Step.Phase)
	for _, pinned := range []*receipt.Key{first, second} {
		v, err := d.proved(pinned.Public().SHA256)
		require.NoError(t, err)
		require.Equal(t, []string{second.Public().SHA256}, v.Signers)
		d.id, oldID = oldID, d.id
		d.reload()
		v, err = d.proved(pinned.Public().SHA256)
		require.NoError(t, err)
		require.Equal(t, []string{first.Public().SHA256}, v.Signers)
		require.Equal(t, old, d.envelope())
		d.id, oldID = oldID, d.id
		d.reload()
	}
	d.sound()

	// Revoked: what was signed before stays, nothing is signed any more, a new chain can begin.
	_, err = d.Store.RevokeKey(t.Context(), "nobody", "x")
	requireCode(t, contracts.CodeNotFound, err)
	revoked, err := d.Store.RevokeKey(t.Context(), receipt.KeyID(second.Public().SHA256), "stolen")
	require.NoError(t, err)
	require.Equal(t, "stolen", revoked.Reason)
	same, err := d.Store.RevokeKey(t.Context(), second.Public().SHA256, "again")
	require.NoError(t, err)
	require.Equal(t, revoked, same)
	require.NoError(t, errOnly(d.proved(first.Public().SHA256)))
	require.Error(t, d.Store.SignsNow(t.Context()))
	requireCode(t, contracts.CodeUnavailable, d.Store.SignerReady(t.Context()))
	require.ErrorIs(t, d.Store.BeatSigner(t.Context(), "w"), store.ErrNotInUse)
	_, err = d.Store.RotateKey(t.Context(), third, second)
	requireCode(t, contracts.CodeStateConflict, err)
	made, err = d.Store.RotateKey(t.Context(), third, nil)
	require.NoError(t, err)
	require.Empty(t, made.SignedBy)
	d.sound()
}

func errOnly[T any](_ T, err error) error { return err }

func TestFirstKey(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	_, err := b.Pool.Exec(t.Context(), `DELETE FROM signers; DELETE FROM keys`)
	require.NoError(t, err)
	keys, err := b.Store.Keys(t.Context())
	require.NoError(t, err)
	require.NotNil(t, keys.Keys)
	_, err = b.Store.EnsureKey(t.Context(), func() (*receipt.Key, error) { return nil, errors.New("no") })
	require.Error(t, err)
	var wg sync.WaitGroup
	seen := make([]string, 8)
	for i := range seen {
		wg.Go(func() {
			sha256, err := b.Store.EnsureKey(t.Context(), keyOf(t, string(rune('a'+i))))
			if err != nil {
				t.Error(err)
			}
			seen[i] = sha256
		})
	}
	wg.Wait()
	for _, s := range seen {
		require.Equal(t, seen[0], s)
	}
	_, err = b.Store.RevokeKey(t.Context(), seen[0], "x")
	require.NoError(t, err)
	sha256, err := b.Store.EnsureKey(t.Context(), keyOf(t, "z"))
	require.NoError(t, err)
	require.Empty(t, sha256)
}

func TestSigners(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	require.NoError(t, b.Store.SignerReady(t.Context()))
	require.NoError(t, b.Store.SignsNow(t.Context()))
	_, err := b.Pool.Exec(t.Context(), `DELETE FROM signers`)
	require.NoError(t, err)
	requireCode(t, contracts.CodeUnavailable, b.Store.SignerReady(t.Context()))
	for range 2 {
		require.NoError(t, b.Store.BeatSigner(t.Context(), "one"))
	}
	require.NoError(t, b.Store.SignerReady(t.Context()))
	_, err = b.Pool.Exec(t.Context(), `UPDATE signers SET seen_at = seen_at - interval '31 seconds'`)
	require.NoError(t, err)
	requireCode(t, contracts.CodeUnavailable, b.Store.SignerReady(t.Context()))
	_, err = b.Pool.Exec(t.Context(), `UPDATE signers SET seen_at = seen_at - interval '2 hours'`)
	require.NoError(t, err)
	require.NoError(t, b.Store.BeatSigner(t.Context(), "two"))
	var left int
	require.NoError(t, b.Pool.QueryRow(t.Context(), `SELECT count(*) FROM signers`).Scan(&left))
	require.Equal(t, 1, left)
	require.Error(t, b.Open(t, store.Options{}).BeatSigner(t.Context(), "three"))
	require.Error(t, b.Open(t, store.Options{}).SignsNow(t.Context()))
	require.Error(t, b.Open(t, store.Options{Signer: keyOf(t, "another")}).SignsNow(t.Context()))
}

// Whatever comes first, acceptance or rotation: no receipt is signed by a key that was not in use.
func TestAcceptanceAndRotationAtOnce(t *testing.T) {
	t.Parallel()
	d := newDriver(t, lease, deadline)
	previous := storetest.Key(t, storetest.First)
	for round := range 6 {
		d.work(candidate)
		d.claim()
		e := completed(d.runTo(), candidate)
		e.Verdict = d.verdict()
		d.sent++
		e.Fence, e.Sequence = d.held, d.sent
		command := d.command(e)
		next := storetest.Key(t, string(rune('A'+round)))
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := d.Store.RotateKey(t.Context(), next, previous); err != nil {
				t.Error(err)
			}
		})
		_, err := d.Store.Commit(t.Context(), d.id, d.state.Sequence+1, command)
		wg.Wait()
		d.Store = d.Open(t, store.Options{Signer: keyOf(t, string(rune('A'+round)))})
		if err != nil {
			requireCode(t, contracts.CodeUnavailable, err)
			require.Equal(t, workflow.PhaseAccepted, d.commit(command).Step.Phase)
		}
		previous = next
		again, err := d.Dispatch(t, d.Spec(d.AddTask(t)), lease, deadline)
		require.NoError(t, err)
		d.id = again.WorkflowID
		d.reload()
	}
	d.sound()
}
