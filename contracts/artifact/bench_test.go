// How fast datasets are canonicalised, beside what the standard library and another RFC 8785 do.

package artifact_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"countersign/contracts/artifact"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"
)

// smallRows are 200,000 rows like those of an export: an id, a name that is not always ASCII, an amount,
// a flag, a short list and an object, with keys in the order an author would write them.
var smallRows = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	r := rand.New(rand.NewPCG(1, 2))
	names := []string{"Ada Lovelace", "José Ortega", "王小明", "Sinéad O'Connor", "line\\nbreak", "plain"}
	for i := range 200_000 {
		fmt.Fprintf(&b, `{"id": %d, "name": "%s", "amount": %.2f, "ratio": %v, "active": %t, "tags": ["a", "b%d"], "place": {"lat": %.5f, "lon": %.5f}}`+"\n",
			i, names[r.IntN(len(names))], r.Float64()*1e4, r.Float64(), i%3 == 0, i%7, r.Float64()*90, r.Float64()*180)
	}
	return b.Bytes()
})

func BenchmarkCanonicalise(b *testing.B) {
	data := smallRows()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		_, err := artifact.Canonicalise(artifact.Dataset, bytes.NewReader(data), io.Discard)
		require.NoError(b, err)
	}
}

// A file of 1 GiB, of the same rows over and over, with the most memory that it took on the way.
func BenchmarkCanonicaliseGiB(b *testing.B) {
	rows := smallRows()[:1<<20]
	block := string(rows[:bytes.LastIndexByte(rows, '\n')+1])
	times := (1 << 30) / len(block)
	b.SetBytes(int64(times * len(block)))
	var peak uint64
	for b.Loop() {
		var before runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		file := &watched{repeated: repeated{block: block, times: times}}
		_, err := artifact.Canonicalise(artifact.Dataset, file, io.Discard)
		require.NoError(b, err)
		peak = max(peak, file.peak-before.HeapInuse)
	}
	b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
}

// watched looks at the memory in use every few reads.
type watched struct {
	repeated
	reads int
	peak  uint64
}

func (w *watched) Read(p []byte) (int, error) {
	if w.reads++; w.reads%64 == 0 {
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		w.peak = max(w.peak, now.HeapInuse)
	}
	return w.repeated.Read(p)
}

// The same rows through encoding/json, to know that they are objects, and gowebpki/jcs.
func BenchmarkStandardLibraryAndJCS(b *testing.B) {
	data := smallRows()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		hash := sha256.New()
		for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
			var row map[string]json.RawMessage
			require.NoError(b, json.Unmarshal(lines.Bytes(), &row))
			canonical, err := jcs.Transform(lines.Bytes())
			require.NoError(b, err)
			hash.Write(canonical)
		}
	}
}

// gowebpki/jcs alone.
func BenchmarkJCS(b *testing.B) {
	data := smallRows()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		hash := sha256.New()
		for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
			canonical, err := jcs.Transform(lines.Bytes())
			require.NoError(b, err)
			hash.Write(canonical)
		}
	}
}

// Rows that are judged, one schema and one predicate about a single row.
func BenchmarkEvaluate(b *testing.B) {
	var canonical bytes.Buffer
	_, err := artifact.Canonicalise(artifact.Dataset, bytes.NewReader(smallRows()), &canonical)
	require.NoError(b, err)
	criteria := []artifact.Criterion{
		{Type: artifact.SchemaValid, Value: `{"required":["id"],"properties":{"id":{"type":"integer"},"name":{"type":"string"}}}`},
		{Type: artifact.CriteriaMatch, Value: `[{"path":"3.id","op":"exists"}]`},
	}
	b.SetBytes(int64(canonical.Len()))
	b.ReportAllocs()
	for b.Loop() {
		results, err := artifact.Evaluate(artifact.Dataset, bytes.NewReader(canonical.Bytes()), criteria, nil)
		require.NoError(b, err)
		require.True(b, results[0].Passed && results[1].Passed)
	}
}
