// The closed shapes: bundle, policy and criterion.

package figures

import (
	"strings"
	"testing"

	"countersign/contracts"

	"github.com/stretchr/testify/require"
)

func requireRefused(t *testing.T, err error, path string) {
	t.Helper()
	var refusal *contracts.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, path, refusal.Path, refusal.Error())
}

func TestParseBundle(t *testing.T) {
	t.Parallel()
	hash := "sha256:" + strings.Repeat("0a", 32)
	good := `{"body":"a\r\nb\rc","figures":[{"value":"","anchor":{"kind":"artifact","ref":"` + hash + `"}},` +
		`{"value":"5","unit":"%","label":"x","anchor":{"kind":"receipt","ref":" q\r"}}]}`
	bundle, err := ParseBundle([]byte(good))
	require.NoError(t, err)
	require.Equal(t, Bundle{"a\nb\nc", []Figure{
		{Anchor: Anchor{AnchorArtifact, hash}}, {"5", "%", "x", Anchor{AnchorReceipt, " q\r"}},
	}}, bundle)
	canonical, err := bundle.Canonical()
	require.NoError(t, err)
	require.Equal(t, `{"body":"a\nb\nc","figures":[{"anchor":{"kind":"artifact","ref":"`+hash+`"},"label":"","unit":"","value":""},`+
		`{"anchor":{"kind":"receipt","ref":" q\r"},"label":"x","unit":"%","value":"5"}]}`, string(canonical))
	empty, err := Bundle{}.Canonical()
	require.NoError(t, err)
	require.Equal(t, `{"body":"","figures":[]}`, string(empty))

	figure := func(anchor, rest string) string {
		return `{"body":"","figures":[{"value":"1","anchor":` + anchor + rest + `}]}`
	}
	anchor := `{"kind":"receipt","ref":"r"}`
	for _, c := range []struct{ data, path string }{
		{`{"body":"x"`, ""},
		{`[]`, "$"},
		{`{"figures":[]}`, "$.body"},
		{`{"body":""}`, "$.figures"},
		{`{"body":null,"figures":[]}`, "$.body"},
		{`{"body":"","figures":null}`, "$.figures"},
		{`{"body":"","figures":{}}`, "$.figures"},
		{`{"body":1,"figures":[]}`, "$.body"},
		{`{"body":"","figures":[],"more":1}`, "$.more"},
		{`{"body":"","figures":[null]}`, "$.figures[0].value"},
		{`{"body":"","body":"","figures":[]}`, "$.body"},
		{`{"body":"","Body":"","figures":[]}`, "$.Body"},
		{`{"body":"","figures":[{"anchor":` + anchor + `}]}`, "$.figures[0].value"},
		{`{"body":"","figures":[{"value":5,"anchor":` + anchor + `}]}`, "$.figures[0].value"},
		{`{"body":"","figures":[{"value":"5"}]}`, "$.figures[0].anchor"},
		{figure(anchor, `,"unit":null`), "$.figures[0].unit"},
		{figure(anchor, `,"label":7`), "$.figures[0].label"},
		{figure(anchor, `,"note":""`), "$.figures[0].note"},
		{figure(`{"ref":"r"}`, ``), "$.figures[0].anchor.kind"},
		{figure(`{"kind":"receipt"}`, ``), "$.figures[0].anchor.ref"},
		{figure(`{"kind":"url","ref":"r"}`, ``), "$.figures[0].anchor.kind"},
		{figure(`{"kind":"receipt","ref":" \t"}`, ``), "$.figures[0].anchor.ref"},
		{figure(`{"kind":"artifact","ref":"sha256:00"}`, ``), "$.figures[0].anchor.ref"},
		{figure(`{"kind":"artifact","ref":"`+strings.ToUpper(hash)+`"}`, ``), "$.figures[0].anchor.ref"},
		{figure(`{"kind":"attachment","ref":"r"}`, ``), "$.figures[0].anchor.ref"},
		{figure(`{"kind":"receipt","ref":"r","x":1}`, ``), "$.figures[0].anchor.x"},
	} {
		_, err := ParseBundle([]byte(c.data))
		requireRefused(t, err, c.path)
	}
}

