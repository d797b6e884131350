// The envelope's rules, each with what breaks it.

package receipt_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"countersign/contracts"
	"countersign/contracts/receipt"

	"github.com/go-json-experiment/json"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"github.com/stretchr/testify/require"
)

// resigned is an envelope around a payload of any type, signed by the scene's own means only in so far
// as the signatures of the original are kept.
func rewritten(t testing.TB, envelope []byte, change func(*dsse.Envelope)) []byte {
	t.Helper()
	var e dsse.Envelope
	require.NoError(t, json.Unmarshal(envelope, &e))
	change(&e)
	data, err := json.Marshal(e)
	require.NoError(t, err)
	return data
}

func flipped(t testing.TB, text string, bit int) string {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(text)
	require.NoError(t, err)
	raw[bit/8%len(raw)] ^= 1 << (bit % 8)
	return base64.StdEncoding.EncodeToString(raw)
}

func urlSafe(s string) string { return strings.NewReplacer("+", "-", "/", "_").Replace(s) }

func TestEnvelopeRules(t *testing.T) {
	t.Parallel()
	a, b := ed25519Key(t, "a"), ed25519Key(t, "b")
	good := newScene().sign(t, a)
	byB := newScene().sign(t, b)
	signatureOf := func(envelope []byte) dsse.Signature {
		var e dsse.Envelope
		require.NoError(t, json.Unmarshal(envelope, &e))
		return e.Signatures[0]
	}
	fails, unknown := receipt.CodeUnproven, receipt.CodeSignerUnknown
	for name, c := range map[string]struct {
		want   contracts.Code
		change func(*dsse.Envelope)
	}{
		"as it is": {"", func(*dsse.Envelope) {}},
		"the URL-safe alphabet": {"", func(e *dsse.Envelope) {
			e.Payload, e.Signatures[0].Sig = urlSafe(e.Payload), urlSafe(e.Signatures[0].Sig)
		}},
		"without padding":                  {"", func(e *dsse.Envelope) { e.Signatures[0].Sig = strings.TrimRight(e.Signatures[0].Sig, "=") }},
		"two alphabets at once":            {fails, func(e *dsse.Envelope) { e.Payload = "+_" + e.Payload }},
		"too much padding":                 {fails, func(e *dsse.Envelope) { e.Signatures[0].Sig += "=" }},
		"line breaks":                      {fails, func(e *dsse.Envelope) { e.Payload = e.Payload[:4] + "\n" + e.Payload[4:] }},
		"no base64":                        {fails, func(e *dsse.Envelope) { e.Signatures[0].Sig = "%%%%" }},
		"another payloadType":              {fails, func(e *dsse.Envelope) { e.PayloadType = "application/json" }},
		"the payloadType in capitals":      {fails, func(e *dsse.Envelope) { e.PayloadType = strings.ToUpper(e.PayloadType) }},
		"the type of a key's link":         {fails, func(e *dsse.Envelope) { e.PayloadType = receipt.LinkType }},
		"no payloadType":                   {fails, func(e *dsse.Envelope) { e.PayloadType = "" }},
		"no payload":                       {fails, func(e *dsse.Envelope) { e.Payload = "" }},
		"no signatures":                    {fails, func(e *dsse.Envelope) { e.Signatures = nil }},
		"an empty signature":               {fails, func(e *dsse.Envelope) { e.Signatures[0].Sig = "" }},
		"an empty signature beside a good": {fails, func(e *dsse.Envelope) { e.Signatures = append(e.Signatures, dsse.Signature{}) }},
		"a short signature":                {fails, func(e *dsse.Envelope) { e.Signatures[0].Sig = "AAAA" }},
		"the signature twice":              {"", func(e *dsse.Envelope) { e.Signatures = append(e.Signatures, e.Signatures[0]) }},
		"a stranger's signature beside it": {"", func(e *dsse.Envelope) { e.Signatures = append(e.Signatures, signatureOf(byB)) }},
		"keyid of another key":             {"", func(e *dsse.Envelope) { e.Signatures[0].KeyID = b.Public().SHA256 }},
		"no keyid":                         {"", func(e *dsse.Envelope) { e.Signatures[0].KeyID = "" }},
		"the right keyid by another key":   {fails, func(e *dsse.Envelope) { e.Signatures[0].Sig = signatureOf(byB).Sig }},
		"another key":                      {unknown, func(e *dsse.Envelope) { e.Signatures[0] = signatureOf(byB) }},
		"another key that does not say so": {fails, func(e *dsse.Envelope) { e.Signatures[0] = dsse.Signature{Sig: signatureOf(byB).Sig} }},
	} {
		v, err := receipt.Verify(rewritten(t, good, c.change), receipt.Trust{Pinned: []receipt.PublicKey{a.Public()}})
		if c.want == "" {
			require.NoError(t, err, name)
			require.Equal(t, pin(a), v.Signers, "%s: a key counts once", name)
			continue
		}
		require.Error(t, err, name)
		require.Equal(t, c.want, contracts.CodeOf(err), "%s: %v", name, err)
	}
}

