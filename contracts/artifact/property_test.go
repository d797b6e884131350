// What holds for all documents, and not only for those somebody thought of.

package artifact_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"countersign/contracts/artifact"
	"countersign/contracts/figures"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// drawText draws NFC text in which everything that is special is frequent.
func drawText(t *rapid.T) string {
	runes := rapid.SliceOfN(rapid.OneOf(
		rapid.SampledFrom([]rune("\"\\/\b\f\n\r\t\x00\x1f\x7f abz{}[]:,\u0301\u0323\u1100\u1161\uffff\ue000\ufb4f\U00010000\U0001f600é王")),
		rapid.Rune(),
	), 0, 8).Draw(t, "text")
	return norm.NFC.String(string(runes))
}

// drawNumber draws a number that has a canonical form.
func drawNumber(t *rapid.T) string {
	switch rapid.IntRange(0, 3).Draw(t, "number") {
	case 0:
		return strconv.FormatInt(rapid.Int64Range(-1<<53, 1<<53).Draw(t, "integer"), 10)
	case 1:
		return fmt.Sprintf("%d.%d", rapid.Int64Range(-1e6, 1e6).Draw(t, "whole"), rapid.Int64Range(0, 1e9).Draw(t, "fraction"))
	case 2:
		return rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})\.[0-9]{1,25}([eE][+-]?[0-9]{1,2})?`).Draw(t, "decimal")
	}
	f := rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).Draw(t, "double")
	return strconv.FormatFloat(f, 'e', -1, 64)
}

// drawSpace draws white space within a row.
func drawSpace(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", "", " ", "\t "}).Draw(t, "space")
}

// drawString spells text as JSON, each character raw or escaped.
func drawString(t *rapid.T, text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		raw := r >= 0x20 && r != '"' && r != '\\'
		if raw && rapid.IntRange(0, 3).Draw(t, "escape") > 0 {
			b.WriteRune(r)
			continue
		}
		if short := strings.IndexRune("\"\\/\b\f\n\r\t", r); short >= 0 && rapid.Bool().Draw(t, "short") {
			b.WriteString(`\` + `"\/bfnrt`[short:short+1])
			continue
		}
		format := rapid.SampledFrom([]string{`\u%04x`, `\u%04X`}).Draw(t, "hex")
		for _, unit := range utf16Units(r) {
			fmt.Fprintf(&b, format, unit)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func utf16Units(r rune) []rune {
	if r < 0x10000 {
		return []rune{r}
	}
	return []rune{0xd800 + (r-0x10000)>>10, 0xdc00 + (r-0x10000)&0x3ff}
}

func drawValue(t *rapid.T, depth int) string {
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "word")
	case 1, 2:
		return drawNumber(t)
	case 3:
		return drawString(t, drawText(t))
	case 4:
		items := make([]string, rapid.IntRange(0, 3).Draw(t, "items"))
		for i := range items {
			items[i] = drawSpace(t) + drawValue(t, depth-1) + drawSpace(t)
		}
		return "[" + strings.Join(items, ",") + drawSpace(t) + "]"
	}
	return drawObject(t, depth)
}

func drawObject(t *rapid.T, depth int) string {
	var members []string
	for _, key := range rapid.SliceOfNDistinct(rapid.Custom(drawText), 0, 5, rapid.ID[string]).Draw(t, "keys") {
		members = append(members, drawSpace(t)+drawString(t, key)+drawSpace(t)+":"+drawSpace(t)+drawValue(t, depth-1)+drawSpace(t))
	}
	return "{" + strings.Join(members, ",") + drawSpace(t) + "}"
}

// Another implementation of RFC 8785 says the same, and canonical bytes are their own canonical form.
func TestObjectsAreRFC8785(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		file := drawObject(t, 3)
		out, _, err := canonicalise(artifact.OpsResult, file)
		require.NoError(t, err, file)
		want, err := jcs.Transform([]byte(file))
		require.NoError(t, err)
		require.Equal(t, string(want), out, file)
		require.True(t, json.Valid([]byte(out)))
		again, _, err := canonicalise(artifact.OpsResult, out)
		require.NoError(t, err)
		require.Equal(t, out, again)
	})
}

