// What verification costs beside the signatures alone, and recording as the log grows.

package sdd

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"countersign/contracts/artifact"
	"countersign/contracts/lineage"

	"github.com/stretchr/testify/require"
)

// entries is how many a large tree has.
const entries = 10_000

// stored is a lineage.Log that keeps what it is given.
type stored struct{ records []lineage.Record }

func (s *stored) Tip(context.Context) (lineage.Tip, error) {
	if len(s.records) == 0 {
		return lineage.EmptyTip(), nil
	}
	return s.records[len(s.records)-1].Head.Tip(), nil
}

func (s *stored) Newest(context.Context, string) (lineage.Entry, bool, error) {
	return lineage.Entry{}, false, nil
}

func (s *stored) Append(_ context.Context, r lineage.Record) error {
	s.records = append(s.records, r)
	return nil
}

// largeTree writes a tree of n entries, the last one a report with figures anchored to the others, and
// returns its workdir. Nothing is synced, so that it takes seconds.
func largeTree(b testing.TB, n int) string {
	b.Helper()
	dir := b.TempDir()
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	card, err := lineage.NewCard(key.Public().(ed25519.PublicKey)).Encode()
	require.NoError(b, err)
	pem, err := lineage.EncodeKey(key)
	require.NoError(b, err)
	place(b, dir, directory+"/"+lineage.CardPath, string(card))
	place(b, dir, directory+"/"+lineage.KeyPath, string(pem))
	chmodTo(b, dir, lineage.KeyPath, 0o600)
	var (
		log     stored
		out     strings.Builder
		figures []string
	)
	for i := range n {
		task, kind, data := fmt.Sprint("T-", i), artifact.Dataset, fmt.Sprintf(`{"users":%d}`, 1000+i)
		if i == n-1 {
			task, kind = "RPT", artifact.Report
			data = `{"body":"We migrated 1,000 users, then 1,007.\n","figures":[` + strings.Join(figures, ",") + `]}`
		} else if i%(n/100) == 0 {
			figures = append(figures, fmt.Sprintf(`{"anchor":{"kind":"artifact","ref":"%s"},"label":"","unit":"users","value":"%d"}`, lineage.HashOf([]byte(data)), 1000+len(figures)))
		}
		e, _, err := lineage.Append(b.Context(), &log, lineage.Signer{Key: key, Secret: secret}, lineage.Deliverable{TaskID: task, Kind: kind, ContentHash: lineage.HashOf([]byte(data))})
		require.NoError(b, err)
		r := log.records[i]
		out.Write(append(r.Encode(), '\n'))
		place(b, dir, directory+"/"+lineage.SidecarPath(r.EntryHash), r.Sidecar)
		if i%(n/100) == 0 || i == n-1 {
			place(b, dir, directory+"/"+lineage.BytesPath(e.Path()), data)
		}
		if i == n-1 {
			receipt, err := lineage.NewReceipt(e).Encode()
			require.NoError(b, err)
			place(b, dir, directory+"/"+lineage.ReceiptPath(task), string(receipt))
			place(b, dir, directory+"/"+lineage.HeadPath, string(r.Head.Encode()))
		}
	}
	place(b, dir, directory+"/"+lineage.LogPath, out.String())
	return dir
}

func chmodTo(t testing.TB, dir, name string, mode os.FileMode) {
	require.NoError(t, os.Chmod(filepath.Join(dir, directory, name), mode))
}

// BenchmarkVerify verifies 10,000 entries with a grounded report; BenchmarkSignaturesAlone checks as many
// signatures over as many cores, and nothing else. Run both and compare.
func BenchmarkVerify(b *testing.B) {
	dir := largeTree(b, entries)
	b.ReportAllocs()
	for b.Loop() {
		result, err := Verify(b.Context(), dir, "RPT", lineage.Options{Secret: secret})
		require.NoError(b, err)
		require.Empty(b, result.Failures)
		require.True(b, result.Figures.OK)
	}
	b.ReportMetric(float64(entries)*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
}

func BenchmarkSignaturesAlone(b *testing.B) {
	public, key, err := ed25519.GenerateKey(nil)
	require.NoError(b, err)
	message := make([]byte, 600)
	signature := ed25519.Sign(key, message)
	for b.Loop() {
		var next atomic.Int64
		var done sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			done.Go(func() {
				for next.Add(1) <= entries {
					if !ed25519.Verify(public, message, signature) {
						b.Error("does not verify")
					}
				}
			})
		}
		done.Wait()
	}
	b.ReportMetric(float64(entries)*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
}

// BenchmarkRecord records new bytes of one task, into an empty tree and into one of 10,000 entries.
func BenchmarkRecord(b *testing.B) {
	for _, n := range []int{0, entries} {
		b.Run(fmt.Sprint("entries=", n), func(b *testing.B) {
			dir := b.TempDir()
			if n > 0 {
				dir = largeTree(b, n)
			}
			i := 0
			for b.Loop() {
				i++
				record(b, dir, "NEW", artifact.Report, fmt.Sprint(i))
			}
		})
	}
}

// BenchmarkRecordGrounded records reports whose figures are anchored in a log of 10,000 entries.
func BenchmarkRecordGrounded(b *testing.B) {
	dir := largeTree(b, entries)
	report, err := os.ReadFile(filepath.Join(dir, directory, "artifacts/RPT/artifact.bin"))
	require.NoError(b, err)
	i := 0
	for b.Loop() {
		i++
		place(b, dir, "out", strings.Replace(string(report), "We migrated", fmt.Sprint("T-", i, " migrated"), 1))
		done, err := Record(b.Context(), Options{Workdir: dir, Secret: secret}, "NEW", specOf(artifact.Report, artifact.Criterion{Type: artifact.FiguresGrounded}))
		require.NoError(b, err)
		require.True(b, done.Fresh)
	}
}
