// The tree as a lineage.Log.

package sdd

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"countersign/contracts/lineage"
)

// incoming is where bytes wait, durable, until their line is in the log; then they take their place. So
// the artifact that is there keeps its bytes when a recording is cut off before its line.
const incoming = "lineage/incoming"

// writer is a tree that this process alone may append to.
type writer struct {
	*tree
	signer lineage.Signer
	keys   []ed25519.PublicKey // of the card
	tip    lineage.Tip
	notes  []string
}

func (w *writer) note(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
}

// Tip is the end of the log.
func (w *writer) Tip(context.Context) (lineage.Tip, error) { return w.tip, nil }

// Newest looks for the last line of a path.
func (w *writer) Newest(_ context.Context, artefactPath string) (lineage.Entry, bool, error) {
	f, err := w.openLog(os.O_RDONLY)
	if f == nil || err != nil {
		return lineage.Entry{}, false, err
	}
	defer f.Close()
	data, err := lastWith(f, `"artefact_path":"`+artefactPath+`"`)
	if data == nil || err != nil {
		return lineage.Entry{}, false, err
	}
	line, err := lineage.ParseLine(data)
	if err != nil {
		return lineage.Entry{}, false, unfit("a line of %s/%s does not hold: %v", directory, lineage.LogPath, err)
	}
	return line.Entry, true, nil
}

// Append writes sidecar and line, puts the bytes in their place, and moves the head. What a crash leaves
// after the line is finished by the next writer, and what it leaves before the line counts for nothing.
func (w *writer) Append(_ context.Context, r lineage.Record) error {
	if r.Previous != w.tip {
		return errors.New("the log does not end there")
	}
	if err := w.replace(lineage.SidecarPath(r.EntryHash), []byte(r.Sidecar), 0o644); err != nil {
		return err
	}
	if err := w.appendLine(r.Encode()); err != nil {
		return err
	}
	if err := w.place(r.Entry); err != nil {
		return err
	}
	if err := w.replace(lineage.HeadPath, r.Head.Encode(), 0o644); err != nil {
		return err
	}
	w.tip = r.Head.Tip()
	return nil
}

func (w *writer) appendLine(line []byte) error {
	_, err := w.root.Lstat(lineage.LogPath)
	fresh := errors.Is(err, fs.ErrNotExist)
	step("append")
	f, err := w.root.OpenFile(lineage.LogPath, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	if err = finish(f, err); err != nil {
		return err
	}
	if fresh {
		return w.syncDir(path.Dir(lineage.LogPath))
	}
	return nil
}

// place moves the incoming bytes to where the entry has them.
func (w *writer) place(e lineage.Entry) error {
	to := lineage.BytesPath(e.Path())
	if err := w.makeDirs(path.Dir(to), 0o755); err != nil {
		return err
	}
	return w.rename(incoming, to)
}

// take copies bytes to incoming, durable, and returns their content hash.
func (w *writer) take(in io.Reader) (string, error) {
	if err := w.makeDirs(path.Dir(incoming), 0o755); err != nil {
		return "", err
	}
	step("write " + incoming)
	f, err := w.create(incoming, 0o644)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, hash), in)
	if err = finish(f, err); err == nil {
		err = w.syncDir(path.Dir(incoming))
	}
	if err != nil {
		return "", errors.Join(err, w.drop())
	}
	return hashText(hash.Sum(nil)), nil
}

func hashText(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }

// drop removes what is incoming.
func (w *writer) drop() error {
	if err := w.root.Remove(incoming); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// hashOf is the content hash of a file; "" when there is none.
func (t *tree) hashOf(name string) (string, error) {
	f, err := t.openRegular(name, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", err
	}
	return hashText(hash.Sum(nil)), nil
}
