// Properties: a declared number is found in every equivalent spelling, and one changed digit undoes it.

package figures

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// spell draws a spelling of whole.decimals that has the same key.
func spell(t *rapid.T, whole, decimals string) string {
	var forms []string
	forms = append(forms, join(whole, decimals, "."))
	if len(whole) > 3 && whole[0] != '0' {
		for _, sign := range []string{",", "'", "’", "_", "\u00a0", "\u202f", " "} {
			forms = append(forms, join(thousands(whole, sign), decimals, "."))
		}
		if decimals != "" {
			forms = append(forms, join(thousands(whole, "."), decimals, ","))
		}
	}
	if whole == "0" && decimals != "" {
		forms = append(forms, "."+decimals)
	}
	if decimals != "" {
		forms = append(forms, whole+"."+decimals+strings.Repeat("0", rapid.IntRange(0, 3).Draw(t, "zeros")))
	} else {
		forms = append(forms, whole+".0", whole+"e0")
	}
	if whole[0] != '0' {
		mark := rapid.SampledFrom([]string{"e", "E", "e+", "×10^", " × 10^"}).Draw(t, "mark")
		forms = append(forms, join(whole[:1], whole[1:]+decimals, ".")+mark+itoa(len(whole)-1))
		forms = append(forms, whole+decimals+"e-"+itoa(len(decimals)))
	}
	text := rapid.SampledFrom(forms).Draw(t, "form")
	if !strings.ContainsAny(text, "×^") {
		text = inDigits(text, rapid.SampledFrom([]rune("0٠۰०๐０𝟎")).Draw(t, "zero"))
	}
	if rapid.Bool().Draw(t, "hidden") {
		i := rapid.IntRange(0, len([]rune(text))-1).Draw(t, "at")
		text = string([]rune(text)[:i]) + "\u200b" + string([]rune(text)[i:])
	}
	return text
}

func join(whole, decimals, sign string) string {
	if decimals == "" {
		return whole
	}
	return whole + sign + decimals
}

func thousands(whole, sign string) string {
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + sign + whole[i:]
	}
	return whole
}

func itoa(n int) string {
	return string([]rune("0123456789")[n/10]) + string([]rune("0123456789")[n%10])
}

func inDigits(text string, zero rune) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return zero + r - '0'
		}
		return r
	}, text)
}

func drawNumber(t *rapid.T) (whole, decimals string) {
	whole = rapid.StringMatching(`[1-9][0-9]{0,8}|0`).Draw(t, "whole")
	decimals = rapid.StringMatching(`|[0-9]{0,4}[1-9]`).Draw(t, "decimals")
	return whole, decimals
}

// surroundings make any number material, and declare nothing by themselves.
var surroundings = []string{"$# spent", "cost USD #", "up #%", "# percent", "took # ms", "of # GB (all)", "a **#%** rise", "共#元"}

func TestEverySpellingIsFound(t *testing.T) {
	t.Parallel()
	tokenizer, err := NewTokenizer(DefaultPolicy())
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		whole, decimals := drawNumber(t)
		text := spell(t, whole, decimals)
		around := rapid.SampledFrom(surroundings).Draw(t, "around")
		anchor := Anchor{AnchorReceipt, "r"}
		resolve := Statements(map[string]string{"r": "traces"})
		figures := []Figure{{Value: join(whole, decimals, "."), Anchor: anchor}}

		body := "So: " + strings.Replace(around, "#", text, 1) + "."
		verdict := tokenizer.Evaluate(Bundle{body, figures}, resolve)
		require.True(t, verdict.OK, "%q: %s", body, verdict.Detail())
		require.Equal(t, figures[0].Value, Key(text))

		changed := changeDigit(t, text)
		body = "So: " + strings.Replace(around, "#", changed, 1) + "."
		require.NotEmpty(t, tokenizer.Evaluate(Bundle{body, figures}, resolve).Unanchored, "%q for %s", body, figures[0].Value)
	})
}

// changeDigit changes one digit of the number itself; that of a power of ten it leaves alone, and a
// zero at the end of the decimals may only grow.
func changeDigit(t *rapid.T, text string) string {
	runes := []rune(text)
	var at []int
	for i, r := range runes {
		if strings.ContainsRune("eE×", r) {
			break
		}
		if classOf(r)&digit != 0 {
			at = append(at, i)
		}
	}
	i := rapid.SampledFrom(at).Draw(t, "digit")
	shift := rapid.IntRange(1, 9).Draw(t, "shift")
	old := int(digitValue(runes[i]))
	runes[i] += rune((old+shift)%10 - old)
	return string(runes)
}

func TestTextAroundNeverHidesANumber(t *testing.T) {
	t.Parallel()
	tokenizer, err := NewTokenizer(DefaultPolicy())
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		alphabet := []rune(" \t.,;:-–_'\"()[]*`/§$€%#0123456789abeEvKMxsTZ人½\u00a0\u200b\u0301\n")
		text := rapid.StringOfN(rapid.SampledFrom(alphabet), 0, 40, -1).Draw(t, "text")
		checkTokens(t, text, tokenizer.Tokens(text))
	})
}
