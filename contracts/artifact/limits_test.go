// The limits, at them and one beyond, and the memory that a large file takes.

package artifact_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"countersign/contracts"
	"countersign/contracts/artifact"

	"github.com/stretchr/testify/require"
)

// large skips a test of large files where it would take long and show nothing new. Such tests are not
// parallel, so that their memory does not add up.
func large(t *testing.T) {
	t.Helper()
	if testing.Short() || underRace {
		t.Skip("large files")
	}
}

// Rows are as long as they may be, their keys out of
// order on two levels, after many short ones.
func TestMemoryIsBounded(t *testing.T) {
	large(t)
	long := strings.Repeat("x", artifact.MaxRow-len(`{"b":{"d":"","c":1},"a":1}`))
	row := `{"b":{"d":"` + long + `","c":1},"a":1}`
	require.Len(t, row, artifact.MaxRow)
	short := strings.Repeat(`{"id":1,"name":"x","a":[1,2,3]}`+"\n", 1<<10)
	file := &repeated{block: row + "\n", times: 5}
	all := io.MultiReader(&repeated{block: short, times: 1 << 9}, file)

	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	canonical, err := artifact.Canonicalise(artifact.Dataset, all, io.Discard)
	require.NoError(t, err)
	require.EqualValues(t, 1<<19+5, canonical.Rows)
	require.Less(t, file.most-before.HeapAlloc, uint64(64<<20))
}

// A row of as many keys as one holds, out of order: the list of them takes about as much as the row.
func TestMemoryOfManyKeys(t *testing.T) {
	large(t)
	var b strings.Builder
	b.WriteString(`{"":0`)
	keys := 0
	for i := 1 << 21; b.Len() < artifact.MaxRow-12; i-- {
		fmt.Fprintf(&b, `,"%x":0`, i)
		keys++
	}
	b.WriteByte('}')
	require.Greater(t, keys, 1_500_000)
	row := b.String()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	_, err := artifact.Canonicalise(artifact.Dataset, strings.NewReader(row), io.Discard)
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(56<<20), "all that was ever taken, collected or not")
}

// repeated is a block, many times over; between large ones it looks at the heap.
type repeated struct {
	block string
	times int
	rest  string
	most  uint64
}

