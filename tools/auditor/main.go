// Sigstore's verifier and in-toto's statement over a receipt, as an auditor would use them.

// Auditor checks a sigstore bundle under a plain public key, for a file or a digest:
//
//	auditor BUNDLE KEY.pem FILE
//	auditor BUNDLE KEY.pem ALGORITHM:HEX
//
// It prints the statement's predicate type and each subject. Nothing of countersign is in it.
package main

import (
	"crypto"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	intoto "github.com/in-toto/attestation/go/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"google.golang.org/protobuf/encoding/protojson"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: auditor BUNDLE KEY.pem FILE|ALGORITHM:HEX")
		os.Exit(64)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "auditor:", err)
		os.Exit(1)
	}
}

func run(bundlePath, keyPath, artifact string) error {
	b, err := bundle.LoadJSONFromPath(bundlePath)
	if err != nil {
		return err
	}
	trusted, err := trust(keyPath)
	if err != nil {
		return err
	}
	v, err := verify.NewVerifier(trusted, verify.WithNoObserverTimestamps())
	if err != nil {
		return err
	}
	about, err := subject(artifact)
	if err != nil {
		return err
	}
	if _, err := v.Verify(b, verify.NewPolicy(about, verify.WithKey())); err != nil {
		return err
	}
	return show(b)
}

// trust takes the key for whatever the bundle's hint says.
func trust(path string) (root.TrustedMaterial, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	key, err := cryptoutils.UnmarshalPEMToPublicKey(data)
	if err != nil {
		return nil, err
	}
	verifier, err := signature.LoadVerifier(key, crypto.SHA256)
	if err != nil {
		return nil, err
	}
	return root.NewTrustedPublicKeyMaterial(func(string) (root.TimeConstrainedVerifier, error) {
		return root.NewExpiringKey(verifier, time.Time{}, time.Time{}), nil
	}), nil
}

func subject(artifact string) (verify.ArtifactPolicyOption, error) {
	algorithm, digest, found := strings.Cut(artifact, ":")
	if !found {
		f, err := os.Open(artifact)
		if err != nil {
			return nil, err
		}
		return verify.WithArtifact(f), nil
	}
	raw, err := hex.DecodeString(digest)
	if err != nil {
		return nil, err
	}
	return verify.WithArtifactDigest(algorithm, raw), nil
}

// show reads the statement by in-toto's own library.
func show(b *bundle.Bundle) error {
	envelope := b.GetDsseEnvelope()
	var st intoto.Statement
	if err := protojson.Unmarshal(envelope.Payload, &st); err != nil {
		return err
	}
	if err := st.Validate(); err != nil {
		return err
	}
	fmt.Println(st.GetPredicateType())
	for _, s := range st.GetSubject() {
		var digests []string
		for algorithm, value := range s.GetDigest() {
			digests = append(digests, algorithm+":"+value)
		}
		slices.Sort(digests)
		fmt.Println(s.GetName(), strings.Join(digests, " "))
	}
	return nil
}
