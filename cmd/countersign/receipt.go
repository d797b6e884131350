// countersign receipt: take one away, check one.

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"countersign/cmd/countersign/internal/packdir"
	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/receipt"
)

type receiptCommands struct {
	Export receiptExport `cmd:"" help:"Write an accepted task's receipt, with all that it takes to check it, to a directory."`
	Verify receiptVerify `cmd:"" help:"Check a receipt, offline."`
}

type receiptExport struct {
	Task string `arg:"" help:"The task's id."`
	Out  string `required:"" type:"path" placeholder:"DIR" help:"Where to; made when missing."`
}

// Help is shown by --help.
func (receiptExport) Help() string {
	return `The pack is checked before it is written. VERIFY.md in it says how to check it with openssl or cosign.

Examples:

  countersign receipt export TASK --out receipt
  countersign receipt verify receipt --key-sha256 FINGERPRINT`
}

type exported struct {
	receipt.Verified
	Directory string   `json:"directory"`
	Files     []string `json:"files"`
}

// Run exports.
func (c *receiptExport) Run(s *session) error {
	if err := checkID("task", c.Task); err != nil {
		return err
	}
	r, err := s.remote()
	if err != nil {
		return err
	}
	signed, err := r.Receipt(s.ctx, c.Task)
	if err != nil {
		return err
	}
	revision, err := r.WorkflowByID(s.ctx, signed.WorkflowID, 0, 1)
	if err != nil {
		return err
	}
	contract, err := canonjson.Canonical(revision.Contract)
	if err != nil {
		return fmt.Errorf("contract: %w", err)
	}
	keys, err := r.Keys(s.ctx)
	if err != nil {
		return err
	}
	pack, err := receipt.MakePack(signed.Envelope, contract, keys)
	if err != nil {
		return fmt.Errorf("the server's receipt does not hold: %w", err)
	}
	// By its own signer: whether that one is to be trusted is for the reader to say.
	verified, err := pack.Verify(receipt.Trust{Pins: fingerprints(keys)})
	if err != nil {
		return err
	}
	err = packdir.Write(c.Out, pack)
	if errors.Is(err, packdir.ErrAnother) {
		return &statusError{exitRefused, err}
	}
	if err != nil {
		return err
	}
	return s.print(exported{verified, c.Out, receipt.Files}, func() error {
		err := s.out.Fields("receipt", verified.ReceiptID, "directory", c.Out, "commit", verified.CandidateCommit, "candidate", verified.CandidateHash, "entry", verified.EntryHash,
			"signer", strings.Join(verified.Signers, " "))
		s.out.Printf("\nWho checks it needs the signer's fingerprint by another way than the pack:\n  %s receipt verify %s --key-sha256 %s\n",
			programName(), c.Out, verified.Signers[0])
		return err
	})
}

func fingerprints(set receipt.KeySet) []string {
	var all []string
	for _, k := range set.Keys {
		all = append(all, k.SHA256)
	}
	return all
}

type receiptVerify struct {
	Path      string   `arg:"" name:"dir|file" help:"A pack's directory, or one file: an envelope or a sigstore bundle; - for standard input."`
	Key       []string `sep:"none" placeholder:"PEM" help:"The file of a public key that you trust; may be repeated."`
	KeySHA256 []string `name:"key-sha256" sep:"none" placeholder:"FP" help:"The fingerprint of a key that you trust, SHA-256 of its SubjectPublicKeyInfo in hex; may be repeated."`
	Keys      string   `placeholder:"FILE" help:"The server's keys.json (GET /v1/keys), instead of the one in the pack: newer, so that it knows of later revocations."`
}

// Help is shown by --help.
func (receiptVerify) Help() string {
	return `Without a trusted key nothing is proved, for a pack cannot vouch for itself. A key of keys.json that another one
leads to by signatures is trusted with it. Beside a single file a keys.json is used when there is one.

Exit status: 0 all proved, 2 something does not hold or is missing, 3 all holds but the signer is unknown.

Examples:

  countersign receipt verify receipt --key-sha256 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae
  countersign receipt verify receipt.dsse.json --key signer.pem`
}

