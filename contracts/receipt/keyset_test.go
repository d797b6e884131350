// Rotation and revocation: who vouches for whom, and until when.

package receipt_test

import (
	"strings"
	"testing"
	"time"

	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/receipt"

	"github.com/stretchr/testify/require"
)

func TestRotation(t *testing.T) {
	t.Parallel()
	a, b, c, stranger := ed25519Key(t, "a"), p256Key(t), ed25519Key(t, "c"), ed25519Key(t, "s")
	set := keySet(t, a, b, c)
	data, err := canonjson.Marshal(set)
	require.NoError(t, err)
	read, err := receipt.ParseKeySet(data)
	require.NoError(t, err)
	require.Equal(t, set, read)

	at := map[*receipt.Key]time.Time{a: noon.Add(-24 * time.Hour), b: noon.Add(-23 * time.Hour), c: noon}
	for signer, when := range at {
		s := newScene()
		accepted := s.acceptance(t)
		accepted.AcceptedAt = when
		envelope, err := signer.Accept(accepted)
		require.NoError(t, err)
		for _, pinned := range []*receipt.Key{a, b, c} {
			_, err = receipt.Verify(envelope, receipt.Trust{Keys: read, Pins: pin(pinned)})
			require.NoError(t, err, "any pinned key of the chain will do, old or new")
		}
		_, err = receipt.Verify(envelope, receipt.Trust{Keys: read, Pins: pin(stranger)})
		requireCode(t, receipt.CodeSignerUnknown, err)

		// Outside its time a key signs in vain, whoever has got hold of it.
		for _, late := range []time.Time{noon.Add(-25 * time.Hour), noon.Add(-time.Hour)} {
			if signer == c && late.After(set.Keys[2].NotBefore) {
				continue
			}
			accepted.AcceptedAt = late
			envelope, err = signer.Accept(accepted)
			require.NoError(t, err)
			_, err = receipt.Verify(envelope, receipt.Trust{Keys: read, Pins: pin(signer)})
			requireCode(t, receipt.CodeUnproven, err)
		}
	}
}

func TestRevocation(t *testing.T) {
	t.Parallel()
	a, b := ed25519Key(t, "a"), ed25519Key(t, "b")
	set := keySet(t, a)
	sign := func(k *receipt.Key, at time.Time) []byte {
		accepted := newScene().acceptance(t)
		accepted.AcceptedAt = at
		envelope, err := k.Accept(accepted)
		require.NoError(t, err)
		return envelope
	}
	before, after := sign(a, noon), sign(a, noon.Add(time.Hour))
	set.Keys[0].RevokedAt, set.Keys[0].Reason = new(noon.Add(time.Hour)), "stolen"
	v, err := receipt.Verify(before, receipt.Trust{Keys: set, Pins: pin(a)})
	require.NoError(t, err)
	require.Len(t, v.Warnings, 1, "it holds, and the reader is told")
	require.Contains(t, v.Warnings[0], "(stolen)")
	_, err = receipt.Verify(after, receipt.Trust{Keys: set, Pins: pin(a)})
	requireCode(t, receipt.CodeUnproven, err)
	require.ErrorContains(t, err, "revoked")

	// A revoked key vouches for nobody.
	r, err := b.Succeed(a, noon.Add(time.Hour))
	require.NoError(t, err)
	broken := receipt.KeySet{Keys: []receipt.KeyRecord{set.Keys[0], r}}
	requireCode(t, receipt.CodeUnproven, broken.Check())

	// The next key then begins a chain of its own, and has to be pinned itself.
	fresh := receipt.KeySet{Keys: []receipt.KeyRecord{set.Keys[0], b.Begin(noon.Add(2 * time.Hour))}}
	require.NoError(t, fresh.Check())
	late := sign(b, noon.Add(3*time.Hour))
	_, err = receipt.Verify(late, receipt.Trust{Keys: fresh, Pins: pin(b)})
	require.NoError(t, err)
	_, err = receipt.Verify(late, receipt.Trust{Keys: fresh, Pins: pin(a)})
	requireCode(t, receipt.CodeUnproven, err)
	_, err = receipt.Verify(before, receipt.Trust{Keys: fresh, Pins: pin(b)})
	requireCode(t, receipt.CodeUnproven, err)
}

