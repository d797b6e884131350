// A task's receipt and bytes, against the signed entry.

package lineage

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"countersign/contracts/artifact"
)

// readReceipt reads what the task's receipt says, before anything is believed.
func (v *verification) readReceipt() {
	path := ReceiptPath(v.task)
	data, err := readSmall(v.tree, path, MaxLine)
	if err != nil {
		v.failures.add("%s: %s", path, sentence(err))
		return
	}
	r, err := v.format.parseReceipt(data)
	if err != nil {
		v.failures.add("%s: %s", path, sentence(err))
		return
	}
	v.receipt = &r
}

// checkReceipt holds every field of the receipt to the task's newest entry.
func (v *verification) checkReceipt() {
	if v.own == nil {
		v.failures.add("%s: no line is of task %s", LogPath, v.task)
	}
	if v.receipt == nil {
		return
	}
	path := ReceiptPath(v.task)
	if v.own == nil {
		if v.receipt.TaskID != v.task {
			v.failures.add("%s: it is the receipt of task %s and not of %s", path, clip(v.receipt.TaskID), v.task)
		}
		return
	}
	if n := v.named; n != nil && n.want.EntryHash != v.own.want.EntryHash {
		if n.want.ArtefactPath == v.own.want.ArtefactPath {
			v.failures.add("%s: entry_hash names line %d, which line %d superseded", path, n.position, v.own.position)
		} else {
			v.failures.add("%s: entry_hash names line %d, %s", path, n.position, n.ofAnother(v.task))
		}
	}
	for _, fault := range v.receipt.Check(v.own.want) {
		v.failures.add("%s: %s", path, fault)
	}
}

// readBytes hashes the task's bytes, and in format v 2 derives their canonical form again, by the kind
// that the receipt says; the receipt is held to the signed entry elsewhere.
func (v *verification) readBytes() {
	path := BytesPath(ArtifactPath(v.task))
	f, err := openFile(v.tree, path)
	if err != nil {
		v.failures.add("%s: %s", path, sentence(err))
		return
	}
	defer f.Close()
	hash, report := sha256.New(), document{none: v.receipt != nil && v.receipt.Kind != artifact.Report}
	in := io.TeeReader(&cancellable{v.ctx, f}, io.MultiWriter(hash, &report))
	if v.format.version == 2 && v.receipt != nil && v.receipt.Kind.Known() {
		canonical, err := artifact.Canonicalise(v.receipt.Kind, in, io.Discard)
		if err == nil {
			v.hash = canonical.ContentHash
		} else {
			v.failures.add("%s: it is not in canonical form: %s", path, sentence(err))
		}
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		v.failures.add("%s: %s", path, sentence(err))
		return
	}
	raw := hashPrefix + hex.EncodeToString(hash.Sum(nil))
	if v.hash != "" && v.hash != raw {
		v.failures.add("%s: it is not in canonical form", path)
	}
	v.hash = raw
	if err := v.grounds.parse(report.data); err != nil {
		v.failures.add("%s: %s", path, sentence(err))
	}
}

func (v *verification) checkBytes() {
	if v.own == nil || v.hash == "" || v.hash == v.own.want.ContentHash {
		return
	}
	v.failures.add("%s: its hash is %s where the signed entry has %s", BytesPath(ArtifactPath(v.task)), v.hash, v.own.want.ContentHash)
}

var (
	errMissing    = errors.New("is missing")
	errNotRegular = errors.New("is no regular file")
)

// openFile opens a regular file. The error is a sentence without a subject.
func openFile(tree fs.FS, path string) (fs.File, error) {
	f, err := tree.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errMissing
	}
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// readSmall reads a whole file of at most limit bytes.
func readSmall(tree fs.FS, path string, limit int64) ([]byte, error) {
	f, err := openFile(tree, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("has more than %d bytes", limit)
	}
	return data, nil
}
