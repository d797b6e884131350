// Acceptance receipts that a report's figures may be anchored to.

package main

import (
	"fmt"

	"countersign/contracts/figures"
	"countersign/contracts/receipt"
)

// anchorReceipts are acceptance receipts from elsewhere, and the keys by which they are trusted.
type anchorReceipts struct {
	Receipt   []string `sep:"none" placeholder:"DIR|FILE" help:"An acceptance receipt that a figure may be anchored to, as receipt verify takes it; may be repeated."`
	Key       []string `sep:"none" placeholder:"PEM" help:"The file of a public key that these receipts may be signed with; may be repeated."`
	KeySHA256 []string `name:"key-sha256" sep:"none" placeholder:"FP" help:"The fingerprint of such a key; may be repeated."`
}

// resolver knows the receipts that hold; nil when none were given. One that does not hold is an error.
func (a anchorReceipts) resolver(s *session) (figures.Resolver, error) {
	if len(a.Receipt) == 0 {
		return nil, nil
	}
	check := receiptVerify{Key: a.Key, KeySHA256: a.KeySHA256}
	trust, err := check.trust(s)
	if err != nil {
		return nil, err
	}
	known := map[string]receipt.Verified{}
	for _, path := range a.Receipt {
		check.Path = path
		verified, err := check.verify(s, trust)
		if err != nil {
			return nil, &statusError{exitRefused, fmt.Errorf("--receipt %s: %w", path, err)}
		}
		known[verified.ReceiptID] = verified
	}
	return func(a figures.Anchor) figures.Resolution {
		verified, ok := known[a.Ref]
		if !ok {
			return figures.Missing(a)
		}
		return figures.Accepted(a, verified.AcceptedAt)
	}, nil
}
