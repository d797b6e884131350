// Whatever stands in a tree: no panic, one spelling, and no change that goes unseen.

package lineage_test

import (
	"bytes"
	"maps"
	"slices"
	"testing"
	"testing/fstest"

	"countersign/contracts"
	"countersign/contracts/artifact"
	"countersign/contracts/lineage"

	"github.com/stretchr/testify/require"
)

// smallTree has a report, R, that is grounded in an artifact and an attachment.
func smallTree(t testing.TB) fstest.MapFS {
	m := newMaker(t, tamperSigner)
	source := m.record("S", artifact.Dataset, `{"users":1234}`)
	attached := m.record("", lineage.Attachment, "raw")
	m.record("R", artifact.Report, "first")
	m.record("R", artifact.Report, `{"body":"1,234 of 5,000 users","figures":[`+figure("artifact", source, "1,234")+`,`+figure("attachment", attached, "5,000")+`]}`)
	m.record("L", artifact.ActionLog, "")
	return m.tree()
}

func FuzzParseLine(f *testing.F) {
	for line := range bytes.Lines(smallTree(f)[lineage.LogPath].Data) {
		f.Add(bytes.TrimSuffix(line, []byte("\n")))
	}
	f.Add([]byte(`{"v":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		line, err := lineage.ParseLine(data)
		if err != nil {
			require.NotEmpty(t, contracts.CodeOf(err))
			require.Zero(t, line)
			return
		}
		require.NoError(t, line.Check())
		require.Equal(t, data, line.Encode(), "a line has one spelling")
		require.Equal(t, string(data), canonical(t, string(data)), "by another RFC 8785 too")
	})
}

func FuzzParseHead(f *testing.F) {
	f.Add(smallTree(f)[lineage.HeadPath].Data)
	f.Fuzz(func(t *testing.T, data []byte) {
		head, err := lineage.ParseHead(data)
		if err != nil {
			require.NotEmpty(t, contracts.CodeOf(err))
			return
		}
		require.Equal(t, data, head.Encode())
		require.Equal(t, string(data), canonical(t, string(data)))
		head.Verify(nil, tamperSigner.Secret)
	})
}

func FuzzParseCardAndReceipt(f *testing.F) {
	tree := smallTree(f)
	f.Add(tree[lineage.CardPath].Data)
	f.Add(tree[lineage.ReceiptPath("R")].Data)
	f.Fuzz(func(t *testing.T, data []byte) {
		if card, err := lineage.ParseCard(data); err == nil {
			require.NotEmpty(t, card.Keys())
			again, err := card.Encode()
			require.NoError(t, err)
			back, err := lineage.ParseCard(again)
			require.NoError(t, err)
			require.Equal(t, card.Keys(), back.Keys())
		} else {
			require.NotEmpty(t, contracts.CodeOf(err))
		}
		if receipt, err := lineage.ParseReceipt(data); err == nil {
			again, err := receipt.Encode()
			require.NoError(t, err)
			require.Equal(t, data, again)
		} else {
			require.NotEmpty(t, contracts.CodeOf(err))
		}
	})
}

// FuzzVerify changes bytes of one file: from, to and with say which part is replaced by what.
func FuzzVerify(f *testing.F) {
	good := smallTree(f)
	names := slices.Sorted(maps.Keys(good))
	// Only these may change without a failure of R.
	free := []string{lineage.CardPath, "artifacts/L/artifact.bin", lineage.ReceiptPath("L"), lineage.ReceiptPath("S")}
	old := treeV1(f, nil, nil)
	f.Add(byte(0), uint16(1), uint16(2), []byte("x"))
	for i := range names {
		f.Add(byte(i), uint16(100), uint16(100), []byte("\n"))
		f.Add(byte(i), uint16(0), uint16(0xffff), []byte{})
	}
	f.Fuzz(func(t *testing.T, which byte, from, to uint16, with []byte) {
		name := names[int(which)%len(names)]
		data := good[name].Data
		start := min(int(from), len(data))
		end := min(max(int(to), start), len(data))
		bad := slices.Concat(data[:start], with, data[end:])
		tree := maps.Clone(good)
		tree[name] = &fstest.MapFile{Data: bad}
		result := verify(t, tree, "R", tamperSigner.Secret)
		if !bytes.Equal(bad, data) && !slices.Contains(free, name) {
			require.False(t, result.OK, "%s: %q", name, bad)
		}
		for _, failure := range result.Failures {
			require.NotEmpty(t, failure)
		}
		verify(t, overlay{old, map[string][]byte{name: bad}}, "RPT-1", nil)
	})
}
