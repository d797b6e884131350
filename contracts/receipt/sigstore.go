// The same envelope as sigstore's tools take it: a bundle, version 0.3.

package receipt

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"

	"countersign/contracts/canonjson"

	"github.com/go-json-experiment/json"
)

const bundleType = "application/vnd.dev.sigstore.bundle.v0.3+json"

// bundle is the part of sigstore's bundle that a signature by a plain key needs.
type bundle struct {
	MediaType            string       `json:"mediaType"`
	VerificationMaterial material     `json:"verificationMaterial"`
	DSSEEnvelope         wireEnvelope `json:"dsseEnvelope"`
}

type material struct {
	PublicKey keyHint `json:"publicKey"`
}

type keyHint struct {
	Hint string `json:"hint"`
}

// makeBundle wraps an envelope. The keyid is left out, for cosign refuses any that it did not derive;
// the hint is the one it would have written itself.
func makeBundle(envelope []byte) ([]byte, error) {
	var w wireEnvelope
	if err := json.Unmarshal(envelope, &w); err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	b := bundle{MediaType: bundleType, DSSEEnvelope: w}
	for i := range w.Signatures {
		fingerprint, err := hex.DecodeString(w.Signatures[i].KeyID)
		if err != nil {
			return nil, fmt.Errorf("bundle: %w", err)
		}
		b.VerificationMaterial.PublicKey.Hint = base64.StdEncoding.EncodeToString(fingerprint)
		w.Signatures[i].KeyID = ""
	}
	return canonjson.Marshal(b)
}

// parseReceipt reads an envelope, bare or in a bundle.
func parseReceipt(data []byte) (envelope, error) {
	var kind struct {
		MediaType string `json:"mediaType"`
	}
	if json.Unmarshal(data, &kind) == nil && kind.MediaType != "" {
		var b bundle
		if err := canonjson.Decode(data, &b); err != nil {
			return envelope{}, err
		}
		if b.MediaType != bundleType {
			return envelope{}, fmt.Errorf("the bundle's mediaType is %q", b.MediaType)
		}
		return b.DSSEEnvelope.open()
	}
	return parseEnvelope(data)
}
