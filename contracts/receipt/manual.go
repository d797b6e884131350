// VERIFY.md: how to check a pack with nothing of ours.

package receipt

import (
	"bytes"
	_ "embed"
	"strings"
	"text/template"
)

//go:embed VERIFY.md.tmpl
var manualText string

var manualTemplate = template.Must(template.New(FileManual).Parse(manualText))

// manualData is what the commands are filled in with. All of it is hex, base64, PEM or made by the
// server, so that nothing in it can mean something to a shell.
type manualData struct {
	Statement Statement
	Signer    KeyRecord
	Links     []manualLink
	Ed25519   bool
	Contract  string
	Commit    string
	SHA256    string // of an artifact instead of a commit, hex
	Accepted  string
	Type      string
	SameNode  bool
}

// manualLink is one step of the chain from the first key to the signer's.
type manualLink struct {
	From, To KeyRecord
	PAE      string
}

// manual writes VERIFY.md for a statement signed by one of the keys.
func manual(st Statement, keys KeySet, signer int) ([]byte, error) {
	key, err := ParsePublicKey([]byte(keys.Keys[signer].PublicPEM))
	if err != nil {
		return nil, err
	}
	d := manualData{
		Statement: st, Signer: keys.Keys[signer], Ed25519: key.Ed25519(), Contract: st.ContractDigest(), Commit: st.CandidateCommit(),
		SHA256:   strings.TrimPrefix(st.CandidateHash(), hashPrefix),
		Accepted: st.Predicate.AcceptedAt.UTC().Format("2006-01-02 15:04:05 UTC"), Type: PredicateType,
		SameNode: st.Predicate.ClaimBoundary.SameNode,
	}
	for i := signer; i > 0 && keys.Keys[i].Signature != ""; i-- {
		pae, err := keys.Keys[i].LinkPAE()
		if err != nil {
			return nil, err
		}
		d.Links = append([]manualLink{{keys.Keys[i-1], keys.Keys[i], string(pae)}}, d.Links...)
	}
	var out bytes.Buffer
	err = manualTemplate.Execute(&out, d)
	return out.Bytes(), err
}
