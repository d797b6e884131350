// Detached signatures: JWS with an unencoded payload (RFC 7797), Ed25519.

package lineage

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"countersign/contracts/canonjson"
)

// header is the protected header: these four members and no others.
type header struct {
	Alg  string   `json:"alg"`
	B64  *bool    `json:"b64"` // absent would mean true
	Crit []string `json:"crit"`
	KID  string   `json:"kid"`
}

// strict is base64url without padding that takes one spelling of a value only. A line break inside is for
// the caller to refuse: Go skips it even so.
var strict = base64.RawURLEncoding.Strict()

func encodedHeader(kid string) string {
	return strict.EncodeToString([]byte(`{"alg":"EdDSA","b64":false,"crit":["b64"],"kid":"` + kid + `"}`))
}

var ownHeader = encodedHeader(KeyID)

// SignDetached signs a payload: "<header>..<signature>", the header naming KeyID. The same key and payload
// give the same bytes.
func SignDetached(key ed25519.PrivateKey, payload []byte) string {
	return ownHeader + ".." + strict.EncodeToString(ed25519.Sign(key, signingInput(ownHeader, payload)))
}

func signingInput(header string, payload []byte) []byte {
	return append(append(make([]byte, 0, len(header)+1+len(payload)), header+"."...), payload...)
}

// The ways a detached signature fails.
var (
	errNoJWS        = errors.New("is no detached JWS")
	errHeader       = errors.New("its header is not exactly alg EdDSA, b64 false, crit b64 and kid")
	errKeyID        = errors.New("its header names another key than the entry")
	errNoKey        = errors.New("no card has a key for it")
	errBadSignature = errors.New("the signature does not verify under any key of the card")
)

// VerifyDetached checks a detached signature by the key with an id over a payload; any of the keys may
// have made it. Base64url is read strictly: no padding, no line break, one spelling. The error is a
// sentence without a subject.
func VerifyDetached(jws, kid string, payload []byte, keys []ed25519.PublicKey) error {
	encoded, rest, ok := strings.Cut(jws, ".")
	text, found := strings.CutPrefix(rest, ".")
	if !ok || !found || strings.ContainsAny(jws, "\r\n") {
		return errNoJWS
	}
	if err := checkHeader(encoded, kid); err != nil {
		return err
	}
	signature, err := strict.DecodeString(text)
	if err != nil || len(signature) != ed25519.SignatureSize {
		return errNoJWS
	}
	if len(keys) == 0 {
		return errNoKey
	}
	input := signingInput(encoded, payload)
	for _, key := range keys {
		if len(key) == ed25519.PublicKeySize && ed25519.Verify(key, input, signature) {
			return nil
		}
	}
	return errBadSignature
}

func checkHeader(encoded, kid string) error {
	if encoded == ownHeader && kid == KeyID {
		return nil
	}
	data, err := strict.DecodeString(encoded)
	if err != nil {
		return errNoJWS
	}
	var h header
	if canonjson.Decode(data, &h) != nil || h.Alg != "EdDSA" || h.B64 == nil || *h.B64 || !slices.Equal(h.Crit, []string{"b64"}) {
		return errHeader
	}
	if h.KID != kid {
		return errKeyID
	}
	return nil
}
