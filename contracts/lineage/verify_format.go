// The two formats, side by side.

package lineage

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// Version1 reports whether a tree's log is of format v 1, which nobody appends to.
func Version1(tree fs.FS) bool { return formatOf(tree).version == 1 }

// format is what differs between the versions.
type format struct {
	version      int
	parse        func([]byte) (*record, error)
	parseReceipt func([]byte) (Receipt, error)
	parseCard    func([]byte) (Card, error)
	sidecar      func(file string) string // the signature in a sidecar's content
	newOrder     func() order
}

// order checks a line against those before it.
type order interface {
	// place takes the next readable line and says what is wrong with where it stands.
	place(*record) []string
	// newest reports whether no later line of its path was placed.
	newest(*record) bool
}

var formatV2 = format{2, parseRecordV2, ParseReceipt, ParseCard, func(file string) string { return file }, newOrderV2}

// formatOf looks at the first line that says a version: v 1 when it says 1, else v 2, which the log then has
// to be. It looks no further than the beginning of the file.
func formatOf(tree fs.FS) format {
	f, err := openFile(tree, LogPath)
	if err != nil {
		return formatV2
	}
	defer f.Close()
	start, err := io.ReadAll(io.LimitReader(f, maxRead))
	if err != nil {
		return formatV2
	}
	for line := range bytes.Lines(start) {
		var v struct {
			V int `json:"v"`
		}
		if json.Unmarshal(line, &v) == nil && v.V != 0 {
			if v.V == 1 {
				return formatV1
			}
			return formatV2
		}
	}
	return formatV2
}

func parseRecordV2(data []byte) (*record, error) {
	l, err := ParseLine(data)
	if err != nil {
		return nil, err
	}
	body := l.Body()
	r := &record{want: receiptOf(l.Entry, HashOf(body)), chain: l.Chain, signed: body, sealed: []byte(l.Chain), seal: l.OperatorHMAC}
	r.sidecar = SidecarPath(r.want.EntryHash)
	if l.Parent != "" {
		r.parents = []string{l.Parent}
	}
	return r, nil
}

// orderV2 holds each line to the chain, and its parent to the newest entry of its path.
type orderV2 struct {
	chain string
	last  map[[32]byte]string // by path, the entry_hash
}

func newOrderV2() order { return &orderV2{NoChain, map[[32]byte]string{}} }

func (o *orderV2) place(r *record) (faults []string) {
	if r.chain != Next(o.chain, r.want.EntryHash) {
		faults = append(faults, faultChain)
	}
	o.chain = r.chain
	var want []string
	if last, ok := o.last[r.pathKey]; ok {
		want = []string{last}
	}
	if !slices.Equal(r.parents, want) {
		faults = append(faults, fmt.Sprintf("parent_hashes is [%s] where the path's last entry is [%s]", strings.Join(r.parents, " "), strings.Join(want, " ")))
	}
	o.last[r.pathKey] = r.want.EntryHash
	return faults
}

func (o *orderV2) newest(r *record) bool { return o.last[r.pathKey] == r.want.EntryHash }
