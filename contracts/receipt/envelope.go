// The DSSE envelope.

package receipt

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"countersign/contracts/canonjson"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
)

// seal signs a payload and returns the envelope's RFC 8785 bytes.
func (k *Key) seal(payload []byte) ([]byte, error) {
	signature, err := k.sign(dsse.PAE(PayloadType, payload))
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	return canonjson.Marshal(dsse.Envelope{
		PayloadType: PayloadType,
		Payload:     base64.StdEncoding.EncodeToString(payload),
		Signatures:  []dsse.Signature{{KeyID: k.public.SHA256, Sig: base64.StdEncoding.EncodeToString(signature)}},
	})
}

// envelope is one that was read: decoded, and not believed yet.
type envelope struct {
	payload    []byte
	pae        []byte // what was signed, byte for byte
	signatures []signature
}

type signature struct {
	keyID string // a hint and nothing more
	bytes []byte
}

// wireEnvelope is dsse.Envelope with a keyid that may be absent, as sigstore's bundles have it.
type wireEnvelope struct {
	PayloadType string          `json:"payloadType"`
	Payload     string          `json:"payload"`
	Signatures  []wireSignature `json:"signatures"`
}

type wireSignature struct {
	KeyID string `json:"keyid,omitzero"`
	Sig   string `json:"sig"`
}

// parseEnvelope reads an envelope strictly. The payload's type must be the one we know, and there must
// be a signature.
func parseEnvelope(data []byte) (envelope, error) {
	var w wireEnvelope
	if err := canonjson.Decode(data, &w); err != nil {
		return envelope{}, err
	}
	return w.open()
}

func (w wireEnvelope) open() (envelope, error) {
	if w.PayloadType != PayloadType {
		return envelope{}, fmt.Errorf("the payloadType is %q", w.PayloadType)
	}
	payload, err := decode(w.Payload)
	if err != nil {
		return envelope{}, fmt.Errorf("payload: %w", err)
	}
	if len(w.Signatures) == 0 {
		return envelope{}, errors.New("there is no signature")
	}
	e := envelope{payload: payload, pae: dsse.PAE(w.PayloadType, payload)}
	for _, s := range w.Signatures {
		raw, err := decode(s.Sig)
		if err != nil {
			return envelope{}, fmt.Errorf("signature: %w", err)
		}
		if len(raw) == 0 {
			return envelope{}, errors.New("a signature is empty")
		}
		e.signatures = append(e.signatures, signature{s.KeyID, raw})
	}
	return e, nil
}

// decode takes both alphabets of base64, padded or not, but no mixture, no line breaks and no stray
// bits: one text stands for one sequence of bytes.
func decode(text string) ([]byte, error) {
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(text, "-_") {
		encoding = base64.RawURLEncoding
	}
	unpadded := strings.TrimRight(text, "=")
	if padding := len(text) - len(unpadded); padding > 0 && len(text)%4 != 0 || padding > 2 {
		return nil, errors.New("the base64 padding is wrong")
	}
	if strings.ContainsAny(unpadded, "\r\n") {
		return nil, errors.New("the base64 has line breaks")
	}
	return encoding.Strict().DecodeString(unpadded)
}

// signers are the distinct keys under which the envelope has a signature; a key counts once, however
// often it signed.
func (e envelope) signers(keys []PublicKey) []PublicKey {
	var found []PublicKey
	for _, key := range keys {
		for _, s := range e.signatures {
			if key.verifies(e.pae, s.bytes) {
				found = append(found, key)
				break
			}
		}
	}
	return found
}