func TestIsBundle(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]bool{
		`{"body":"","figures":[]}`:                    true,
		` {"figures":7,"x":[{}],"body":null} ` + "\n": true,
		`{"body":"","body":"","figures":[]}`:          true,
		`{"body":""}`:                                 false,
		`{"figures":[]}`:                              false,
		`{"body":"","figures":[]} x`:                  false,
		`{"body":"","figures":[]`:                     false,
		`{"body":"","figures":[],}`:                   false,
		`{"x":{"body":"","figures":[]}}`:              false,
		`["body","figures"]`:                          false,
		`{ We saved 5% }`:                             false,
		``:                                            false,
		`{"body":` + strings.Repeat("[", 99) + `,"figures":1`: false,
	} {
		require.Equal(t, want, IsBundle([]byte(data)), "%s", data)
	}
}

func TestParseCriterion(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]Criterion{
		"":                      {Strict, DefaultPolicy()},
		"strict":                {Strict, DefaultPolicy()},
		"warn":                  {Warn, DefaultPolicy()},
		`{}`:                    {Strict, DefaultPolicy()},
		` {"severity":"warn"}`:  {Warn, DefaultPolicy()},
		`{"severity":""}`:       {Strict, DefaultPolicy()},
		`{"materiality_min":0}`: {Strict, Policy{}},
		`{"materiality_min":5,"units":["users"],"allowlist":["24/7"],"severity":"strict"}`: {
			Strict, Policy{5, []string{"users"}, []string{"24/7"}},
		},
	} {
		got, err := ParseCriterion(value)
		require.NoError(t, err, value)
		require.Equal(t, want, got, value)
	}
	for value, path := range map[string]string{
		"x": "$", "Warn": "$", "warn ": "$", " ": "$", `"warn"`: "$", "[]": "$",
		`{"severity":"error"}`:      "$.severity",
		`{"severity":null}`:         "$.severity",
		`{"severity":1}`:            "$.severity",
		`{"materiality_min":-1}`:    "$.materiality_min",
		`{"materiality_min":1.5}`:   "$.materiality_min",
		`{"materiality_min":"1"}`:   "$.materiality_min",
		`{"materiality_min":null}`:  "$.materiality_min",
		`{"units":null}`:            "$.units",
		`{"units":"GB"}`:            "$.units",
		`{"units":["GB",""]}`:       "$.units[1]",
		`{"units":[" GB"]}`:         "$.units[0]",
		`{"units":["5GB"]}`:         "$.units[0]",
		`{"units":["GB",null]}`:     "$.units[1]",
		`{"allowlist":[null]}`:      "$.allowlist[0]",
		`{"allowlist":["(","a"]}`:   "$.allowlist[0]",
		`{"allowlist":["(?=a)"]}`:   "$.allowlist[0]",
		`{"policy":{}}`:             "$.policy",
		`{"units":[],"units":[]}`:   "$.units",
		`{"severity":"warn"} extra`: "",
	} {
		_, err := ParseCriterion(value)
		require.Error(t, err, value)
		requireRefused(t, err, path)
	}
	_, err := ParsePolicy([]byte(`{"severity":"warn"}`))
	requireRefused(t, err, "$.severity")
}

