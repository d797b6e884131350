// Agreement of figures and tokens, and the sentences of a verdict.

package figures

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// figuresOf reads "value" or "value|unit" figures with an anchor that resolves.
func figuresOf(all ...string) []Figure {
	var figures []Figure
	for _, s := range all {
		value, unit, _ := strings.Cut(s, "|")
		figures = append(figures, Figure{Value: value, Unit: unit, Anchor: Anchor{AnchorReceipt, "r"}})
	}
	return figures
}

func evaluate(t *testing.T, body string, figures []Figure) Verdict {
	t.Helper()
	tokenizer, err := NewTokenizer(DefaultPolicy())
	require.NoError(t, err)
	return tokenizer.Evaluate(Bundle{body, figures}, Statements(map[string]string{"r": "traces"}))
}

func TestAgreement(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body    string
		figures []string
		ok      bool
	}{
		// Currency.
		{"cost €1,234", []string{"$1,234"}, false},
		{"cost €1,234", []string{"1,234|EUR"}, true},
		{"cost €1,234", []string{"1234|euros"}, true},
		{"cost $5", []string{"5|CAD"}, true},
		{"cost CAD 5", []string{"5|USD"}, false},
		{"cost CAD 5", []string{"$5"}, true},
		{"cost $5", []string{"5|users"}, false},
		{"cost $5", []string{"5"}, true},
		{"cost 5 dollars", []string{"5|USD"}, true},
		{"cost $5", []string{"$5|users"}, true},
		{"cost $5M", []string{"5M|million USD"}, true},
		{"cost $5", []string{"5|US$"}, true},
		{"cost ¥900", []string{"JPY 900"}, true},
		{"cost 50¢", []string{"50|cents"}, true},
		// Shares and units.
		{"up 5%", []string{"5|percent"}, true},
		{"up 5 percent", []string{"5|%"}, true},
		{"up 5‰", []string{"5|%"}, false},
		{"up 5%", []string{"5|ms"}, false},
		{"up 5%", []string{"5|% of users"}, true},
		{"up 5 percentage points", []string{"5%"}, true},
		{"took 5 ms", []string{"5|s"}, false},
		{"took 5 sec", []string{"5|seconds"}, true},
		{"moved 5 MB/s", []string{"5|MB/s"}, true},
		{"moved 5 gigabytes", []string{"5 GB"}, true},
		{"took 5 ms", []string{"5|users per ms"}, false},
		{"1,234 users", []string{"1234|accounts"}, true},
		// Several figures of one key: one that agrees is enough.
		{"up 5% for $5", []string{"5|%", "5|USD"}, true},
		{"up 5% for $5", []string{"5|%"}, false},
		// Ranges.
		{"10-20%", []string{"10", "20"}, true},
		{"10-20%", []string{"10"}, false},
		{"10-20%", []string{"10-20%"}, true},
		{"10-20%", []string{"10–20|%"}, true},
		{"10-20%", []string{"10-20|ms"}, false},
		{"10-20%", []string{"20-10%"}, false},
		{"10%", []string{"10-20%"}, false},
		{"10-20%", []string{"10-20-30"}, false},
		{"1,000-2,000", []string{"1000-2000|users"}, true},
		{"$10-20", []string{"$10-20"}, true},
		{"$10-20", []string{"$10"}, false},
		{"$10-20", []string{"$10", "20|%"}, false},
		{"3-5M", []string{"3-5M"}, true},
		{"3-5M", []string{"3", "5M"}, true},
		{"10%-20%", []string{"10-20%"}, true},
		// Durations.
		{"took 1h30m", []string{"1h30m"}, true},
		{"took 1h30m", []string{"1h45m"}, false},
		{"took 1h30m", []string{"1|h", "30|m"}, true},
		// Keys.
		{"raised 4.5 million", []string{"$4.5M"}, true},
		{"raised 4.5M", []string{"4.5"}, false},
		{"raised 5000000 units", []string{"5M"}, false},
		{"1 234 567 users", []string{"1,234,567"}, true},
		{"007%", []string{"7"}, false},
		{"5%", []string{"five"}, false},
	} {
		verdict := evaluate(t, c.body, figuresOf(c.figures...))
		require.Equal(t, c.ok, verdict.OK, "%q by %q: %s", c.body, c.figures, verdict.Detail())
	}
}

func TestEveryFigureCounts(t *testing.T) {
	t.Parallel()
	hash := "sha256:" + strings.Repeat("9f", 32)
	tokenizer, err := NewTokenizer(DefaultPolicy())
	require.NoError(t, err)
	asked := 0
	resolve := func(a Anchor) Resolution {
		asked++
		switch a.Kind {
		case AnchorArtifact:
			return Traced(a, 3)
		case AnchorAttachment:
			return Unverified(a, "bad signature")
		}
		return Missing(a)
	}
	verdict := tokenizer.Evaluate(Bundle{"1,234 users\nand $5\n", []Figure{
		{"1,234", "users", "migrated users", Anchor{AnchorArtifact, hash}},
		{"7", "", "", Anchor{AnchorAttachment, hash}},
		{"8", "", "old", Anchor{AnchorReceipt, "q-1"}},
		{"9", "", "again", Anchor{AnchorReceipt, "q-1"}},
	}}, resolve)
	require.Equal(t, 3, asked)
	require.False(t, verdict.OK)
	require.Equal(t, []Provenance{
		{"migrated users", "1,234", true, "traces to artifact sha256:9f9f9f9f9f9f, recorded at chain position 3"},
		{"", "7", false, "anchor " + hash + " record does not verify: bad signature"},
		{"old", "8", false, "anchor q-1 resolves to no lineage record"},
		{"again", "9", false, "anchor q-1 resolves to no lineage record"},
	}, verdict.Provenances)
	require.Equal(t, []Unanchored{{"$5", Currency, 2, 5}}, verdict.Unanchored)
	require.Equal(t, "figure '7' (value 7) is not grounded: anchor "+hash+" record does not verify: bad signature; "+
		"figure 'old' (value 8) is not grounded: anchor q-1 resolves to no lineage record; "+
		"figure 'again' (value 9) is not grounded: anchor q-1 resolves to no lineage record; "+
		"unanchored currency '$5' at line 2, col 5 is not declared in figures.json", verdict.Detail())
	require.Equal(t, "traces to receipt q-1, recorded at chain position 1", Traced(Anchor{AnchorReceipt, "q-1"}, 1).Statement)
}

func TestDetailCountsWhatItDoesNotName(t *testing.T) {
	t.Parallel()
	verdict := evaluate(t, strings.Repeat("5% ", 1000), nil)
	require.Len(t, verdict.Unanchored, 1000)
	require.True(t, strings.HasSuffix(verdict.Detail(), "; and 800 more"))
	require.Equal(t, "1 figures grounded, every material number declared", evaluate(t, "prose", figuresOf("1")).Detail())
}
