// Taking a tree over: what it must be to be recorded into, and what a crash left, finished.

package sdd

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"io/fs"
	"os"
	"slices"

	"countersign/contracts/lineage"
)

// takeOver readies the tree for a recording: key and card are there, and head, bytes and receipt are those
// of the log's last line. What a recording that was cut off left is finished, or taken away when its line
// never came to be, and noted. Whatever else does not fit is refused.
func (w *writer) takeOver(secret []byte) error {
	files := newFiles(w.root)
	defer files.close()
	if lineage.Version1(files) {
		return unfit("the tree is of format v 1, which is read and not written; `countersign artifact export` makes one of format v 2")
	}
	end, err := w.readTail()
	if err != nil {
		return err
	}
	_, err = w.root.Lstat(lineage.HeadPath)
	headless := errors.Is(err, fs.ErrNotExist)
	if end.last == nil && !headless {
		return unfit("%s/%s is there and the log has no entries", directory, lineage.HeadPath)
	}
	if err := w.identify(end.last == nil); err != nil {
		return err
	}
	w.signer.Secret = secret
	if end.torn > 0 {
		if err := w.cutOff(end.size); err != nil {
			return err
		}
		w.note("mended: a torn last line was cut off the log, %d bytes of a recording that did not finish", end.torn)
	}
	return w.catchUp(end)
}

// identify finds the key and the card, and makes them for a log without lines.
func (w *writer) identify(empty bool) error {
	key, err := w.loadKey()
	if err != nil {
		return err
	}
	card, err := w.card()
	if err != nil {
		return err
	}
	switch {
	case key == nil && !empty:
		return unfit("the signing key %s/%s is missing; the log has entries it signed", directory, lineage.KeyPath)
	case key == nil && card != nil:
		return unfit("the signing key %s/%s is missing; the card names it", directory, lineage.KeyPath)
	case card == nil && !empty:
		return unfit("the card %s/%s is missing; the log has entries it vouches for", directory, lineage.CardPath)
	case key == nil:
		if key, err = w.makeKey(); err != nil {
			return err
		}
	}
	w.signer.Key = key
	if card == nil {
		w.keys = []ed25519.PublicKey{w.signer.Public()}
		return w.publish()
	}
	w.keys = card.Keys()
	if !slices.ContainsFunc(w.keys, func(k ed25519.PublicKey) bool { return k.Equal(w.signer.Public()) }) {
		return unfit("the signing key is not on the card %s/%s", directory, lineage.CardPath)
	}
	return nil
}

// cutOff ends the log behind its last whole line.
func (w *writer) cutOff(size int64) error {
	f, err := w.openLog(os.O_WRONLY)
	if err != nil {
		return err
	}
	step("truncate")
	return finish(f, f.Truncate(size))
}

// head reads the head, which must verify; the EmptyTip when there is none.
func (w *writer) head() (lineage.Tip, error) {
	data, err := w.read(lineage.HeadPath, lineage.MaxLine)
	if data == nil || err != nil {
		return lineage.EmptyTip(), err
	}
	head, err := lineage.ParseHead(data)
	if err != nil {
		return lineage.Tip{}, unfit("%s/%s: %v", directory, lineage.HeadPath, err)
	}
	if faults := head.Verify(w.keys, nil); len(faults) > 0 {
		return lineage.Tip{}, unfit("%s/%s: %s", directory, lineage.HeadPath, faults[0])
	}
	return head.Tip(), nil
}