// Rows are the objects one by one, whatever separates them and however they arrive.
func TestRowsAreObjects(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		objects := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return drawObject(t, 2) }), 0, 5).Draw(t, "objects")
		var file strings.Builder
		var want []string
		for _, object := range objects {
			file.WriteString(rapid.SampledFrom([]string{"", "\n", " \r\n", "\r\r", "\t"}).Draw(t, "blank"))
			file.WriteString(object)
			file.WriteString(rapid.SampledFrom([]string{"\n", "\r\n", "\r", " \n"}).Draw(t, "end"))
			out, _, err := canonicalise(artifact.OpsResult, object)
			require.NoError(t, err)
			want = append(want, out)
		}
		out, canonical, err := canonicalise(artifact.Dataset, file.String())
		require.NoError(t, err)
		require.Equal(t, strings.Join(want, "\n"), out)
		require.EqualValues(t, len(objects), canonical.Rows)

		var slow bytes.Buffer
		same, err := artifact.Canonicalise(artifact.ActionLog, iotest.OneByteReader(strings.NewReader(file.String())), &slow)
		require.NoError(t, err)
		require.Equal(t, canonical, same)
		require.Equal(t, out, slow.String())
	})
}

// Neither the order of members nor the spelling changes the hash, and any other value does.
func TestHashIsOfTheValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfNDistinct(rapid.Custom(drawText), 1, 6, rapid.ID[string]).Draw(t, "keys")
		spell := func(keys []string, values map[string]string) string {
			var members []string
			for _, key := range keys {
				members = append(members, drawString(t, key)+drawSpace(t)+":"+drawString(t, values[key]))
			}
			return "{" + strings.Join(members, ",") + "}"
		}
		values := map[string]string{}
		for _, key := range keys {
			values[key] = drawText(t)
		}
		_, first, err := canonicalise(artifact.OpsResult, spell(keys, values))
		require.NoError(t, err)
		_, second, err := canonicalise(artifact.OpsResult, spell(rapid.Permutation(keys).Draw(t, "order"), values))
		require.NoError(t, err)
		require.Equal(t, first, second)
		values[keys[0]] += "x"
		_, third, err := canonicalise(artifact.OpsResult, spell(keys, values))
		require.NoError(t, err)
		require.NotEqual(t, first.ContentHash, third.ContentHash)
	})
}

