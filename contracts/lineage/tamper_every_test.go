// The same changes at every line and every file.

package lineage_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"countersign/contracts/lineage"

	"github.com/stretchr/testify/require"
)

// others are bytes of other classes than b: its neighbour, its other case, and what ends lines and strings.
func others(b byte) []byte {
	all := []byte{b ^ 1, b ^ 0x20, '"', ' ', '\n', 0, 0xff}
	return slices.DeleteFunc(slices.Compact(all), func(o byte) bool { return o == b })
}

// flip changes every nth byte of every file that the task's verification rests on, each to another class
// than the one before.
func flip(t *testing.T, tree fstest.MapFS, task string, nth func(size int) int, restsOn func(name string) bool) {
	t.Helper()
	for name, file := range tree {
		if !restsOn(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at := 0; at < len(file.Data); at += nth(len(file.Data)) {
				bad, all := bytes.Clone(file.Data), others(file.Data[at])
				bad[at] = all[at%len(all)]
				result := verify(t, with(tree, map[string][]byte{name: bad}), task, tamperSigner.Secret)
				require.False(t, result.OK, "byte %d from %q to %q", at, file.Data[at], bad[at])
			}
		})
	}
}

// TestEveryByteCounts changes each byte of a small tree, and some of each file of one of 50 entries.
func TestEveryByteCounts(t *testing.T) {
	t.Parallel()
	other := []string{"artifacts/L/artifact.bin", lineage.ReceiptPath("L"), lineage.ReceiptPath("S")}
	flip(t, smallTree(t), "R", func(int) int { return 1 }, func(name string) bool { return !slices.Contains(other, name) })
	flip(t, fiftyEntries(t, tamperSigner), "RPT", func(size int) int { return size/12 + 1 }, func(name string) bool {
		return strings.HasPrefix(name, "lineage/") || strings.HasPrefix(name, "agents/") || strings.Contains(name, "/RPT/") || name == "artifacts/SRC/artifact.bin"
	})
}

func TestEveryLineCounts(t *testing.T) {
	t.Parallel()
	tree := fiftyEntries(t, tamperSigner)
	lines := slices.Collect(bytes.Lines(tree[lineage.LogPath].Data))
	require.Len(t, lines, 50)
	for i := range lines {
		for what, changed := range map[string][][]byte{
			"removed":                  slices.Delete(slices.Clone(lines), i, i+1),
			"doubled":                  slices.Insert(slices.Clone(lines), i, lines[i]),
			"swapped with the next":    swapped(lines, i, (i+1)%len(lines)),
			"swapped with a far one":   swapped(lines, i, (i+17)%len(lines)),
			"and all behind it cut":    lines[:i],
			"moved to the end":         append(slices.Delete(slices.Clone(lines), i, i+1), lines[i]),
			"as it is, without its LF": append(append(slices.Clone(lines[:i]), bytes.TrimSuffix(lines[i], []byte("\n"))), lines[i+1:]...),
		} {
			if what == "moved to the end" && i == len(lines)-1 {
				continue // where it is
			}
			result := verify(t, with(tree, map[string][]byte{lineage.LogPath: append([]byte{}, bytes.Join(changed, nil)...)}), "RPT", tamperSigner.Secret)
			require.False(t, result.OK, "line %d %s", i+1, what)
			require.True(t, slices.ContainsFunc(result.Failures, func(f string) bool {
				return strings.HasPrefix(f, lineage.LogPath) || strings.HasPrefix(f, lineage.HeadPath)
			}), "line %d %s: %q", i+1, what, result.Failures)
		}
	}
}

func swapped(lines [][]byte, i, j int) [][]byte {
	lines = slices.Clone(lines)
	lines[i], lines[j] = lines[j], lines[i]
	return lines
}

// TestEveryFileCounts takes each file away, and puts each sidecar in the place of the next.
func TestEveryFileCounts(t *testing.T) {
	t.Parallel()
	tree := fiftyEntries(t, tamperSigner)
	var sidecars []string
	for name := range tree {
		if strings.HasSuffix(name, ".jws") {
			sidecars = append(sidecars, name)
		}
		result := verify(t, with(tree, map[string][]byte{name: nil}), "RPT", tamperSigner.Secret)
		// Other tasks' receipts and bytes are not the report's business; where they are gone an anchor resolves by its line.
		others := !strings.HasPrefix(name, "lineage/") && !strings.HasPrefix(name, "agents/") && !strings.Contains(name, "/RPT/")
		require.Equal(t, others, result.OK, name)
		if !others {
			want := name
			if name == lineage.CardPath {
				want = "no card of agent:artifact-completion"
			}
			require.Contains(t, strings.Join(result.Failures, "\n"), want)
		}
	}
	slices.Sort(sidecars)
	require.Len(t, sidecars, 50)
	for i, name := range sidecars {
		other := tree[sidecars[(i+1)%len(sidecars)]].Data
		result := verify(t, with(tree, map[string][]byte{name: other}), "RPT", tamperSigner.Secret)
		require.False(t, result.OK)
		require.Contains(t, strings.Join(result.Failures, "\n"), name)
	}
}

// TestNoReceiptFitsAnotherTask puts each task's receipt and bytes in the report's place.
func TestNoReceiptFitsAnotherTask(t *testing.T) {
	t.Parallel()
	tree := fiftyEntries(t, tamperSigner)
	count := 0
	for name, file := range tree {
		task, ok := strings.CutSuffix(strings.TrimPrefix(name, "artifacts/"), "/receipt.json")
		if !ok || task == "RPT" {
			continue
		}
		count++
		result := verify(t, with(tree, map[string][]byte{
			lineage.ReceiptPath("RPT"): file.Data, "artifacts/RPT/artifact.bin": tree["artifacts/"+task+"/artifact.bin"].Data,
		}), "RPT", tamperSigner.Secret)
		require.False(t, result.OK)
		require.Contains(t, strings.Join(result.Failures, "\n"), "task_id is "+task+" where the signed entry has RPT")
	}
	require.Greater(t, count, 30)
}
