// The samples of RFC 8785 itself.

package artifact_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"countersign/contracts"
	"countersign/contracts/artifact"

	"github.com/stretchr/testify/require"
)

// Sections 3.2.2 to 3.2.4: white space, literals, strings, numbers and order in one.
func TestRFC8785Document(t *testing.T) {
	t.Parallel()
	out, _, err := canonicalise(artifact.OpsResult, `{
  "numbers": [333333333.33333329, 1E30, 4.50,
              2e-3, 0.000000000000000000000000001],
  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
  "literals": [null, true, false]
}`)
	require.NoError(t, err)
	require.Equal(t, `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],`+
		`"string":"€$\u000f\nA'B\"\\\\\"/"}`, out)
}

// Section 3.2.3. Its Hebrew letter dalet with dagesh, U+FB33, is not NFC: composition excludes it.
func TestRFC8785Order(t *testing.T) {
	t.Parallel()
	const sample = `{
  "\u20ac": "Euro Sign",
  "\r": "Carriage Return",
  "%s": "Hebrew Letter Dalet With Dagesh",
  "1": "One",
  "\ud83d\ude00": "Emoji: Grinning Face",
  "\u0080": "Control",
  "\u00f6": "Latin Small Letter O With Diaeresis"
}`
	_, _, err := canonicalise(artifact.OpsResult, fmt.Sprintf(sample, `\ufb33`))
	require.Equal(t, artifact.CodeRejected, contracts.CodeOf(err))
	require.ErrorContains(t, err, "line 4: ")
	require.ErrorContains(t, err, "NFC")

	// U+FB4F, of the same block, is.
	out, _, err := canonicalise(artifact.OpsResult, fmt.Sprintf(sample, `\ufb4f`))
	require.NoError(t, err)
	var order []string
	for _, member := range strings.Split(strings.Trim(out, "{}"), ",") {
		_, value, _ := strings.Cut(member, ":")
		order = append(order, strings.Trim(value, `"`))
	}
	require.Equal(t, []string{
		"Carriage Return", "One", "Control", "Latin Small Letter O With Diaeresis", "Euro Sign",
		"Emoji: Grinning Face", "Hebrew Letter Dalet With Dagesh",
	}, order)
}

// Appendix B: doubles by their bits, and their text.
func TestRFC8785Numbers(t *testing.T) {
	t.Parallel()
	for _, sample := range []struct {
		bits uint64
		want string
	}{
		{0x0000000000000000, "0"},
		{0x8000000000000000, "0"},
		{0x0000000000000001, "5e-324"},
		{0x8000000000000001, "-5e-324"},
		{0x7fefffffffffffff, "1.7976931348623157e+308"},
		{0xffefffffffffffff, "-1.7976931348623157e+308"},
		{0x4340000000000000, "9007199254740992"},
		{0xc340000000000000, "-9007199254740992"},
		{0x4430000000000000, "295147905179352830000"},
		{0x44b52d02c7e14af5, "9.999999999999997e+22"},
		{0x44b52d02c7e14af6, "1e+23"},
		{0x44b52d02c7e14af7, "1.0000000000000001e+23"},
		{0x444b1ae4d6e2ef4e, "999999999999999700000"},
		{0x444b1ae4d6e2ef4f, "999999999999999900000"},
		{0x444b1ae4d6e2ef50, "1e+21"},
		{0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
		{0x3eb0c6f7a0b5ed8d, "0.000001"},
		{0x41b3de4355555553, "333333333.3333332"},
		{0x41b3de4355555554, "333333333.33333325"},
		{0x41b3de4355555555, "333333333.3333333"},
		{0x41b3de4355555556, "333333333.3333334"},
		{0x41b3de4355555557, "333333333.33333343"},
		{0xbecbf647612f3696, "-0.0000033333333333333333"},
		{0x43143ff3c1cb0959, "1424953923781206.2"},
	} {
		literal := strconv.FormatFloat(math.Float64frombits(sample.bits), 'e', 16, 64)
		for _, literal := range []string{literal, sample.want} {
			out, _, err := canonicalise(artifact.OpsResult, `{"n":`+literal+`}`)
			require.NoError(t, err, literal)
			require.Equal(t, `{"n":`+sample.want+`}`, out, literal)
		}
	}
	for _, literal := range []string{"NaN", "Infinity", "-Infinity"} {
		_, _, err := canonicalise(artifact.OpsResult, `{"n":`+literal+`}`)
		require.Equal(t, artifact.CodeRejected, contracts.CodeOf(err), literal)
	}
}