// Every bit of the signature, and of the payload a good sample, is under the signature.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	for _, key := range []*receipt.Key{ed25519Key(t, "a"), p256Key(t)} {
		good := newScene().sign(t, key)
		trust := receipt.Trust{Pinned: []receipt.PublicKey{key.Public()}}
		for bit := range 512 {
			_, err := receipt.Verify(rewritten(t, good, func(e *dsse.Envelope) { e.Signatures[0].Sig = flipped(t, e.Signatures[0].Sig, bit) }), trust)
			requireCode(t, receipt.CodeUnproven, err)
		}
		for bit := 0; bit < 1<<14; bit += 61 {
			_, err := receipt.Verify(rewritten(t, good, func(e *dsse.Envelope) { e.Payload = flipped(t, e.Payload, bit) }), trust)
			requireCode(t, receipt.CodeUnproven, err)
		}
	}
}

func TestMalformedReceipts(t *testing.T) {
	t.Parallel()
	a := ed25519Key(t, "a")
	good := string(newScene().sign(t, a))
	for _, bad := range []string{
		"", "null", "[]", "{}", "{", good + good, strings.Replace(good, `"payload":`, `"payload":"","payload":`, 1),
		strings.Replace(good, `"payload":`, `"Payload":`, 1), strings.Replace(good, `{`, `{"more":1,`, 1),
		`{"mediaType":"application/vnd.dev.sigstore.bundle.v0.2+json"}`, `{"mediaType":"x","dsseEnvelope":` + good + `}`,
	} {
		_, err := receipt.Verify([]byte(bad), receipt.Trust{Pinned: []receipt.PublicKey{a.Public()}})
		requireCode(t, receipt.CodeUnproven, err)
	}
}

func TestNobodyIsTrustedByHimself(t *testing.T) {
	t.Parallel()
	a, b := ed25519Key(t, "a"), ed25519Key(t, "b")
	good := newScene().sign(t, a)
	for _, trust := range []receipt.Trust{
		{}, {Keys: keySet(t, a)}, {Keys: keySet(t, a), Pins: pin(b)}, {Pins: pin(a)}, {Pinned: []receipt.PublicKey{b.Public()}},
		{Keys: keySet(t, b), Pins: pin(b)},
	} {
		_, err := receipt.Verify(good, trust)
		requireCode(t, receipt.CodeSignerUnknown, err)
	}
	_, err := receipt.Verify(good, receipt.Trust{Keys: keySet(t, a), Pins: pin(a)})
	require.NoError(t, err)
}

func FuzzVerify(f *testing.F) {
	a := ed25519Key(f, "a")
	s := newScene()
	good := s.sign(f, a)
	f.Add(good)
	pack, err := receipt.MakePack(good, s.contractBytes(f), keySet(f, a))
	require.NoError(f, err)
	f.Add(pack[receipt.FileSigstore])
	want, err := receipt.Verify(good, receipt.Trust{Pinned: []receipt.PublicKey{a.Public()}})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := receipt.Verify(data, receipt.Trust{Pinned: []receipt.PublicKey{a.Public()}})
		if err == nil {
			require.Equal(t, want, got, "nothing verifies but what was signed")
		}
	})
}