// Every literal becomes what its double is in ECMAScript, or is refused: beyond the range, or an integer
// that would become another one.
func TestNumbersAreDoubles(t *testing.T) {
	t.Parallel()
	literals := rapid.OneOf(
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,24})`),
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,3})\.0{0,8}[0-9]{1,12}0{0,3}`),
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?`),
	)
	rapid.Check(t, func(t *rapid.T) {
		literal := literals.Draw(t, "literal")
		out, _, err := canonicalise(artifact.OpsResult, `{"n":`+literal+`}`)
		f, rangeErr := strconv.ParseFloat(literal, 64)
		if rangeErr != nil {
			require.ErrorContains(t, err, "beyond a double's range")
			return
		}
		ecma, jcsErr := jcs.NumberToJSON(f)
		require.NoError(t, jcsErr)
		integer := !strings.ContainsAny(literal, ".eE")
		if err != nil {
			require.True(t, integer, "%s: %v", literal, err)
			require.ErrorContains(t, err, "would become "+ecma)
			require.NotEqual(t, expand(literal), expand(ecma))
			return
		}
		require.Equal(t, `{"n":`+ecma+`}`, out, literal)
		if integer {
			require.Equal(t, expand(literal), expand(ecma))
		}
	})
}

// expand writes an integer without an exponent, so that two are equal when their texts are.
func expand(integer string) string {
	mantissa, exponent, found := strings.Cut(integer, "e+")
	if found {
		whole, fraction, _ := strings.Cut(mantissa, ".")
		power, err := strconv.Atoi(exponent)
		if err != nil {
			panic(err)
		}
		mantissa = whole + fraction + strings.Repeat("0", power-len(fraction))
	}
	if mantissa == "-0" {
		return "0"
	}
	return mantissa
}

// Text is accepted exactly when it is NFC, which the Unicode library can say of text with few marks in
// a row.
func TestNFC(t *testing.T) {
	t.Parallel()
	special := []rune("aeq\u00e9\u0300\u0301\u0307\u0316\u0323\u0327\u0315\u0338\u0340\u0344=<\u1100\u1161\u11a8\uac00\uac01\u0b47\u0b3e\u0b57\u0dd9\u0dca\u0dcf\u09c7\u09be\u0915\u093c\u0958\u3046\u3099\u30ab\u212b\ufb33\uf900\U000110a5\U000110ba\U0001d15e\U0001d165\u0f71\u0f72\u0f74\u05d3\u05bc\u1e9b\u0308\n")
	runes := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(special), rapid.SampledFrom(special), rapid.Rune()), 0, 10)
	rapid.Check(t, func(t *rapid.T) {
		text := string(runes.Draw(t, "text"))
		if rapid.Bool().Draw(t, "normalised") {
			text = norm.NFC.String(text)
		}
		if strings.HasPrefix(text, "\ufeff") {
			t.Skip("a byte order mark")
		}
		want := norm.NFC.IsNormalString(text)
		out, _, err := canonicalise(artifact.CodeDiff, text)
		require.Equal(t, want, err == nil, "%+q", text)
		if err == nil {
			require.Equal(t, strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), out)
		}
		_, _, err = canonicalise(artifact.OpsResult, `{"k":`+drawString(t, text)+`}`)
		require.Equal(t, want, err == nil, "%+q", text)
	})
}

// Every code point on a line of its own, and alone when it is not NFC.
func TestNFCOfEveryRune(t *testing.T) {
	t.Parallel()
	var normal strings.Builder
	for r := rune(0); r <= utf8.MaxRune; r++ {
		switch {
		case !utf8.ValidRune(r) || r == '\r':
		case norm.NFC.IsNormalString(string(r)):
			normal.WriteString("\n" + string(r))
		default:
			_, _, err := canonicalise(artifact.CodeDiff, string(r))
			require.Error(t, err, "%U", r)
		}
	}
	out, _, err := canonicalise(artifact.CodeDiff, normal.String())
	require.NoError(t, err)
	require.Equal(t, normal.String(), out)
}

// A report's body comes back as it went in, but for its line ends.
func TestBundleRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bundle := figures.Bundle{Body: drawText(t), Figures: []figures.Figure{}}
		for range rapid.IntRange(0, 3).Draw(t, "figures") {
			anchor := figures.Anchor{Kind: figures.AnchorReceipt, Ref: "r" + drawText(t)}
			if rapid.Bool().Draw(t, "hash") {
				kind := rapid.SampledFrom([]string{figures.AnchorArtifact, figures.AnchorAttachment}).Draw(t, "anchor")
				anchor = figures.Anchor{Kind: kind, Ref: anyHash}
			}
			bundle.Figures = append(bundle.Figures, figures.Figure{Anchor: anchor, Label: drawText(t), Unit: drawText(t), Value: drawText(t)})
		}
		if strings.HasPrefix(bundle.Body, "\ufeff") || slices.ContainsFunc(bundle.Figures, func(f figures.Figure) bool { return !norm.NFC.IsNormalString(f.Anchor.Ref) }) {
			t.Skip("refused")
		}
		written, err := json.Marshal(bundle)
		require.NoError(t, err)
		out, _, err := canonicalise(artifact.Report, string(written))
		require.NoError(t, err)
		require.True(t, figures.IsBundle([]byte(out)))
		read, err := figures.ParseBundle([]byte(out))
		require.NoError(t, err)
		bundle.Body = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(bundle.Body)
		require.Equal(t, bundle, read)
		canonical, err := read.Canonical()
		require.NoError(t, err)
		require.Equal(t, out, string(canonical))
	})
}
