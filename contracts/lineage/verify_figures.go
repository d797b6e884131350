// The figures of a report, held to the records they name.

package lineage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"countersign/contracts/artifact"
	"countersign/contracts/figures"
)

// grounds are a report's bundle and, as the log is read, the records its anchors name.
type grounds struct {
	bundle  *figures.Bundle
	records map[figures.Anchor]*found // one for each anchor
}

// found is the record of an anchor, nil where none was met yet.
type found struct{ record *record }

// parse takes the bytes of a report for a bundle, or for plain text, which declares no figures.
func (g *grounds) parse(report []byte) error {
	if !figures.IsBundle(report) {
		return nil
	}
	bundle, err := figures.ParseBundle(report)
	if err != nil {
		return err
	}
	g.bundle, g.records = &bundle, map[figures.Anchor]*found{}
	for _, f := range bundle.Figures {
		g.records[f.Anchor] = &found{}
	}
	return nil
}

// anchor is the one that names the record.
func (r *record) anchor() figures.Anchor {
	if r.want.Kind == Attachment {
		return figures.Anchor{Kind: figures.AnchorAttachment, Ref: r.want.ContentHash}
	}
	return figures.Anchor{Kind: figures.AnchorArtifact, Ref: r.want.ContentHash}
}

// names reports whether an anchor of the report names the record.
func (g *grounds) names(r *record) bool {
	_, named := g.records[r.anchor()]
	return named
}

// offer notes a record that an anchor names: the first one, but one that verifies before one that does not.
func (g *grounds) offer(r *record) {
	have, wanted := g.records[r.anchor()]
	if wanted && (have.record == nil || len(have.record.faults) > 0 && len(r.faults) == 0) {
		have.record = r
	}
}

// Ground answers the anchors of a report that is not recorded yet, from a tree's log: form, chain, parents and
// seals of every line are looked at, and the signatures and bytes of the records that the report names. The
// report is its canonical bytes. What is wrong with other lines does not matter here.
//
// The tree is read as Verify reads it, before Ground returns and when an anchor is asked for. The error is
// that of a report that is no good bundle or of a context that ended; plain text has no anchors.
func Ground(ctx context.Context, tree fs.FS, report []byte, o Options) (figures.Resolver, error) {
	v := verification{ctx: ctx, tree: tree, secret: o.Secret, format: formatOf(tree), grounding: true}
	if err := v.grounds.parse(report); err != nil {
		return nil, err
	}
	if len(v.grounds.records) > 0 {
		v.cards = readCards(tree, v.format.parseCard, &v.failures)
		v.readLog()
	}
	return Resolver(v.find, o.Receipts), ctx.Err()
}

// checkFigures judges the report strictly.
func (v *verification) checkFigures(receipts figures.Resolver) {
	if v.grounds.bundle == nil || v.ctx.Err() != nil {
		return
	}
	tokenizer, err := figures.NewTokenizer(figures.DefaultPolicy())
	if err != nil {
		v.failures.add("figures: %v", err)
		return
	}
	verdict := tokenizer.Evaluate(*v.grounds.bundle, Resolver(v.find, receipts))
	v.verdict = &verdict
	if verdict.OK {
		return
	}
	astray := 0
	for _, p := range verdict.Provenances {
		if !p.OK {
			astray++
		}
	}
	v.failures.add("figures: %d of %d figures are not grounded, %d numbers are not declared", astray, len(verdict.Provenances), len(verdict.Unanchored))
}

// find answers an attachment's or artifact's anchor. Where the tree has the record's bytes, they count too.
func (v *verification) find(a figures.Anchor) (Found, bool) {
	named := v.grounds.records[a]
	if named == nil || named.record == nil {
		return Found{}, false
	}
	r := named.record
	fault := strings.Join(r.faults, "; ")
	if fault == "" && v.order.newest(r) {
		fault = v.bytesFault(r)
	}
	return Found{r.position, fault}, true
}

// bytesFault says how the bytes of a record differ from it; an export need not have them.
func (v *verification) bytesFault(r *record) string {
	path := BytesPath(r.want.ArtefactPath)
	if path == r.want.ArtefactPath || !fs.ValidPath(path) {
		return ""
	}
	f, err := openFile(v.tree, path)
	if errors.Is(err, errMissing) {
		return ""
	}
	if err != nil {
		return path + " " + sentence(err)
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, &cancellable{v.ctx, f}); err != nil {
		return fmt.Sprintf("%s: %v", path, err)
	}
	if got := hashPrefix + hex.EncodeToString(hash.Sum(nil)); got != r.want.ContentHash {
		return fmt.Sprintf("%s, the bytes of %s, has the hash %s", path, r.owner(), got)
	}
	return ""
}

// document keeps what is written when it opens like a bundle and is no larger than one may be.
type document struct {
	data []byte
	none bool
}

func (d *document) Write(b []byte) (int, error) {
	if len(d.data) == 0 && len(b) > 0 && b[0] != '{' || len(d.data)+len(b) > artifact.MaxDocument {
		d.data, d.none = nil, true
	}
	if !d.none {
		d.data = append(d.data, b...)
	}
	return len(b), nil
}
