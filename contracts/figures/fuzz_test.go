// Fuzz targets: whatever the bytes, a scan holds what it promises.

package figures

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func seedTexts(f *testing.F) {
	for name, pattern := range hostileBodies {
		f.Add(strings.Repeat(pattern, 9) + name)
	}
	for _, c := range spellings {
		f.Add(c.text)
	}
	f.Add(paragraph)
}

// checkTokens holds the promises of Tokens against a recount that knows nothing of lines.
func checkTokens(t require.TestingT, text string, tokens []Token) {
	last := 0
	for _, k := range tokens {
		require.True(t, last <= k.Start && k.Start < k.End && k.End <= len(text), "span of %+v after %d", k, last)
		require.Equal(t, text[k.Start:k.End], k.Surface)
		require.NotContains(t, k.Surface, "\n")
		before := text[:k.Start]
		require.Equal(t, strings.Count(before, "\n")+1, k.Line)
		require.Equal(t, utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])+1, k.Col)
		require.NotEmpty(t, k.Keys)
		require.Equal(t, Key(k.Surface), k.Keys[0], "key of %q", k.Surface)
		require.Equal(t, k.Category.Material(), k.Material)
		last = k.End
	}
}

func FuzzTokens(f *testing.F) {
	seedTexts(f)
	tokenizer, err := NewTokenizer(DefaultPolicy())
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string) {
		tokens := tokenizer.Tokens(text)
		checkTokens(t, text, tokens)
		checkDeclared(t, tokenizer, text, tokens)
	})
}

// checkDeclared declares every token by its surface, and then by nothing.
func checkDeclared(t *testing.T, tokenizer *Tokenizer, text string, tokens []Token) {
	anchor := Anchor{AnchorReceipt, "r"}
	resolve := Statements(map[string]string{"r": "traces"})
	var figures []Figure
	material := 0
	for _, k := range tokens {
		if !k.Material {
			continue
		}
		material++
		if len(k.Keys) == 1 {
			figures = append(figures, Figure{Value: k.Keys[0], Anchor: anchor})
		} else {
			figures = append(figures, Figure{Value: k.Surface, Anchor: anchor})
		}
	}
	require.Len(t, tokenizer.Evaluate(Bundle{Body: text}, resolve).Unanchored, material)
	require.Empty(t, tokenizer.Evaluate(Bundle{text, figures}, resolve).Unanchored)
}

func FuzzAllowlist(f *testing.F) {
	f.Add("5000 rows in 24/7", `24/7`, `\d+`)
	f.Add("5 000 rows, 5M, 5\u200b000", `5`, `0 rows`)
	f.Fuzz(func(t *testing.T, text, first, second string) {
		tokenizer, err := NewTokenizer(Policy{MaterialityMin: 10, Allowlist: []string{first, second}})
		if err != nil || len(first)+len(second) > 64 {
			t.Skip()
		}
		tokens := tokenizer.Tokens(text)
		checkTokens(t, text, tokens)
	})
}

func FuzzKey(f *testing.F) {
	seedTexts(f)
	f.Fuzz(func(t *testing.T, value string) {
		key := Key(value)
		require.Equal(t, key, Key(key), "key of the key of %q", value)
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"body":"a 5%\r\n","figures":[{"value":"5","unit":"%","label":"l","anchor":{"kind":"receipt","ref":"r"}}]}`))
	f.Add([]byte(`{"severity":"warn","materiality_min":1,"units":["GB"],"allowlist":["24/7"]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if criterion, err := ParseCriterion(string(data)); err == nil {
			_, err := NewTokenizer(criterion.Policy)
			require.NoError(t, err)
		}
		bundle, err := ParseBundle(data)
		if err != nil {
			return
		}
		require.True(t, IsBundle(data))
		canonical, err := bundle.Canonical()
		require.NoError(t, err)
		require.True(t, json.Valid(canonical))
		again, err := ParseBundle(canonical)
		require.NoError(t, err)
		require.Equal(t, bundle, again)
	})
}
