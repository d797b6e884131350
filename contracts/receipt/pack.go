// The pack: what an auditor takes away.

package receipt

import (
	"bytes"
	"maps"
	"slices"

	"countersign/contracts"
	"countersign/contracts/canonjson"
)

// The files of a pack.
const (
	FileContract = "contract.json"         // the frozen contract, RFC 8785 bytes
	FileVerdict  = "verdict.json"          // the verdict, RFC 8785 bytes
	FileEnvelope = "receipt.dsse.json"     // the envelope, as it was signed
	FileSigstore = "receipt.sigstore.json" // the same for sigstore's tools
	FilePAE      = "receipt.pae"           // what was signed, byte for byte
	FileSig      = "receipt.sig"           // the signature, raw
	FileKeys     = "keys.json"             // every key of the instance
	FileManual   = "VERIFY.md"             // how to check all this with other tools
)

// Files names all files of a pack.
var Files = []string{FileContract, FileVerdict, FileEnvelope, FileSigstore, FilePAE, FileSig, FileKeys, FileManual}

// Pack is a pack's files by name.
type Pack map[string][]byte

// MakePack puts a pack together from the stored envelope, the contract's RFC 8785 bytes and the
// instance's keys. It refuses with CodeUnproven what does not fit together: nobody should be handed
// what he cannot verify.
func MakePack(envelope, contract []byte, keys KeySet) (Pack, error) {
	e, err := parseEnvelope(envelope)
	if err != nil {
		return nil, within(FileEnvelope, err)
	}
	st, err := parseStatement(e.payload)
	if err != nil {
		return nil, within(FileEnvelope, err)
	}
	verdict, err := st.VerdictBytes()
	if err != nil {
		return nil, within(FileVerdict, err)
	}
	p := Pack{FileContract: contract, FileVerdict: verdict, FileEnvelope: envelope, FilePAE: e.pae, FileSig: e.signatures[0].bytes}
	if p[FileSigstore], err = makeBundle(envelope); err != nil {
		return nil, within(FileSigstore, err)
	}
	if p[FileKeys], err = canonjson.Marshal(keys); err != nil {
		return nil, within(FileKeys, err)
	}
	signer := keys.find(e.signatures[0].keyID)
	if signer < 0 {
		return nil, unproven("the signer's key is not among the instance's")
	}
	if p[FileManual], err = manual(st, keys, signer); err != nil {
		return nil, within(FileManual, err)
	}
	if _, err := p.Verify(Trust{Pins: []string{keys.Keys[signer].SHA256}}); err != nil {
		return nil, err
	}
	return p, nil
}

// Verify checks a whole pack: no file missing, each fitting the envelope, and the envelope as Verify
// does. t.Keys, when not empty, takes the place of the pack's own keys.json, which can be older or
// tampered with.
func (p Pack) Verify(t Trust) (Verified, error) {
	v, err := p.verify(t)
	if err != nil {
		return v, err
	}
	return v, nil
}

func (p Pack) verify(t Trust) (Verified, *contracts.Error) {
	for _, name := range Files {
		if p[name] == nil {
			return Verified{}, unproven("%s is missing", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if len(p[name]) == 0 {
			return Verified{}, unproven("%s is empty", name)
		}
	}
	keys, err := ParseKeySet(p[FileKeys])
	if err != nil {
		return Verified{}, within(FileKeys, err)
	}
	if len(t.Keys.Keys) == 0 {
		t.Keys = keys
	}
	e, err := parseEnvelope(p[FileEnvelope])
	if err != nil {
		return Verified{}, within(FileEnvelope, err)
	}
	wrapped, err := parseReceipt(p[FileSigstore])
	if err != nil {
		return Verified{}, within(FileSigstore, err)
	}
	st, err := parseStatement(e.payload)
	if err != nil {
		return Verified{}, within(FileEnvelope, err)
	}
	switch {
	case !bytes.Equal(p[FilePAE], e.pae):
		return Verified{}, unproven("%s is not what the envelope signs", FilePAE)
	case !bytes.Equal(p[FileSig], e.signatures[0].bytes):
		return Verified{}, unproven("%s is not the envelope's signature", FileSig)
	case !bytes.Equal(wrapped.pae, e.pae) || !bytes.Equal(wrapped.signatures[0].bytes, e.signatures[0].bytes):
		return Verified{}, unproven("%s holds another envelope", FileSigstore)
	case canonjson.Digest(p[FileVerdict]) != st.VerdictDigest():
		return Verified{}, unproven("%s does not have the digest among the subjects", FileVerdict)
	}
	return e.verify(t, p[FileContract])
}
