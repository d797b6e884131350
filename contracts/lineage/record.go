// Recording: the one way into a log.

package lineage

import (
	"context"
	"crypto/ed25519"
	"fmt"

	"countersign/contracts/artifact"
)

// Signer is what a recorder holds.
type Signer struct {
	// Key signs entries and head; its public half must be on the agent's card.
	Key ed25519.PrivateKey
	// Secret is the operator's, empty for none.
	Secret []byte
}

// Log is a log that this caller alone may append to for now: a tree under its file lock, a table inside a
// transaction that holds the project's advisory lock. What was appended is seen by the next call on the
// same Log, so that one transaction can hold several records.
type Log interface {
	// Tip is the log's end, EmptyTip when it has no lines.
	Tip(ctx context.Context) (Tip, error)
	// Newest is the last entry with an artefact_path (see Entry.Path), and whether there is one.
	Newest(ctx context.Context, artefactPath string) (Entry, bool, error)
	// Append adds a line with its sidecar and moves the head, all of it or nothing. It must refuse when
	// the log does not end at r.Previous.
	Append(ctx context.Context, r Record) error
}

// Record is one line with all that comes with it, ready to be stored as it is.
type Record struct {
	Line
	// EntryHash is Line.Entry.Hash.
	EntryHash string
	// Sidecar is the detached JWS over the entry's Body.
	Sidecar string
	// Previous is the log's tip before, Position the line's number, counted from 1.
	Previous Tip
	Position int64
	// Head is that of the log with this line.
	Head Head
}

// Deliverable is what is to be recorded. Its bytes are the caller's to keep: before Append returns at the
// latest they must be as safe as the record.
type Deliverable struct {
	// TaskID is "" for an attachment.
	TaskID string
	// Kind and ContentHash are as in Entry.
	Kind        artifact.Kind
	ContentHash string
}

// Append records a deliverable. When the newest entry of its path has the same kind and content, nothing
// is appended, and fresh is false: the entry that is there is returned. Otherwise an entry whose parent is
// that newest one is signed, chained, sealed and handed to the log.
//
// The entry of a task makes its receipt (NewReceipt), the same in both cases. The error is a
// *contracts.Error of code invalid for a deliverable that cannot be recorded, or wraps what the log
// answered; then nothing was recorded as far as the log keeps its promise.
func Append(ctx context.Context, log Log, s Signer, d Deliverable) (entry Entry, fresh bool, err error) {
	entry = Entry{TaskID: d.TaskID, Kind: d.Kind, ContentHash: d.ContentHash}
	if err := entry.Check(); err != nil {
		return Entry{}, false, err
	}
	newest, found, err := log.Newest(ctx, entry.Path())
	if err != nil {
		return Entry{}, false, fmt.Errorf("newest entry of %s: %w", entry.Path(), err)
	}
	if found && newest.Kind == entry.Kind && newest.ContentHash == entry.ContentHash {
		return newest, false, nil
	}
	if found {
		entry.Parent = newest.Hash()
	}
	tip, err := log.Tip(ctx)
	if err != nil {
		return Entry{}, false, fmt.Errorf("end of the log: %w", err)
	}
	if err := log.Append(ctx, newRecord(s, tip, entry)); err != nil {
		return Entry{}, false, fmt.Errorf("append: %w", err)
	}
	return entry, true, nil
}

// newRecord makes the line behind a tip.
func newRecord(s Signer, tip Tip, entry Entry) Record {
	hash := entry.Hash()
	next := Tip{tip.Entries + 1, Next(tip.Chain, hash)}
	return Record{
		Line:      Line{entry, next.Chain, OperatorHMAC(s.Secret, next.Chain)},
		EntryHash: hash,
		Sidecar:   SignDetached(s.Key, entry.Body()),
		Previous:  tip,
		Position:  next.Entries,
		Head:      SignHead(s, next),
	}
}

// VerifyRecord says what is wrong with one line on its own, given the chain value before it and its
// sidecar: the chain step, the signature under any of the keys, and the seal when there is a secret. Each
// is a sentence without a subject. Whether its parent is the newest entry of its path is for the reader of
// the whole log to say.
func VerifyRecord(l Line, previousChain, sidecar string, keys []ed25519.PublicKey, secret []byte) []string {
	body := l.Body()
	var faults []string
	if l.Chain != Next(previousChain, HashOf(body)) {
		faults = append(faults, faultChain)
	}
	if fault := sealFault(secret, []byte(l.Chain), l.OperatorHMAC); fault != "" {
		faults = append(faults, fault)
	}
	if err := VerifyDetached(sidecar, KeyID, body, keys); err != nil {
		faults = append(faults, "signature: "+err.Error())
	}
	return faults
}

const faultChain = "chain does not follow from the line before"
