// A grounded report at the moment it is recorded.

package sdd

import (
	"os"
	"path/filepath"
	"testing"

	"countersign/contracts/artifact"
	"countersign/contracts/figures"
	"countersign/contracts/lineage"

	"github.com/stretchr/testify/require"
)

var grounded = artifact.Criterion{Type: artifact.FiguresGrounded, Value: "strict"}

// report is a bundle with one figure.
func report(kind, ref string) string {
	return `{"body":"1,234 users","figures":[{"anchor":{"kind":"` + kind + `","ref":"` + ref + `"},"label":"users","unit":"users","value":"1,234"}]}`
}

func TestGroundsAreCheckedBeforeRecording(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind   string
		damage func(t *testing.T, at func(string) string, source, attached lineage.Entry)
		want   string // "" when it is recorded
	}{
		"an artifact":    {kind: figures.AnchorArtifact},
		"an attachment":  {kind: figures.AnchorAttachment},
		"another's kind": {kind: "swapped", want: "resolves to no lineage record"},
		"a receipt":      {kind: figures.AnchorReceipt, want: "resolves to no lineage record"},
		"its signature": {kind: figures.AnchorArtifact, want: "is missing", damage: func(t *testing.T, at func(string) string, source, _ lineage.Entry) {
			require.NoError(t, os.Remove(at(lineage.SidecarPath(source.Hash()))))
		}},
		"its bytes": {kind: figures.AnchorArtifact, want: "the bytes of task SRC", damage: func(t *testing.T, at func(string) string, source, _ lineage.Entry) {
			require.NoError(t, os.WriteFile(at(lineage.BytesPath(source.Path())), []byte("x"), 0o644))
		}},
		"an attachment's bytes": {kind: figures.AnchorAttachment, want: "has the hash", damage: func(t *testing.T, at func(string) string, _, attached lineage.Entry) {
			require.NoError(t, os.WriteFile(at(lineage.BytesPath(attached.Path())), []byte("x"), 0o644))
		}},
		"its line before": {kind: figures.AnchorAttachment, want: "chain does not follow", damage: func(t *testing.T, at func(string) string, _, _ lineage.Entry) {
			data, err := os.ReadFile(at(lineage.LogPath))
			require.NoError(t, err)
			first := 0
			for data[first] != '\n' {
				first++
			}
			require.NoError(t, os.WriteFile(at(lineage.LogPath), data[first+1:], 0o644))
		}},
		"another's signature, which does not matter": {kind: figures.AnchorArtifact, damage: func(t *testing.T, at func(string) string, _, attached lineage.Entry) {
			require.NoError(t, os.Remove(at(lineage.SidecarPath(attached.Hash()))))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			source := record(t, dir, "SRC", artifact.Dataset, `{"users":1234}`).Entry
			attached := attach(t, dir, "raw").Entry
			record(t, dir, "LAST", artifact.Report, "last")
			if c.damage != nil {
				c.damage(t, func(name string) string { return filepath.Join(dir, directory, name) }, source, attached)
			}
			kind, ref := c.kind, source.ContentHash
			switch c.kind {
			case figures.AnchorAttachment:
				ref = attached.ContentHash
			case "swapped":
				kind = figures.AnchorAttachment
			}
			place(t, dir, "out", report(kind, ref))
			before := state(t, dir)
			done, err := Record(t.Context(), Options{Workdir: dir, Secret: secret}, "RPT", specOf(artifact.Report, grounded))
			if c.want == "" {
				require.NoError(t, err)
				require.True(t, done.Results[0].Passed)
				return
			}
			require.ErrorIs(t, err, ErrCriteria)
			require.Contains(t, done.Results[0].Detail, c.want)
			require.Equal(t, before, state(t, dir))
		})
	}
}

// TestReceiptsAreHandedIn: who knows a receipt can ground a figure in it.
func TestReceiptsAreHandedIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	place(t, dir, "out", report(figures.AnchorReceipt, "r1"))
	receipts := figures.Statements(map[string]string{"r1": "traces to receipt r1"})
	done, err := Record(t.Context(), Options{Workdir: dir, Receipts: receipts}, "RPT", specOf(artifact.Report, grounded))
	require.NoError(t, err)
	require.Empty(t, done.Notes)
	with, err := Verify(t.Context(), dir, "RPT", lineage.Options{Receipts: receipts})
	require.NoError(t, err)
	require.Empty(t, with.Failures)
	without, err := Verify(t.Context(), dir, "RPT", lineage.Options{})
	require.NoError(t, err)
	require.False(t, without.OK)
	require.Equal(t, "anchor r1 resolves to no lineage record", without.Figures.Provenances[0].Statement)
}