type verification struct {
	Proved bool `json:"proved"`
	*receipt.Verified
	Code   contracts.Code `json:"code,omitzero"`
	Detail string         `json:"detail,omitzero"`
}

// Run verifies.
func (c *receiptVerify) Run(s *session) error {
	trust, err := c.trust(s)
	if usage, ok := errors.AsType[usageError](err); ok {
		return usage
	}
	if err != nil {
		return s.notProved(err)
	}
	verified, err := c.verify(s, trust)
	if err != nil {
		return s.notProved(about(c.Path, err))
	}
	return s.print(verification{Proved: true, Verified: &verified}, func() error {
		return s.out.Fields("proved", "yes", "receipt", verified.ReceiptID, "task", verified.TaskID, "commit", verified.CandidateCommit, "candidate", verified.CandidateHash, "entry", verified.EntryHash,
			"contract", verified.ContractDigest, "accepted", stamp(verified.AcceptedAt), "signer", strings.Join(verified.Signers, " "),
			"note", strings.Join(verified.Warnings, "; "))
	})
}

// notProved says why, as data too, and gives the failure its exit status.
func (s *session) notProved(err error) error {
	result := verification{Code: receipt.CodeUnproven, Detail: err.Error()}
	code := exitRefused
	if refusal, ok := errors.AsType[*contracts.Error](err); ok {
		result.Detail = refusal.Detail
		if refusal.Code == receipt.CodeSignerUnknown {
			result.Code, code = refusal.Code, exitSignerUnknown
		}
	}
	if s.json() {
		if err := s.out.JSON(result); err != nil {
			return err
		}
	}
	return &statusError{code, err}
}

func (c *receiptVerify) verify(s *session, trust receipt.Trust) (receipt.Verified, error) {
	if info, err := os.Stat(c.Path); err == nil && info.IsDir() {
		pack, err := packdir.Read(c.Path)
		if err != nil {
			return receipt.Verified{}, err
		}
		verified, err := pack.Verify(trust)
		return verified, c.advised(err)
	}
	data, err := s.readInput(c.Path)
	if err != nil {
		return receipt.Verified{}, err
	}
	if c.Keys == "" && c.Path != "-" {
		if trust.Keys, err = keysBeside(c.Path); err != nil {
			return receipt.Verified{}, err
		}
	}
	verified, err := receipt.Verify(data, trust)
	return verified, c.advised(err)
}

// advised tells whoever named no key how to name one.
func (c *receiptVerify) advised(err error) error {
	if contracts.CodeOf(err) != receipt.CodeSignerUnknown || len(c.Key)+len(c.KeySHA256) > 0 {
		return err
	}
	return fmt.Errorf("%w; give --key-sha256 FINGERPRINT, or --key PEM, of a signer that you trust", err)
}

// trust is what the flags say.
func (c *receiptVerify) trust(s *session) (t receipt.Trust, err error) {
	for _, path := range c.Key {
		data, err := s.readInput(path)
		if err != nil {
			return t, err
		}
		key, err := receipt.ParsePublicKey(data)
		if err != nil {
			return t, fmt.Errorf("--key %s: %w", path, err)
		}
		t.Pinned = append(t.Pinned, key)
	}
	for _, text := range c.KeySHA256 {
		fingerprint := strings.ToLower(strings.ReplaceAll(text, ":", ""))
		if len(fingerprint) != 64 || strings.Trim(fingerprint, "0123456789abcdef") != "" {
			return t, usageError{fmt.Errorf("--key-sha256 %q is no SHA-256 in hex", text)}
		}
		t.Pins = append(t.Pins, fingerprint)
	}
	if c.Keys == "" {
		return t, nil
	}
	data, err := s.readInput(c.Keys)
	if err != nil {
		return t, err
	}
	t.Keys, err = receipt.ParseKeySet(data)
	return t, about(c.Keys, err)
}

// keysBeside is the keys.json of the pack that a file was taken from, empty when there is none.
func keysBeside(path string) (receipt.KeySet, error) {
	path = filepath.Join(filepath.Dir(path), receipt.FileKeys)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return receipt.KeySet{}, nil
	}
	if err != nil {
		return receipt.KeySet{}, err
	}
	set, err := receipt.ParseKeySet(data)
	return set, about(path, err)
}
