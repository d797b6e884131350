// The pack fits together, and says where it does not.

package receipt_test

import (
	"maps"
	"testing"

	"countersign/contracts/canonjson"
	"countersign/contracts/receipt"

	"github.com/stretchr/testify/require"
)

func TestPack(t *testing.T) {
	t.Parallel()
	a, b := ed25519Key(t, "a"), p256Key(t)
	s := newScene()
	envelope := s.sign(t, b)
	pack, err := receipt.MakePack(envelope, s.contractBytes(t), keySet(t, a, b))
	require.NoError(t, err)
	require.Len(t, pack, len(receipt.Files))
	require.Equal(t, envelope, pack[receipt.FileEnvelope])
	again, err := receipt.MakePack(envelope, s.contractBytes(t), keySet(t, a, b))
	require.NoError(t, err)
	require.Equal(t, pack[receipt.FileManual], again[receipt.FileManual])
	v, err := pack.Verify(receipt.Trust{Pins: pin(a)})
	require.NoError(t, err)
	require.Equal(t, pin(b), v.Signers)
	require.NotContains(t, string(pack[receipt.FileSigstore]), "keyid")
	v, err = receipt.Verify(pack[receipt.FileSigstore], receipt.Trust{Keys: keySet(t, a, b), Pins: pin(a)})
	require.NoError(t, err)
	require.Equal(t, pin(b), v.Signers)
	_, err = pack.Verify(receipt.Trust{})
	requireCode(t, receipt.CodeSignerUnknown, err)

	for _, name := range receipt.Files {
		short := maps.Clone(pack)
		delete(short, name)
		_, err := short.Verify(receipt.Trust{Pins: pin(a)})
		requireCode(t, receipt.CodeUnproven, err)
		require.ErrorContains(t, err, name)
		if name == receipt.FileManual {
			continue // for people to read; nothing rests on it
		}
		for _, at := range []int{0, len(pack[name]) / 2, len(pack[name]) - 1} {
			bad := maps.Clone(pack)
			bad[name] = append([]byte{}, pack[name]...)
			bad[name][at] ^= 1
			_, err = bad.Verify(receipt.Trust{Pins: pin(a)})
			requireCode(t, receipt.CodeUnproven, err)
			// What is broken is broken, whoever is trusted.
			_, err = bad.Verify(receipt.Trust{})
			requireCode(t, receipt.CodeUnproven, err)
		}
		bad := maps.Clone(pack)
		bad[name] = append(append([]byte{}, pack[name]...), '\n')
		_, err = bad.Verify(receipt.Trust{Pins: pin(a)})
		if name == receipt.FileEnvelope || name == receipt.FileSigstore || name == receipt.FileKeys {
			require.NoError(t, err, "white space around JSON changes nothing that is signed")
			continue
		}
		requireCode(t, receipt.CodeUnproven, err)
	}
}

// A pack of another receipt's files is told apart, though each is signed.
func TestMixedPacks(t *testing.T) {
	t.Parallel()
	a := ed25519Key(t, "a")
	one, two := newScene(), newScene()
	two.contract.Task.Goal = "Another goal."
	packs := make([]receipt.Pack, 2)
	for i, s := range []*scene{one, two} {
		var err error
		packs[i], err = receipt.MakePack(s.sign(t, a), s.contractBytes(t), keySet(t, a))
		require.NoError(t, err)
	}
	for _, name := range []string{receipt.FileContract, receipt.FileVerdict, receipt.FileEnvelope, receipt.FileSigstore, receipt.FilePAE, receipt.FileSig} {
		mixed := maps.Clone(packs[0])
		mixed[name] = packs[1][name]
		_, err := mixed.Verify(receipt.Trust{Pins: pin(a)})
		requireCode(t, receipt.CodeUnproven, err)
	}
	_, err := receipt.MakePack(one.sign(t, a), two.contractBytes(t), keySet(t, a))
	requireCode(t, receipt.CodeUnproven, err)
	_, err = receipt.MakePack(one.sign(t, a), one.contractBytes(t), keySet(t, ed25519Key(t, "b")))
	requireCode(t, receipt.CodeUnproven, err)
}

// The newest word on keys beats the pack's own.
func TestKeysOfTheServer(t *testing.T) {
	t.Parallel()
	a := ed25519Key(t, "a")
	s := newScene()
	pack, err := receipt.MakePack(s.sign(t, a), s.contractBytes(t), keySet(t, a))
	require.NoError(t, err)
	now := keySet(t, a)
	now.Keys[0].RevokedAt, now.Keys[0].Reason = new(now.Keys[0].NotBefore), "stolen"
	_, err = pack.Verify(receipt.Trust{Pins: pin(a), Keys: now})
	requireCode(t, receipt.CodeUnproven, err)
	data, err := canonjson.Marshal(now)
	require.NoError(t, err)
	pack[receipt.FileKeys] = data
	_, err = pack.Verify(receipt.Trust{Pins: pin(a)})
	requireCode(t, receipt.CodeUnproven, err)
}