// catchUp brings head, bytes and receipt to the log's last line.
func (w *writer) catchUp(end tail) error {
	tip, err := w.head()
	if err != nil {
		return err
	}
	w.tip = tip
	if end.last == nil {
		return w.discard()
	}
	last, err := lineage.ParseLine(end.last)
	if err != nil {
		return unfit("the log's last line does not hold: %v", err)
	}
	if err := w.sameSecret(last); err != nil {
		return err
	}
	before := lineage.NoChain
	if end.prior != nil {
		prior, err := lineage.ParseLine(end.prior)
		if err != nil {
			return unfit("the log's last line but one does not hold: %v", err)
		}
		before = prior.Chain
	}
	switch {
	case last.Chain != lineage.Next(before, last.Hash()):
		return unfit("the log's last line does not follow from the one before")
	case tip.Chain == last.Chain:
		if err := w.discard(); err != nil {
			return err
		}
		return w.mendReceipt(last.Entry)
	case tip.Chain == before:
		return w.rollForward(last)
	case tip == lineage.EmptyTip():
		return unfit("%s/%s is missing", directory, lineage.HeadPath)
	}
	return unfit("%s/%s is not that of the log's last line, nor of the one before", directory, lineage.HeadPath)
}

// sameSecret refuses a secret that the log's end was not recorded under; one log has one.
func (w *writer) sameSecret(last lineage.Line) error {
	switch {
	case len(w.signer.Secret) > 0 && last.OperatorHMAC == "":
		w.note("the entries before were recorded without a secret: with one, `artifact verify` fails on them")
	case len(w.signer.Secret) == 0 && last.OperatorHMAC != "":
		w.note("the entries before were recorded with a secret and this one is not: with the secret, `artifact verify` fails on it")
	case last.OperatorHMAC != lineage.OperatorHMAC(w.signer.Secret, last.Chain):
		return unfit("the log was recorded under another operator secret")
	}
	return nil
}

// rollForward finishes the recording of a line that the head does not count yet, which must be signed.
func (w *writer) rollForward(last lineage.Line) error {
	sidecar, err := w.read(lineage.SidecarPath(last.Hash()), lineage.MaxLine)
	if err != nil {
		return err
	}
	if faults := lineage.VerifyRecord(last, w.tip.Chain, string(sidecar), w.keys, nil); len(faults) > 0 {
		return unfit("the log's last line is not counted by the head and does not hold: %s", faults[0])
	}
	hash, err := w.hashOf(incoming)
	if err != nil {
		return err
	}
	if hash == last.ContentHash {
		if err := w.place(last.Entry); err != nil {
			return err
		}
	}
	next := lineage.Tip{Entries: w.tip.Entries + 1, Chain: last.Chain}
	if err := w.replace(lineage.HeadPath, lineage.SignHead(w.signer, next).Encode(), 0o644); err != nil {
		return err
	}
	w.tip = next
	w.note("mended: the head was behind and now counts line %d, of a recording that did not finish", next.Entries)
	if err := w.discard(); err != nil {
		return err
	}
	return w.mendReceipt(last.Entry)
}

// discard takes away bytes whose line never came to be, and a file that was being written.
func (w *writer) discard() error {
	for name, what := range map[string]string{incoming: "an artifact", pending: "a file"} {
		_, err := w.root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		step("remove " + name)
		if err := w.root.Remove(name); err != nil {
			return err
		}
		w.note("mended: %s of a recording that did not finish was taken away", what)
	}
	return nil
}

// mendReceipt writes the receipt of the last line where it is missing or an earlier one's.
func (w *writer) mendReceipt(e lineage.Entry) error {
	if e.Kind == lineage.Attachment {
		return nil
	}
	fresh, err := w.putReceipt(e)
	if err == nil && fresh {
		w.note("mended: the receipt of task %s was not that of its last entry", e.TaskID)
	}
	return err
}

// putReceipt writes a task's receipt unless it is there.
func (w *writer) putReceipt(e lineage.Entry) (fresh bool, err error) {
	want, err := lineage.NewReceipt(e).Encode()
	if err != nil {
		return false, err
	}
	name := lineage.ReceiptPath(e.TaskID)
	have, err := w.read(name, lineage.MaxLine)
	if err != nil || bytes.Equal(have, want) {
		return false, err
	}
	return true, w.replace(name, want, 0o644)
}