func TestJudge(t *testing.T) {
	t.Parallel()
	resolve := Statements(map[string]string{"r": "traces"})
	bad := []byte(`{"body":"5%","figures":[]}`)
	good := []byte(`{"body":"5%","figures":[{"value":"5","anchor":{"kind":"receipt","ref":"r"}}]}`)

	passed, detail := Criterion{Strict, DefaultPolicy()}.Judge(bad, resolve)
	require.False(t, passed)
	require.Equal(t, "unanchored percentage '5%' at line 1, col 1 is not declared in figures.json", detail)
	passed, detail = Criterion{Warn, DefaultPolicy()}.Judge(bad, resolve)
	require.True(t, passed)
	require.Equal(t, "WARN: unanchored percentage '5%' at line 1, col 1 is not declared in figures.json", detail)
	passed, detail = Criterion{Strict, DefaultPolicy()}.Judge(good, resolve)
	require.True(t, passed)
	require.Equal(t, "1 figures grounded, every material number declared", detail)
	for _, data := range []string{"We saved 5%.", `{"body":"","figures":[],"x":1}`} {
		passed, _ = Criterion{Warn, DefaultPolicy()}.Judge([]byte(data), resolve)
		require.False(t, passed, data)
	}
	passed, _ = Criterion{Strict, Policy{Allowlist: []string{"("}}}.Judge(good, resolve)
	require.False(t, passed)
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy     Policy
		text, want string
	}{
		{Policy{MaterialityMin: 1}, "7 of 0 in 2026", "7=count (0=below_threshold) (2026=date)"},
		{Policy{}, "0", "0=count"},
		{Policy{MaterialityMin: 1 << 62}, "4611686018427387903 99999999999999999999", "(4611686018427387903=below_threshold) 99999999999999999999=count"},
		{Policy{1000, []string{"users", "GB"}, nil}, "5 users, 5 GB, 5 ms, 5 seconds, 5 usersx", "5 users=quantity:5 5 GB=quantity:5 (5=below_threshold) (5=below_threshold) (5=below_threshold)"},
		{Policy{1000, []string{"/day", "m"}, nil}, "5 /day or 5/day or 5 m", "5 /day=quantity:5 5/day=quantity:5 5 m=quantity:5"},
		{Policy{1000, nil, []string{`24/7`, `\d+/7`}}, "24/7 and 12/7", "(24/7=allowlisted) (12/7=allowlisted)"},
		{Policy{1000, nil, []string{`50`, `000`, `0 rows`}}, "5000 rows, 50 rows, 50 000 rows", "5000=count (50=allowlisted) 50 000=count:50000"},
		{Policy{1000, nil, []string{`5`, `M users`}}, "5M users in 5 rows", "5M=count (5=allowlisted)"},
		{Policy{1000, nil, []string{`[a-z]*`, `N/A`}}, "N/A 5% abc", "(N/A=allowlisted) 5%=percentage:5 (abc=allowlisted)"},
		{Policy{1000, nil, []string{`5%\n6%`, `(?s)7.8`}}, "5%\n6% 7 8", "5%=percentage:5 6%=percentage:6 (7 8=allowlisted)"},
		{Policy{1000, nil, []string{`USD`, `ms`}}, "USD 5,000 and 250 ms", "(USD=allowlisted) 5,000=count:5000 (250=below_threshold) (ms=allowlisted)"},
		{Policy{1000, nil, []string{`2026`}}, "2026-07-24 1.2.3", "(2026=allowlisted) (07=below_threshold) (24=below_threshold) (1.2.3=version)"},
		{Policy{1000, nil, []string{`2 345`, `345`}}, "Note 2 345 rows, 9 345 rows", "(2 345=allowlisted) 9 345=count:9345"},
	} {
		got := tokensOf(t, c.policy, c.text)
		require.Equal(t, c.want, written(got), "%+v", c.policy)
		checkTokens(t, c.text, got)
	}
}

func TestOneMarginOfMateriality(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"999": "(999=below_threshold)", "1000": "1000=count", "01000": "01000=count", "0999": "(0999=below_threshold)",
		"1899": "1899=count", "1900": "(1900=date)", "2100": "(2100=date)", "2101": "2101=count", "02026": "02026=count",
		"2026.0": "2026.0=count:2026", "2,026": "2,026=count:2026", "2e3": "2e3=count:2000", "２０２６": "(２０２６=date)",
	} {
		require.Equal(t, want, written(tokensOf(t, DefaultPolicy(), text)))
	}
}