func TestBrokenKeySets(t *testing.T) {
	t.Parallel()
	a, b, c, x := ed25519Key(t, "a"), ed25519Key(t, "b"), ed25519Key(t, "c"), ed25519Key(t, "x")
	byX, err := b.Succeed(x, noon.Add(-23*time.Hour))
	require.NoError(t, err)
	for name, change := range map[string]func(*receipt.KeySet){
		"another fingerprint":            func(s *receipt.KeySet) { s.Keys[0].SHA256 = x.Public().SHA256 },
		"another id":                     func(s *receipt.KeySet) { s.Keys[1].ID = "0123456789abcdef" },
		"another public key":             func(s *receipt.KeySet) { s.Keys[1].PublicPEM = x.Public().PEM },
		"no public key":                  func(s *receipt.KeySet) { s.Keys[1].PublicPEM = "x" },
		"another beginning":              func(s *receipt.KeySet) { s.Keys[1].NotBefore = s.Keys[1].NotBefore.Add(time.Second) },
		"a signature of somebody else":   func(s *receipt.KeySet) { s.Keys[1].Signature = byX.Signature },
		"signed by another":              func(s *receipt.KeySet) { s.Keys[1] = byX },
		"a proof of somebody else":       func(s *receipt.KeySet) { s.Keys[1].Proof = s.Keys[1].Signature },
		"a first key with a voucher":     func(s *receipt.KeySet) { s.Keys = s.Keys[1:] },
		"a key between taken out":        func(s *receipt.KeySet) { s.Keys = append(s.Keys[:1:1], s.Keys[2]) },
		"another order":                  func(s *receipt.KeySet) { s.Keys[0], s.Keys[1] = s.Keys[1], s.Keys[0] },
		"one key twice":                  func(s *receipt.KeySet) { s.Keys = append(s.Keys, s.Keys[2]) },
		"a signature without its signer": func(s *receipt.KeySet) { s.Keys[1].SignedBy = "" },
		"a signer without a signature":   func(s *receipt.KeySet) { s.Keys[1].Signature = "" },
	} {
		set := keySet(t, a, b, c)
		change(&set)
		err := set.Check()
		require.Error(t, err, name)
		require.Equal(t, receipt.CodeUnproven, contracts.CodeOf(err), name)
		_, err = receipt.Verify(newScene().sign(t, c), receipt.Trust{Keys: set, Pins: pin(c)})
		requireCode(t, receipt.CodeUnproven, err)
	}
	for _, bad := range []string{"", "{}x", `{"keys":[{"id":1}]}`, `{"more":1}`, `{"keys":[{}]}`, `{"keys":[{"sha256":"ab"}]}`} {
		_, err := receipt.ParseKeySet([]byte(bad))
		requireCode(t, receipt.CodeUnproven, err)
	}
	// Without its link a key stands alone: what it signs is proved to who pins it and to nobody else.
	set := keySet(t, a, b)
	set.Keys[1].SignedBy, set.Keys[1].Signature, set.Keys[1].Proof = "", "", ""
	_, err = receipt.Verify(newScene().sign(t, b), receipt.Trust{Keys: set, Pins: pin(a)})
	requireCode(t, receipt.CodeUnproven, err)
	_, err = receipt.Verify(newScene().sign(t, b), receipt.Trust{Keys: set, Pins: pin(b)})
	require.NoError(t, err)
}

// A link is no acceptance and an acceptance no link: each has its own type under the signature.
func TestALinkIsNoReceipt(t *testing.T) {
	t.Parallel()
	a, b := ed25519Key(t, "a"), ed25519Key(t, "b")
	pae, err := keySet(t, a, b).Keys[1].LinkPAE()
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(pae), "DSSEv1 36 application/vnd.countersign.key+json "), "%s", pae)
}

func TestKeyFiles(t *testing.T) {
	t.Parallel()
	a := ed25519Key(t, "a")
	public := []byte(a.Public().PEM)
	read, err := receipt.ParsePublicKey(public)
	require.NoError(t, err)
	require.Equal(t, a.Public(), read)
	for _, bad := range []string{"", "x", string(public) + string(public), string(public) + "x", strings.ReplaceAll(string(public), "PUBLIC", "PRIVATE")} {
		_, err := receipt.ParsePublicKey([]byte(bad))
		require.Error(t, err)
		_, err = receipt.ParseKey([]byte(bad))
		require.Error(t, err)
	}
}
