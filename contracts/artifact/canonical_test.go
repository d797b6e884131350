// What canonical bytes look like, and that they do not depend on how a file arrives.

package artifact_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"countersign/contracts"
	"countersign/contracts/artifact"

	"github.com/stretchr/testify/require"
)

func TestCanonicalForms(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind       artifact.Kind
		file, want string
	}{
		"text is kept":                  {artifact.Report, " \tT\v\f\x00\x7f\u0085\u2028 \n\n", " \tT\v\f\x00\x7f\u0085\u2028 \n\n"},
		"text without a last line end":  {artifact.Report, "a", "a"},
		"code_diff is text":             {artifact.CodeDiff, "a\r\n", "a\n"},
		"a bundle is text to code_diff": {artifact.CodeDiff, `{"figures":[], "body":"x"}`, `{"figures":[], "body":"x"}`},
		"line ends":                     {artifact.Report, "\r\r\n\n\r", "\n\n\n\n"},
		"a mark in the middle":          {artifact.Report, "a\ufeffb", "a\ufeffb"},
		"marks first":                   {artifact.Report, "\u0301\u0323"[:2], "\u0301"},
		"forty marks are NFC":           {artifact.Report, "q" + strings.Repeat("\u0323", 40) + "\u0307", "q" + strings.Repeat("\u0323", 40) + "\u0307"},
		"a blocked mark":                {artifact.Report, "a\u0315\u0315\u0315", "a\u0315\u0315\u0315"},
		"a vowel behind a mark":         {artifact.Report, "\u1100\u0315\u1161", "\u1100\u0315\u1161"},
		"a final behind a syllable":     {artifact.Report, "\uac01\u11a8", "\uac01\u11a8"},
		"unassigned and noncharacters":  {artifact.Report, "\ufffe\uffff\U0010ffff\ufffd", "\ufffe\uffff\U0010ffff\ufffd"},

		"an open brace is text":           {artifact.Report, "{ not JSON", "{ not JSON"},
		"a template is text":              {artifact.Report, "{{ x }}\r\n", "{{ x }}\n"},
		"other JSON is text":              {artifact.Report, "{\"a\":1,\r\n\"a\":2}", "{\"a\":1,\n\"a\":2}"},
		"only a body is text":             {artifact.Report, `{"body": "x"}`, `{"body": "x"}`},
		"only figures are text":           {artifact.Report, `{"figures": []}`, `{"figures": []}`},
		"keys in other case are text":     {artifact.Report, `{"Body": "x", "Figures": []}`, `{"Body": "x", "Figures": []}`},
		"keys deeper are text":            {artifact.Report, `{"a": {"body": "x", "figures": []}}`, `{"a": {"body": "x", "figures": []}}`},
		"broken JSON is text":             {artifact.Report, `{"body": "x", "figures": [],}`, `{"body": "x", "figures": [],}`},
		"NaN is no JSON":                  {artifact.Report, `{"body": "x", "figures": [NaN]}`, `{"body": "x", "figures": [NaN]}`},
		"JSON and more is text":           {artifact.Report, `{"body": "x", "figures": []} x`, `{"body": "x", "figures": []} x`},
		"a raw line end in JSON is text":  {artifact.Report, "{\"body\": \"x\ry\", \"figures\": []}", "{\"body\": \"x\ny\", \"figures\": []}"},
		"JSON nested too deeply is text":  {artifact.Report, `{"a":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`, `{"a":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`},
		"white space before a bundle":     {artifact.Report, " \t\r\n{\"figures\":[],\"body\":\"\"}\n ", `{"body":"","figures":[]}`},
		"escaped keys make a bundle":      {artifact.Report, `{"\u0066igures":[],"b\u006fdy":""}`, `{"body":"","figures":[]}`},
		"a body is folded":                {artifact.Report, `{"figures":[],"body":"\r\n\r\r\n"}`, `{"body":"\n\n\n","figures":[]}`},
		"a byte order mark in a body":     {artifact.Report, `{"figures":[],"body":"x\ufeff"}`, "{\"body\":\"x\ufeff\",\"figures\":[]}"},
		"the rest of a bundle is kept":    {artifact.Report, `{"figures":[{"unit":"\r\n","value":" ","anchor":{"ref":" r\r","kind":"receipt"}}],"body":""}`, `{"body":"","figures":[{"anchor":{"kind":"receipt","ref":" r\r"},"label":"","unit":"\r\n","value":" "}]}`},
		"a value may be empty":            {artifact.Report, `{"figures":[{"value":"","anchor":{"ref":"` + anyHash + `","kind":"attachment"}}],"body":""}`, `{"body":"","figures":[{"anchor":{"kind":"attachment","ref":"` + anyHash + `"},"label":"","unit":"","value":""}]}`},
		"controls and quotes in a bundle": {artifact.Report, `{"figures":[],"body":"\u0000\u001F\/\"\\\u007f\u2028<&"}`, "{\"body\":\"\\u0000\\u001f/\\\"\\\\\x7f\u2028<&\",\"figures\":[]}"},

		"no rows":                {artifact.Dataset, "\r\n \t\r\r", ""},
		"white space around":     {artifact.Dataset, " \t{ } \t\r\n\r\n{}", "{}\n{}"},
		"lines by CR":            {artifact.ActionLog, "{}\r{}\r", "{}\n{}"},
		"empty containers":       {artifact.Dataset, `{"b":[ ],"a":{ }}`, `{"a":{},"b":[]}`},
		"nested order":           {artifact.Dataset, `{"b":[{"d":1,"c":2},[[],{"z":1,"y":{"2":2,"1":1}}]],"a":1}`, `{"a":1,"b":[{"c":2,"d":1},[[],{"y":{"1":1,"2":2},"z":1}]]}`},
		"keys with escapes":      {artifact.Dataset, `{"b":1,"\\":2,"\"":3,"\n":4,"\u0001":5,"A":6,"\"a":7,"!":8," ":9}`, `{"\u0001":5,"\n":4," ":9,"!":8,"\"":3,"\"a":7,"A":6,"\\":2,"b":1}`},
		"keys that are prefixes": {artifact.Dataset, `{"a\n":1,"a":2,"a!":3,"a\"":4,"":5,"a ":6}`, `{"":5,"a":2,"a\n":1,"a ":6,"a!":3,"a\"":4}`},
		"keys beyond the plane":  {artifact.Dataset, "{\"\ufffd\":1,\"\U0001f600\":2,\"\ue000\":3,\"\ud7ff\":4,\"a\uffff\":5,\"a\U00010000\":6,\"\U0001f601\":7,\"\ufb4f\":8}", "{\"a\U00010000\":6,\"a\uffff\":5,\"\ud7ff\":4,\"\U0001f600\":2,\"\U0001f601\":7,\"\ue000\":3,\"\ufb4f\":8,\"\ufffd\":1}"},
		"escapes become short":   {artifact.Dataset, `{"k":"\u0008\u0009\u000A\u000b\u000C\u000d\u0022\u005c\u002f\/\u0041\u00e9\u20AC\ud83D\uDe00"}`, "{\"k\":\"\\b\\t\\n\\u000b\\f\\r\\\"\\\\//A\u00e9\u20ac\U0001f600\"}"},
		"a mark behind an f":     {artifact.Dataset, `{"k":"\f\u0307"}`, "{\"k\":\"\\f\u0307\"}"},
		"a mark behind 1f":       {artifact.Dataset, `{"k":"\u001f\u0307"}`, "{\"k\":\"\\u001f\u0307\"}"},
		"a string of a mark":     {artifact.Dataset, `{"k":"\u0301","l":["e","\u0301"]}`, "{\"k\":\"\u0301\",\"l\":[\"e\",\"\u0301\"]}"},
		"forty marks in a key":   {artifact.Dataset, "{\"q" + strings.Repeat("\u0323", 40) + "\":1}", "{\"q" + strings.Repeat("\u0323", 40) + "\":1}"},
		"a byte order mark in":   {artifact.Dataset, `{"\ufeff":"\ufeff"}`, "{\"\ufeff\":\"\ufeff\"}"},
		"the replacement itself": {artifact.Dataset, "{\"k\":\"\ufffd\\ufffd\"}", "{\"k\":\"\ufffd\ufffd\"}"},
		"line ends in an object": {artifact.OpsResult, "\r\n{\r\"a\"\n:\r\n1}\r", `{"a":1}`},
		"line ends in a string":  {artifact.OpsResult, `{"a":"\r\n\r"}`, `{"a":"\r\n\r"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, canonical, err := canonicalise(c.kind, c.file)
			require.NoError(t, err)
			require.Equal(t, c.want, out)
			sum := sha256.Sum256([]byte(c.want))
			require.Equal(t, "sha256:"+hex.EncodeToString(sum[:]), canonical.ContentHash)
			require.EqualValues(t, len(c.want), canonical.Bytes)
			rows := 0
			if c.kind.InRows() && c.want != "" {
				rows = 1 + strings.Count(c.want, "\n")
			}
			require.EqualValues(t, rows, canonical.Rows)

			again, _, err := canonicalise(c.kind, out)
			require.NoError(t, err)
			require.Equal(t, out, again)
		})
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for literal, want := range map[string]string{
		"0": "0", "-0": "0", "0.0": "0", "-0.0": "0", "0e0": "0", "-0E+9": "0", "0e999999999": "0", "0.000000": "0", "-0.0000000": "0",
		"1": "1", "-1": "-1", "10": "10", "100": "100", "1.0": "1", "-10.0": "-10", "100.00": "100", "1.10": "1.1", "-1.50": "-1.5", "10.01": "10.01",
		"0.5": "0.5", "-0.50": "-0.5", "0.1": "0.1", "0.10": "0.1", "0.001": "0.001", "0.000001": "0.000001", "0.0000001": "1e-7", "0.0000010": "0.000001",
		"0.00000012": "1.2e-7", "-0.00000010": "-1e-7", "0.000000999": "9.99e-7", "0.0000019": "0.0000019",
		"1e0": "1", "1e2": "100", "1E+2": "100", "1.5e1": "15", "1.5e-1": "0.15", "1e-6": "0.000001", "1e-7": "1e-7", "123e-20": "1.23e-18",
		"1e20": "100000000000000000000", "1e21": "1e+21", "12e20": "1.2e+21", "1e100": "1e+100", "1e-10": "1e-10", "1e-100": "1e-100",
		"999999999999999": "999999999999999", "-999999999999999": "-999999999999999", "999999999999999.0": "999999999999999",
		"9007199254740991": "9007199254740991", "9007199254740992": "9007199254740992", "-9007199254740992": "-9007199254740992",
		"9007199254740994": "9007199254740994", "123456789012345670000": "123456789012345670000", "9223372036854776000": "9223372036854776000",
		"100000000000000000000": "100000000000000000000", "1000000000000000000000": "1e+21", "-1200000000000000000000": "-1.2e+21",
		"9007199254740993.0": "9007199254740992", "9007199254740993e0": "9007199254740992", "900719925474099.3": "900719925474099.2", // fractions and exponents round
		"0.1000000000000000055511151231257827": "0.1", "123456789.123456789": "123456789.12345679", "99999999999999.9": "99999999999999.9", "999999999999999.9": "999999999999999.9",
		"9999999999999999.5": "10000000000000000", "1.7976931348623157e308": "1.7976931348623157e+308", "1.7976931348623158e308": "1.7976931348623157e+308",
		"5e-324": "5e-324", "2e-324": "0", "3e-324": "5e-324", "1e-400": "0", "-1e-400": "0", "1e-99999999999": "0", "2.2250738585072014e-308": "2.2250738585072014e-308",
		"0." + strings.Repeat("0", 400) + "1": "0", "1." + strings.Repeat("0", 400) + "1": "1",
	} {
		out, _, err := canonicalise(artifact.OpsResult, `{"v":[`+literal+` ,`+literal+`]}`)
		require.NoError(t, err, literal)
		require.Equal(t, `{"v":[`+want+`,`+want+`]}`, out, literal)
	}
}

// Streams that come byte by byte, with their end in the same call, or with calls that bring nothing.
func TestCanonicaliseAnyReader(t *testing.T) {
	t.Parallel()
	readers := map[string]func(io.Reader) io.Reader{
		"one byte":  iotest.OneByteReader,
		"halves":    iotest.HalfReader,
		"early end": iotest.DataErrReader,
		"hesitant":  func(r io.Reader) io.Reader { return &hesitantReader{r: r} },
	}
	for _, v := range readVectors[canonicalVector](t, "canonical") {
		file := v.file(t)
		want, canonical, wantErr := canonicalise(v.Kind, file)
		for name, reader := range readers {
			var out bytes.Buffer
			got, err := artifact.Canonicalise(v.Kind, reader(strings.NewReader(file)), &out)
			require.Equal(t, wantErr, err, "%s, %s", v.ID, name)
			require.Equal(t, canonical, got, "%s, %s", v.ID, name)
			if err == nil {
				require.Equal(t, want, out.String(), "%s, %s", v.ID, name)
			}
		}
	}
}

// A line end, a letter or a letter with its marks may fall between two pieces of a stream.
func TestCanonicaliseAcrossPieces(t *testing.T) {
	t.Parallel()
	const piece = 64 << 10
	for shift := -4; shift <= 4; shift++ {
		pad := strings.Repeat("x", piece+shift)
		for _, tail := range []string{"\r\n", "\r", "\r\r\n\n", "é王\U0001f600", "王\r\n王", "q\u0323\u0307"} {
			out, _, err := canonicalise(artifact.Report, pad+tail)
			require.NoError(t, err)
			require.Equal(t, strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(pad+tail), out)

			out, _, err = canonicalise(artifact.Dataset, `{"k":"`+pad+`"}`+"\r\n"+`{"k":1}`+"\r"+`{}`)
			require.NoError(t, err)
			require.Equal(t, `{"k":"`+pad+`"}`+"\n"+`{"k":1}`+"\n"+`{}`, out)
		}
		for _, tail := range []string{"e\u0301", "\u1100\u1161", "q\u0307\u0323", "\xff", "\xe2\x82"} {
			_, _, err := canonicalise(artifact.Report, "\n"+pad+tail)
			require.ErrorContains(t, err, "line 2: ")
			require.Equal(t, artifact.CodeRejected, contracts.CodeOf(err))
		}
	}
}

type hesitantReader struct {
	r     io.Reader
	ready bool
}

func (h *hesitantReader) Read(b []byte) (int, error) {
	if h.ready = !h.ready; h.ready {
		return 0, nil
	}
	return h.r.Read(b[:min(len(b), 3)])
}

// A reader that fails is no rejection, whatever it brought before.
func TestCanonicaliseReaderFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken pipe")
	for kind, starts := range map[artifact.Kind][]string{
		artifact.Report:    {"", "text", `{"body":`, `{"body":"x","figures":[]}`, " "},
		artifact.Dataset:   {"", `{"a":1}`, `{"a"`},
		artifact.OpsResult: {"", `{"a":1}`, `{"a"`},
		artifact.CodeDiff:  {"", "text"},
	} {
		for _, start := range starts {
			for _, end := range []error{broken, io.ErrUnexpectedEOF} {
				failing := func() io.Reader { return io.MultiReader(strings.NewReader(start), &failOnce{err: end}) }
				_, err := artifact.Canonicalise(kind, failing(), io.Discard)
				require.ErrorIs(t, err, end, "%s %q", kind, start)
				require.Empty(t, contracts.CodeOf(err))
				_, err = artifact.Evaluate(kind, failing(), []artifact.Criterion{{Type: artifact.SchemaValid, Value: "{}"}}, nil)
				require.ErrorIs(t, err, end, "%s %q", kind, start)
			}
		}
		_, err := artifact.Canonicalise(kind, silentReader{}, io.Discard)
		require.ErrorIs(t, err, io.ErrNoProgress, kind)
	}
}

// failOnce reports its error a single time, as a reader may.
type failOnce struct{ err error }

func (f *failOnce) Read([]byte) (int, error) {
	err := f.err
	f.err = io.EOF
	return 0, err
}

type silentReader struct{}

func (silentReader) Read([]byte) (int, error) { return 0, nil }

func TestCanonicaliseWriterFails(t *testing.T) {
	t.Parallel()
	for kind, file := range map[artifact.Kind]string{
		artifact.Report: "x", artifact.Dataset: "{}", artifact.OpsResult: "{}", artifact.CodeDiff: "x",
	} {
		_, err := artifact.Canonicalise(kind, strings.NewReader(file), brokenWriter{})
		require.ErrorIs(t, err, io.ErrClosedPipe)
		require.Empty(t, contracts.CodeOf(err))
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
