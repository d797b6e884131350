// Whether a receipt proves what it says, to somebody who trusts a key.

package receipt

import (
	"time"

	"countersign/contracts"
)

// Trust is what a verifier goes by. Only a pin makes a key believable; the key set says how pinned
// keys vouch for others, and when each of them could sign.
type Trust struct {
	// Keys may be empty.
	Keys KeySet
	// Pins are fingerprints, PublicKey.SHA256.
	Pins []string
	// Pinned are whole keys that are pinned.
	Pinned []PublicKey
}

// Verified is what a receipt proves.
type Verified struct {
	ReceiptID      string `json:"receipt_id"`
	TaskID         string `json:"task_id"`
	WorkflowID     string `json:"workflow_id"`
	ContractDigest string `json:"contract_digest"`
	// CandidateCommit, or CandidateHash with the EntryHash of its record.
	CandidateCommit string    `json:"candidate_commit,omitzero"`
	CandidateHash   string    `json:"candidate_hash,omitzero"`
	EntryHash       string    `json:"entry_hash,omitzero"`
	VerdictDigest   string    `json:"verdict_digest"`
	AcceptedAt      time.Time `json:"accepted_at"`
	// Signers are the fingerprints of the distinct keys under which the receipt is believed.
	Signers []string `json:"signers"`
	// Warnings are what a reader should know although the receipt holds, such as that a signer was revoked
	// after the receipt's date.
	Warnings []string `json:"warnings,omitzero"`
}

// Verify checks an envelope, or a sigstore bundle around one. What fails is CodeUnproven; what holds
// but under no key that the pins reach is CodeSignerUnknown.
func Verify(data []byte, t Trust) (Verified, error) { return VerifyWith(data, nil, t) }

// VerifyWith is Verify that also holds the statement to the contract's bytes; nil for not.
func VerifyWith(data, contract []byte, t Trust) (Verified, error) {
	e, err := parseReceipt(data)
	if err != nil {
		return Verified{}, within("receipt", err)
	}
	v, failed := e.verify(t, contract)
	if failed != nil {
		return v, failed
	}
	return v, nil
}

// verify checks everything that needs no trust first, so that what is broken is called so whoever
// signed it. contract is nil when it is not at hand.
func (e envelope) verify(t Trust, contract []byte) (Verified, *contracts.Error) {
	known, err := t.Keys.open()
	if err != nil {
		return Verified{}, err
	}
	st, problem := parseStatement(e.payload)
	if problem != nil {
		return Verified{}, unproven("%v", problem)
	}
	if err := st.check(); err != nil {
		return Verified{}, err
	}
	if contract != nil {
		if err := st.against(contract); err != nil {
			return Verified{}, err
		}
	}
	signers, err := t.signers(e, known, st.Predicate.AcceptedAt)
	if err != nil {
		return Verified{}, err
	}
	return Verified{
		ReceiptID: st.Predicate.ReceiptID, TaskID: st.Predicate.TaskID, WorkflowID: st.Predicate.WorkflowID,
		ContractDigest: st.ContractDigest(), CandidateCommit: st.CandidateCommit(), VerdictDigest: st.VerdictDigest(),
		AcceptedAt: st.Predicate.AcceptedAt, Signers: signers, CandidateHash: st.CandidateHash(),
		EntryHash: st.Predicate.EntryHash, Warnings: t.Keys.revokedSince(signers),
	}, nil
}

// signers are the fingerprints of the believed keys that signed. The keyid chooses no key: it only
// tells a broken signature from one by a key that is not at hand.
func (t Trust) signers(e envelope, known []PublicKey, at time.Time) ([]string, *contracts.Error) {
	keys := known
	for _, p := range t.Pinned {
		if t.Keys.find(p.SHA256) < 0 {
			keys = append(keys[:len(keys):len(keys)], p)
		}
	}
	signed := e.signers(keys)
	if len(signed) == 0 {
		if e.namesAnother(keys) {
			return nil, contracts.Refuse(CodeSignerUnknown, "the signer's key is not at hand")
		}
		return nil, unproven("no signature fits the receipt")
	}
	var (
		believed []string
		why      = contracts.Refuse(CodeSignerUnknown, "no key is pinned, and a receipt does not vouch for itself")
	)
	for _, key := range signed {
		if err := t.believes(key, at); err != nil {
			why = err
			continue
		}
		believed = append(believed, key.SHA256)
	}
	if len(believed) == 0 {
		return nil, why
	}
	return believed, nil
}

// namesAnother tells whether some signature claims a key that is not at hand, or none can be.
func (e envelope) namesAnother(keys []PublicKey) bool {
	for _, s := range e.signatures {
		at := false
		for _, key := range keys {
			at = at || s.keyID == key.SHA256
		}
		if at || s.keyID == "" && len(keys) > 0 {
			return false
		}
	}
	return true
}

// believes says why a key that signed is not to be believed, nil when it is.
func (t Trust) believes(key PublicKey, at time.Time) *contracts.Error {
	pins := t.pins()
	signer := t.Keys.find(key.SHA256)
	pinned, reached, chained := false, false, false
	for _, pin := range pins {
		pinned = pinned || pin == key.SHA256
		if from := t.Keys.find(pin); from >= 0 && signer >= 0 {
			chained = true
			reached = reached || t.Keys.reaches(from, signer)
		}
	}
	switch {
	case len(pins) == 0:
		return contracts.Refuse(CodeSignerUnknown, "no key is pinned, and a receipt does not vouch for itself")
	case !pinned && !reached && chained:
		return unproven("the chain from the pinned key to the signer's is broken")
	case !pinned && !reached:
		return contracts.Refuse(CodeSignerUnknown, "the signer %s is not the pinned key, nor vouched for by it", key.SHA256)
	case signer >= 0:
		return t.Keys.signsAt(signer, at)
	}
	return nil
}

func (t Trust) pins() []string {
	pins := append([]string{}, t.Pins...)
	for _, p := range t.Pinned {
		pins = append(pins, p.SHA256)
	}
	return pins
}
