// The conformance vectors, every case of them.

package figures

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"
)

func readVectors(t *testing.T, name string, cases any) {
	t.Helper()
	data, err := os.ReadFile("../../testdata/vectors/" + name)
	if err != nil {
		t.Fatal(err)
	}
	file := struct{ Cases any }{cases}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
}

func TestTokenVectors(t *testing.T) {
	t.Parallel()
	var cases []struct {
		ID     string
		Text   string
		Policy json.RawMessage
		Expect []Token
	}
	readVectors(t, "figures_tokens.json", &cases)
	if len(cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			policy := DefaultPolicy()
			if len(c.Policy) > 0 {
				var err error
				if policy, err = ParsePolicy(c.Policy); err != nil {
					t.Fatal(err)
				}
			}
			got := tokensOf(t, policy, c.Text)
			for i := range got {
				got[i].Start, got[i].End = 0, 0
			}
			if len(got)+len(c.Expect) > 0 && !reflect.DeepEqual(got, c.Expect) {
				t.Errorf("%q\n got  %+v\n want %+v", c.Text, got, c.Expect)
			}
		})
	}
}

func tokensOf(t *testing.T, p Policy, text string) []Token {
	t.Helper()
	tokenizer, err := NewTokenizer(p)
	if err != nil {
		t.Fatal(err)
	}
	return tokenizer.Tokens(text)
}

func TestKeyVectors(t *testing.T) {
	t.Parallel()
	var cases []struct{ ID, Value, Expect string }
	readVectors(t, "numeric_key.json", &cases)
	if len(cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range cases {
		if got := Key(c.Value); got != c.Expect {
			t.Errorf("%s: Key(%q) = %q, want %q", c.ID, c.Value, got, c.Expect)
		}
	}
}

func TestVerdictVectors(t *testing.T) {
	t.Parallel()
	var cases []struct {
		ID       string
		Bundle   json.RawMessage
		Resolves map[string]string
		Expect   struct {
			OK         bool
			Unanchored *[]Unanchored
		}
	}
	readVectors(t, "figures_verdict.json", &cases)
	if len(cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			bundle, err := ParseBundle(c.Bundle)
			if err != nil {
				t.Fatal(err)
			}
			tokenizer, err := NewTokenizer(DefaultPolicy())
			if err != nil {
				t.Fatal(err)
			}
			got := tokenizer.Evaluate(bundle, Statements(c.Resolves))
			if got.OK != c.Expect.OK {
				t.Errorf("ok = %v: %s", got.OK, got.Detail())
			}
			if want := c.Expect.Unanchored; want != nil && !reflect.DeepEqual(got.Unanchored, *want) {
				t.Errorf("unanchored\n got  %+v\n want %+v", got.Unanchored, *want)
			}
		})
	}
}