func (r *repeated) Read(b []byte) (int, error) {
	if r.rest == "" {
		if r.times == 0 {
			return 0, io.EOF
		}
		r.times--
		r.rest = r.block
		if len(r.block) >= artifact.MaxRow {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			r.most = max(r.most, now.HeapAlloc)
		}
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func TestRowLimit(t *testing.T) {
	large(t)
	const frame = len(`{"k":""}`)
	row := func(n int) string { return `{"k":"` + strings.Repeat("x", n-frame) + `"}` }
	for _, end := range []string{"", "\n", "\r\n", "\r", "\n{}"} {
		out, _, err := canonicalise(artifact.Dataset, row(artifact.MaxRow)+end)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(out), artifact.MaxRow)
		_, _, err = canonicalise(artifact.Dataset, "{}\n"+row(artifact.MaxRow+1)+end)
		requireRejected(t, err, 2, "a row has at most 16777216 bytes")
	}
	// White space around a row is of its line.
	_, _, err := canonicalise(artifact.ActionLog, row(artifact.MaxRow)+" ")
	requireRejected(t, err, 1, "a row has at most")
	_, _, err = canonicalise(artifact.ActionLog, strings.Repeat(" ", artifact.MaxRow)+"\n{}")
	require.NoError(t, err)

	// What it becomes counts as well, or it could not be read again: 1e20 has 21 digits.
	const each, zeros = len("100000000000000000000,"), 20
	fits := (artifact.MaxRow - len(`{"a":[]}`) + 1) / each
	list := func(n int) string { return strings.TrimSuffix(strings.Repeat("1e20,", n), ",") }
	out, _, err := canonicalise(artifact.Dataset, `{"a":[`+list(fits)+`]}`)
	require.NoError(t, err)
	require.LessOrEqual(t, len(out), artifact.MaxRow)
	_, _, err = canonicalise(artifact.Dataset, out)
	require.NoError(t, err)
	_, _, err = canonicalise(artifact.Dataset, `{"a":[`+list(fits+1)+`]}`)
	requireRejected(t, err, 1, "the canonical form has more than 16777216 bytes")
	pad := strings.Repeat("x", artifact.MaxRow-len(`{"a":[1e20],"b":""}`)-zeros+3)
	out, _, err = canonicalise(artifact.Dataset, `{"a":[1e20],"b":"`+pad+`"}`)
	require.NoError(t, err)
	require.Len(t, out, artifact.MaxRow)
	_, _, err = canonicalise(artifact.Dataset, `{"a":[1e20],"b":"`+pad+`x"}`)
	requireRejected(t, err, 1, "the canonical form has more than 16777216 bytes")
}

func requireRejected(t testing.TB, err error, line int, reason string) {
	t.Helper()
	var rejection *artifact.Rejection
	require.ErrorAs(t, err, &rejection)
	require.Contains(t, rejection.Reason, reason)
	require.Equal(t, line, rejection.Line)
}

func TestDocumentLimit(t *testing.T) {
	large(t)
	const frame = len(`{"k":""}`)
	fits := `{"k":"` + strings.Repeat("x", artifact.MaxDocument-frame) + `"}`
	for _, kind := range []artifact.Kind{artifact.OpsResult, artifact.Report} {
		canonical, err := artifact.Canonicalise(kind, strings.NewReader(fits), io.Discard)
		require.NoError(t, err)
		require.EqualValues(t, artifact.MaxDocument, canonical.Bytes)
		_, err = artifact.Canonicalise(kind, strings.NewReader(fits+" "), io.Discard)
		requireRejected(t, err, 1, "one JSON document has at most 67108864 bytes")
	}
	// Text that is no JSON object has no limit.
	text := io.MultiReader(strings.NewReader("{ text "), strings.NewReader(fits), strings.NewReader(fits))
	canonical, err := artifact.Canonicalise(artifact.Report, text, io.Discard)
	require.NoError(t, err)
	require.EqualValues(t, 2*artifact.MaxDocument+7, canonical.Bytes)
}

// The keys that a bundle's author leaves out count too.
func TestBundleLimit(t *testing.T) {
	large(t)
	const figure = `{"anchor":{"kind":"receipt","ref":"r"},"value":""}`
	const added = len(`"label":"","unit":"",`)
	pad := strings.Repeat("x", artifact.MaxDocument-len(`{"body":"","figures":[]}`)-len(figure)-added)
	canonical, err := artifact.Canonicalise(artifact.Report, strings.NewReader(`{"body":"`+pad+`","figures":[`+figure+`]}`), io.Discard)
	require.NoError(t, err)
	require.EqualValues(t, artifact.MaxDocument, canonical.Bytes)
	_, err = artifact.Canonicalise(artifact.Report, strings.NewReader(`{"body":"`+pad+`x","figures":[`+figure+`]}`), io.Discard)
	requireRejected(t, err, 1, "at most 67108864 bytes")
}

func TestDepthLimit(t *testing.T) {
	t.Parallel()
	nested := func(n int, open, inner, closing string) string {
		return `{"a":` + strings.Repeat(open, n-1) + inner + strings.Repeat(closing, n-1) + `}`
	}
	for _, c := range [][3]string{{"[", "", "]"}, {`{"a":`, "1", "}"}, {`[{"a":`, "{}", "}]"}} {
		levels := artifact.MaxDepth
		if c[0] == `[{"a":` {
			levels = artifact.MaxDepth / 2 // two containers each, one for the object around and one within
		}
		for _, kind := range []artifact.Kind{artifact.OpsResult, artifact.Dataset} {
			_, _, err := canonicalise(kind, nested(levels, c[0], c[1], c[2]))
			require.NoError(t, err)
			_, _, err = canonicalise(kind, nested(levels+1, c[0], c[1], c[2]))
			requireRejected(t, err, 1, "more than 64 nested objects and arrays")
		}
	}
	// It ends at the limit, whatever is behind it.
	_, _, err := canonicalise(artifact.OpsResult, `{"a":`+strings.Repeat("[", 1<<20))
	requireRejected(t, err, 1, "more than 64 nested")
}

// Numbers of whatever length are read in linear time and named shortly.
func TestLongNumbers(t *testing.T) {
	t.Parallel()
	digits := strings.Repeat("9", 1<<20)
	_, _, err := canonicalise(artifact.OpsResult, `{"a":`+digits+`}`)
	requireRejected(t, err, 1, "beyond a double's range")
	require.Less(t, len(err.Error()), 200)
	out, _, err := canonicalise(artifact.OpsResult, `{"a":0.`+digits+`}`)
	require.NoError(t, err)
	require.Equal(t, `{"a":1}`, out)
	_, _, err = canonicalise(artifact.OpsResult, `{"`+digits+"\u0065\u0301"+`":1}`)
	requireRejected(t, err, 1, "NFC")
	require.Less(t, len(err.Error()), 200)
	_, _, err = canonicalise(artifact.OpsResult, `{"`+digits+`":1,"`+digits+`":1}`)
	requireRejected(t, err, 1, "stands twice")
	require.Less(t, len(err.Error()), 200)
}

// Members in reverse order and lines without a byte are no worse than any others.
func TestManyMembers(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range 100_000 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"%d":0`, 999_999-i)
	}
	b.WriteByte('}')
	out, _, err := canonicalise(artifact.OpsResult, b.String())
	require.NoError(t, err)
	require.Len(t, out, b.Len())
	_, canonical, err := canonicalise(artifact.Dataset, strings.Repeat("\r", 1<<20)+strings.Repeat("{}\r", 1<<16))
	require.NoError(t, err)
	require.EqualValues(t, 1<<16, canonical.Rows)
}

func TestNothingIsAllocatedPerRow(t *testing.T) {
	const rows = 1000
	file := strings.Repeat(`{"z":{"y":1,"x":[1.5,-2e-7,12345678901234567890.5]},"name":"王 caf\u00e9 \n","a":null}`+"\r\n", rows)
	perFile := testing.AllocsPerRun(5, func() {
		if _, err := artifact.Canonicalise(artifact.Dataset, strings.NewReader(file), io.Discard); err != nil {
			panic(err)
		}
	})
	require.Less(t, perFile, float64(rows)/10)
}

func TestCodes(t *testing.T) {
	t.Parallel()
	missing := artifact.Missing("reports/weekly.md")
	require.Equal(t, contracts.Code("artifact_missing"), missing.Code)
	require.Equal(t, "wrote no output at reports/weekly.md", missing.Detail)
}
