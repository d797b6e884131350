// Declarations: what each refusal names, in JSON and in YAML.

package artifact_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"countersign/contracts/artifact"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

func TestSpecsRefused(t *testing.T) {
	t.Parallel()
	criterion := func(members string) string {
		return `{"kind":"report","output_path":"x","criteria":[{"type":"hash_stable","value":"x"},` + members + `]}`
	}
	for _, c := range []struct{ input, field, reason string }{
		{`null`, "artifact_spec", "must be a mapping and is null"}, {`[]`, "artifact_spec", "must be a mapping and is a list"}, {`"report"`, "artifact_spec", "must be a mapping and is a string"}, {`3`, "artifact_spec", "must be a mapping and is neither"}, {`true`, "artifact_spec", "must be a mapping"}, {`[{"kind":"report"}]`, "artifact_spec", "must be a mapping"},
		{``, "artifact_spec", "must be a mapping and is empty"}, {" \n\t", "artifact_spec", ""}, {`{}`, "artifact_spec.kind", "is required"}, {` { } `, "artifact_spec.kind", "is required"},
		{`{"kind":"report","output_path":"x",}`, "artifact_spec", "broken JSON"}, {`{"kind":"report" "output_path":"x"}`, "artifact_spec", "broken JSON"}, {`{"kind":"report","output_path":"x"`, "artifact_spec", "broken JSON"}, {`{"kind":"report","output_path":"x"}}`, "artifact_spec", ""}, {`{"kind":"report","output_path":"x"}{}`, "artifact_spec", "data after"}, {`{"kind":report}`, "artifact_spec", "broken JSON"}, {`{"kind":"report","output_path":'x'}`, "artifact_spec", "broken JSON"}, {`{"kind":"report","output_path":"x"} # weekly`, "artifact_spec", ""}, {`{"kind":"report","output_path":"a` + "\n" + `b"}`, "artifact_spec", "broken JSON"},
		{"{\"kind\":\"report\",\"output_path\":\"\xff\"}", "artifact_spec", "invalid UTF-8"}, {"\ufeff" + `{"kind":"code_diff"}`, "artifact_spec", "byte order mark"}, {"\xff\xfe{\x00}\x00", "artifact_spec", "invalid UTF-8"},
		{`{"kind":"code_diff","\ud800":1}`, "artifact_spec", "a lone surrogate"}, {`{"kind":"code_diff","output_path":"\udc00"}`, "artifact_spec.output_path", "a lone surrogate"}, {criterion(`{"type":"schema_valid","value":"\ud800"}`), "artifact_spec.criteria[1].value", "a lone surrogate"},
		{`{"kind":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, "artifact_spec", "nested too deeply"}, {`{"kind":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`, "artifact_spec.kind", "must be a string and is a list"}, {`{"kind":` + strings.Repeat("[", 1<<20), "artifact_spec", "broken JSON"},

		{`{"kind":"report","output_path":"x","kind":"report"}`, "artifact_spec.kind", "stands twice"}, {`{"kind":"report","\u006bind":"report"}`, "artifact_spec.kind", "stands twice"}, {`{"foo":1,"foo":2}`, "artifact_spec.foo", "stands twice"}, {`{"kind":{"a":1,"a":1}}`, "artifact_spec.kind.a", "stands twice"}, {criterion(`{"type":"x","type":"x"}`), "artifact_spec.criteria[1].type", "stands twice"}, {`{"b":1,"kind":"x","kind":"x","a":1,"a":1}`, "artifact_spec.kind", "stands twice"},

		{`{"zoo":1,"foo":1,"kind":3}`, "artifact_spec.foo", "unknown key; known are kind, output_path, canonicalisation, criteria"}, {`{"Kind":"report"}`, "artifact_spec.Kind", "unknown key"}, {`{"kind":"report","Kind":"report","output_path":"x"}`, "artifact_spec.Kind", "unknown key"}, {`{"kind ":"report"}`, "artifact_spec.kind ", "unknown key"}, {`{"é":1,"z":1}`, "artifact_spec.z", "unknown key"}, {`{"kind":"nope","x":1}`, "artifact_spec.x", "unknown key"}, {`{"artifact_spec":{"kind":"report"}}`, "artifact_spec.artifact_spec", "unknown key"}, {`{"":1,"a":1}`, "artifact_spec.", "unknown key"}, {`{"a.b":1}`, "artifact_spec.a.b", "unknown key"},

		{`{"kind":null,"output_path":"x"}`, "artifact_spec.kind", "must be a string and is null"}, {`{"kind":true}`, "artifact_spec.kind", "must be a string"}, {`{"kind":["report"]}`, "artifact_spec.kind", "must be a string and is a list"}, {`{"kind":{"report":1}}`, "artifact_spec.kind", "must be a string and is a mapping"}, {`{"kind":""}`, "artifact_spec.kind", "is none of"}, {`{"kind":"Report"}`, "artifact_spec.kind", "is none of"}, {`{"kind":"attachment","output_path":"x"}`, "artifact_spec.kind", "is none of"}, {`{"kind":"report\u0000","output_path":"x"}`, "artifact_spec.kind", "is none of"}, {`{"kind":"nope","output_path":7}`, "artifact_spec.kind", "is none of"}, {`{"kind":"` + strings.Repeat("x", 1000) + `"}`, "artifact_spec.kind", `x..." is none of`},

		{`{"kind":"report"}`, "artifact_spec.output_path", "is required for a report"}, {`{"kind":"dataset","output_path":" \t\n"}`, "artifact_spec.output_path", "is required"}, {`{"kind":"report","output_path":["x"]}`, "artifact_spec.output_path", "must be a string and is a list"}, {`{"kind":"report","canonicalisation":5}`, "artifact_spec.output_path", "is required"}, {`{"kind":"report","output_path":"../x","criteria":5}`, "artifact_spec.output_path", ".."}, {`{"kind":"code_diff","output_path":"x"}`, "artifact_spec.output_path", "its output is a commit"}, {`{"kind":"code_diff","output_path":null}`, "artifact_spec.output_path", "must be a string and is null"}, {`{"kind":"code_diff","output_path":0}`, "artifact_spec.output_path", "must be a string"}, {`{"kind":"code_diff","output_path":"/etc","criteria":[1]}`, "artifact_spec.output_path", "its output is a commit"},

		{`{"kind":"report","output_path":"x","canonicalisation":"code_diff"}`, "artifact_spec.canonicalisation", "is not the rule of report"}, {`{"kind":"dataset","output_path":"x","canonicalisation":"action_log"}`, "artifact_spec.canonicalisation", "is not the rule"}, {`{"kind":"report","output_path":"x","canonicalisation":" "}`, "artifact_spec.canonicalisation", "is not the rule"}, {`{"kind":"report","output_path":"x","canonicalisation":"report "}`, "artifact_spec.canonicalisation", "is not the rule"}, {`{"kind":"report","output_path":"x","canonicalisation":false}`, "artifact_spec.canonicalisation", "must be a string"}, {`{"kind":"report","output_path":"x","canonicalisation":[]}`, "artifact_spec.canonicalisation", "must be a string and is a list"}, {`{"kind":"code_diff","canonicalisation":"report"}`, "artifact_spec.canonicalisation", "is not the rule"},

		{`{"kind":"report","output_path":"x","criteria":""}`, "artifact_spec.criteria", "must be a list and is a string"}, {`{"kind":"report","output_path":"x","criteria":0}`, "artifact_spec.criteria", "must be a list"}, {`{"kind":"report","output_path":"x","criteria":"hash_stable:x"}`, "artifact_spec.criteria", "must be a list"}, {`{"kind":"code_diff","criteria":[null]}`, "artifact_spec.criteria", "a code_diff has none"}, {`{"kind":"code_diff","criteria":""}`, "artifact_spec.criteria", "must be a list"},
		{criterion(`null`), "artifact_spec.criteria[1]", "must be a mapping and is null"}, {criterion(`[]`), "artifact_spec.criteria[1]", "must be a mapping"}, {criterion(`"hash_stable:x"`), "artifact_spec.criteria[1]", "must be a mapping"}, {criterion(`1`), "artifact_spec.criteria[1]", "must be a mapping"}, {criterion(`{}`), "artifact_spec.criteria[1].type", "is required"}, {criterion(`{"value":3}`), "artifact_spec.criteria[1].type", "is required"}, {criterion(`{"name":"a","id":"x"}`), "artifact_spec.criteria[1].id", "unknown key; known are type, value"}, {criterion(`{"Type":"hash_stable","value":"x"}`), "artifact_spec.criteria[1].Type", "unknown key"},
		{criterion(`{"type":null,"value":"x"}`), "artifact_spec.criteria[1].type", "must be a string and is null"}, {criterion(`{"type":1,"value":"x"}`), "artifact_spec.criteria[1].type", "must be a string"}, {criterion(`{"type":"","value":"x"}`), "artifact_spec.criteria[1].type", "is none of"}, {criterion(`{"type":"Hash_Stable","value":"x"}`), "artifact_spec.criteria[1].type", "is none of"}, {criterion(`{"type":"hash_stable ","value":3}`), "artifact_spec.criteria[1].type", "is none of"},
		{criterion(`{"type":"schema_valid"}`), "artifact_spec.criteria[1].value", "is required"}, {criterion(`{"type":"schema_valid","value":{}}`), "artifact_spec.criteria[1].value", "must be a string and is a mapping"}, {criterion(`{"type":"schema_valid","value":true}`), "artifact_spec.criteria[1].value", "must be a string"}, {criterion(`{"type":"schema_valid","value":0}`), "artifact_spec.criteria[1].value", "must be a string"}, {criterion(`{"type":"schema_valid","value":" \n\u00a0"}`), "artifact_spec.criteria[1].value", "must not be blank"}, {criterion(`{"type":"criteria_match","value":""}`), "artifact_spec.criteria[1].value", "must not be blank"},
		{criterion(`{"type":"figures_grounded"}`), "artifact_spec.criteria[1].value", "is required"}, {criterion(`{"type":"figures_grounded","value":null}`), "artifact_spec.criteria[1].value", "must be a string and is null"}, {criterion(`{"type":"figures_grounded","value":"lenient"}`), "artifact_spec.criteria[1].value", `"lenient" is none of strict, warn`}, {criterion(`{"type":"figures_grounded","value":"{\"severity\":\"lenient\"}"}`), "artifact_spec.criteria[1].value", `$.severity: "lenient" is none of`}, {criterion(`{"type":"figures_grounded","value":{"severity":"warn"}}`), "artifact_spec.criteria[1].value", "must be a string"},
		{criterion(`{"type":"nope","value":"x"},{"x":1}`), "artifact_spec.criteria[1].type", "is none of"},

		// YAML.
		{"kind: " + strings.Repeat("[", 64) + strings.Repeat("]", 64), "artifact_spec.kind", "must be a string and is a list"}, {"kind: " + strings.Repeat("[", 65) + strings.Repeat("]", 65), "artifact_spec", "nested too deeply"}, {"kind: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000), "artifact_spec", "nested too deeply"},
		{"---\n", "artifact_spec", "must be a mapping and is null"}, {"# nothing\n", "artifact_spec", "must be a mapping"}, {"~", "artifact_spec", "must be a mapping and is null"}, {"report", "artifact_spec", "must be a mapping and is a string"}, {"- kind: report", "artifact_spec", "must be a mapping and is a list"},
		{"kind: report\noutput_path: x\n---\nkind: report\n", "artifact_spec", "more than one YAML document"}, {"kind: code_diff\n---\n", "artifact_spec", "more than one YAML document"}, {"kind: code_diff\n...\n---\n# end\n", "artifact_spec", "more than one YAML document"}, {"kind: [", "artifact_spec", "broken YAML"}, {"kind: report\n\toutput_path: x", "artifact_spec", "broken YAML"}, {"kind: \"report", "artifact_spec", "broken YAML"}, {"kind: report\noutput_path: *x", "artifact_spec", "broken YAML"}, {"kind: \x01", "artifact_spec", "broken YAML"},
		{"kind: &k report\noutput_path: x", "artifact_spec.kind", "anchors and aliases are not allowed (line 1)"}, {"&s\nkind: code_diff", "artifact_spec", "anchors and aliases"}, {"kind: report\noutput_path: x\ncriteria:\n- &c {type: hash_stable, value: x}\n- *c", "artifact_spec.criteria[0]", "anchors and aliases are not allowed (line 4)"}, {"&k kind: code_diff", "artifact_spec", "anchors and aliases"},
		{"kind: !!str report\noutput_path: x", "artifact_spec.kind", "tags are not allowed (line 1)"}, {"kind: !k report\noutput_path: x", "artifact_spec.kind", "tags are not allowed"}, {"!!map\nkind: code_diff", "artifact_spec", "tags are not allowed"}, {"kind: report\noutput_path: x\ncriteria: !!seq []", "artifact_spec.criteria", "tags are not allowed"}, {"kind: code_diff\noutput_path: !!binary eA==", "artifact_spec.output_path", "tags are not allowed"},
		{"<<: {kind: code_diff}", "artifact_spec.<<", "merge keys are not allowed (line 1)"}, {"1: x", "artifact_spec.1", "a key must be a string (line 1)"}, {"true: x", "artifact_spec.true", "a key must be a string"}, {"? [a]\n: b", "artifact_spec.", "a key must be a string"}, {"~: x", "artifact_spec.~", "a key must be a string"}, {"kind: report\n2026-01-01: x", "artifact_spec.2026-01-01", "a key must be a string (line 2)"}, {"no: x", "artifact_spec.no", "a key must be a string"},
		{"kind: report\nkind: report", "artifact_spec.kind", "the key stands twice (line 2)"}, {"kind: report\n\"kind\": report", "artifact_spec.kind", "stands twice"}, {"kind: report\noutput_path: x\ncriteria:\n- {type: a, type: b}", "artifact_spec.criteria[0].type", "stands twice (line 4)"},
		{"kind: 1", "artifact_spec.kind", "must be a string and is neither"}, {"kind:", "artifact_spec.kind", "must be a string and is null"}, {"kind: report\noutput_path: 2026-08-04", "artifact_spec.output_path", "must be a string"}, {"kind: report\noutput_path: 007", "artifact_spec.output_path", "must be a string"}, {"kind: report\noutput_path: 1_000", "artifact_spec.output_path", "must be a string"}, {"kind: report\noutput_path: 1.5", "artifact_spec.output_path", "must be a string"}, {"kind: report\noutput_path: .inf", "artifact_spec.output_path", "must be a string"}, {"kind: report\noutput_path: 0x1f", "artifact_spec.output_path", "must be a string"}, {"kind: report\noutput_path: yes", "artifact_spec.output_path", "must be a string"}, {"kind: report\noutput_path: Off", "artifact_spec.output_path", "must be a string"}, {"kind: report\noutput_path: 12:30:45", "artifact_spec.output_path", "must be a string"}, {"kind: report\noutput_path: =", "artifact_spec.output_path", "must be a string"}, {"kind: report\noutput_path: ~", "artifact_spec.output_path", "must be a string and is null"}, {"kind: report\noutput_path:", "artifact_spec.output_path", "must be a string and is null"},
		{"kind: report\noutput_path: x\ncanonicalisation: true", "artifact_spec.canonicalisation", "must be a string"}, {"kind: report\noutput_path: x\ncriteria:\n  type: hash_stable\n  value: x", "artifact_spec.criteria", "must be a list and is a mapping"}, {"kind: report\noutput_path: x\ncriteria:\n- type: criteria_match\n  value: [{path: a}]", "artifact_spec.criteria[0].value", "must be a string and is a list"}, {"kind: report\noutput_path: x\ncriteria:\n- type: schema_valid\n  value: true", "artifact_spec.criteria[0].value", "must be a string"}, {"kind: report\noutput_path: x\ncriteria:\n- type: hash_stable\n  value:", "artifact_spec.criteria[0].value", "must be a string and is null"}, {"kind: report\noutput_path: x\ncriteria:\n-", "artifact_spec.criteria[0]", "must be a mapping and is null"}, {"kind: report\noutput_path: x\nformat: pdf", "artifact_spec.format", "unknown key"}, {"{kind: report, output_path: ../x}", "artifact_spec.output_path", ".."},
		{"kind: report\noutput_path: \"a\\0b\"", "artifact_spec.output_path", "control characters"}, {"kind: report\noutput_path: |\n  a\n  b\n", "artifact_spec.output_path", "control characters"},
	} {
		_, err := artifact.ParseSpec([]byte(c.input))
		require.Error(t, err, c.input)
		refusal := requireRefused(t, err, c.field)
		require.Contains(t, refusal.Detail, c.reason, c.input)
		require.Less(t, len(refusal.Detail), 300)
	}
}

func TestSpecsAccepted(t *testing.T) {
	t.Parallel()
	schema := artifact.Criterion{Type: artifact.SchemaValid, Value: "{\n  \"type\": \"object\"\n}\n"}
	for input, want := range map[string]artifact.Spec{
		`{"kind":"code_diff"}`: {Kind: artifact.CodeDiff, Criteria: []artifact.Criterion{}},
		`{"kind":"code_diff","output_path":" \t","canonicalisation":null,"criteria":null}`:                                       {Kind: artifact.CodeDiff, Criteria: []artifact.Criterion{}},
		`{"kind":"code_diff","output_path":"","canonicalisation":"","criteria":[]}`:                                              {Kind: artifact.CodeDiff, Criteria: []artifact.Criterion{}},
		"\r\n\t {\n\"kind\":\"report\",\r\"output_path\":\" a\\\\b\\n\"}\n":                                                      {Kind: artifact.Report, OutputPath: "a/b", Criteria: []artifact.Criterion{}},
		`{"kind":"action_log","output_path":"x","canonicalisation":"action_log","criteria":[]}`:                                  {Kind: artifact.ActionLog, OutputPath: "x", Canonicalisation: "action_log", Criteria: []artifact.Criterion{}},
		`{"kind":"report","output_path":"x","criteria":[{"type":"figures_grounded","value":""}]}`:                                {Kind: artifact.Report, OutputPath: "x", Criteria: []artifact.Criterion{{Type: artifact.FiguresGrounded}}},
		`{"criteria":[{"value":" x ","type":"hash_stable"}],"output_path":"x","kind":"dataset"}`:                                 {Kind: artifact.Dataset, OutputPath: "x", Criteria: []artifact.Criterion{{Type: artifact.HashStable, Value: " x "}}},
		`{"kind":"dataset","output_path":"x","criteria":[{"type":"figures_grounded","value":"strict"}]}`:                         {Kind: artifact.Dataset, OutputPath: "x", Criteria: []artifact.Criterion{{Type: artifact.FiguresGrounded, Value: "strict"}}},
		`{"kind":"report","output_path":"x","criteria":[{"type":"hash_stable","value":"x"},{"type":"hash_stable","value":"x"}]}`: {Kind: artifact.Report, OutputPath: "x", Criteria: []artifact.Criterion{{Type: artifact.HashStable, Value: "x"}, {Type: artifact.HashStable, Value: "x"}}},

		"kind: report\noutput_path: reports/weekly.md   # workdir-relative; required\ncriteria:\n  - type: hash_stable\n    value: 'sha256:...'\n": {Kind: artifact.Report, OutputPath: "reports/weekly.md", Criteria: []artifact.Criterion{{Type: artifact.HashStable, Value: "sha256:..."}}},
		"---\nkind: dataset\noutput_path: out/rows.jsonl\n...\n":                                                                                   {Kind: artifact.Dataset, OutputPath: "out/rows.jsonl", Criteria: []artifact.Criterion{}},
		"kind: ops_result\noutput_path: r.json\ncanonicalisation:\ncriteria: ~\n":                                                                  {Kind: artifact.OpsResult, OutputPath: "r.json", Criteria: []artifact.Criterion{}},
		"{kind: report, output_path: \"x\", canonicalisation: 'report'}":                                                                           {Kind: artifact.Report, OutputPath: "x", Canonicalisation: "report", Criteria: []artifact.Criterion{}},
		"\"kind\": \"report\"\r\n\"output_path\": \"2026-08-04\"\r\n":                                                                              {Kind: artifact.Report, OutputPath: "2026-08-04", Criteria: []artifact.Criterion{}},
		"kind: ops_result\noutput_path: r.json\ncriteria:\n- type: schema_valid\n  value: |\n    {\n      \"type\": \"object\"\n    }\n":           {Kind: artifact.OpsResult, OutputPath: "r.json", Criteria: []artifact.Criterion{schema}},
		"kind: report\noutput_path: >-\n  my\n  report.md\ncriteria:\n- type: figures_grounded\n  value: ''\n":                                     {Kind: artifact.Report, OutputPath: "my report.md", Criteria: []artifact.Criterion{{Type: artifact.FiguresGrounded}}},
		"kind: report\noutput_path: 'yes'\ncriteria:\n- {value: \"12:30\", type: hash_stable}\n":                                                   {Kind: artifact.Report, OutputPath: "yes", Criteria: []artifact.Criterion{{Type: artifact.HashStable, Value: "12:30"}}},
	} {
		spec, err := artifact.ParseSpec([]byte(input))
		require.NoError(t, err, input)
		require.Equal(t, want, spec, input)
		requireRoundTrip(t, spec)
	}
}

func TestParseFlags(t *testing.T) {
	t.Parallel()
	spec, err := artifact.ParseFlags(artifact.Flags{Kind: "report", OutputPath: " reports\\weekly.md", Criteria: []string{"hash_stable:sha256:...", "figures_grounded:", `schema_valid:{"a":1}`}})
	require.NoError(t, err)
	require.Equal(t, artifact.Spec{Kind: artifact.Report, OutputPath: "reports/weekly.md", Criteria: []artifact.Criterion{
		{Type: artifact.HashStable, Value: "sha256:..."}, {Type: artifact.FiguresGrounded}, {Type: artifact.SchemaValid, Value: `{"a":1}`},
	}}, spec)
	requireRoundTrip(t, spec)
	spec, err = artifact.ParseFlags(artifact.Flags{Kind: "code_diff"})
	require.NoError(t, err)
	require.Equal(t, artifact.Spec{Kind: artifact.CodeDiff, Criteria: []artifact.Criterion{}}, spec)
	for field, flags := range map[string]artifact.Flags{
		"artifact_spec.kind":              {OutputPath: "x"},
		"artifact_spec.criteria":          {Kind: "code_diff", Criteria: []string{"hash_stable:x"}},
		"artifact_spec.criteria[1]":       {Kind: "report", OutputPath: "x", Criteria: []string{"hash_stable:x", "hash_stable"}},
		"artifact_spec.criteria[0].type":  {Kind: "report", OutputPath: "x", Criteria: []string{":x"}},
		"artifact_spec.criteria[0].value": {Kind: "report", OutputPath: "x", Criteria: []string{"hash_stable: "}},
		"artifact_spec.output_path":       {Kind: "report", OutputPath: "\xff"},
		"artifact_spec.criteria[0]":       {Kind: "report", OutputPath: "x", Criteria: []string{"hash_stable:\xff"}},
	} {
		_, err := artifact.ParseFlags(flags)
		requireRefused(t, err, field)
	}
}

// The same declaration is the same spec, or refused at the same field, in JSON, YAML and flags.
func TestSurfacesAgree(t *testing.T) {
	t.Parallel()
	word := rapid.SampledFrom([]string{"", " ", "report", "dataset", "code_diff", "hash_stable", "schema_valid", "figures_grounded", "warn", "x", "a/b", "../x", ".sdd/x", "C:x", "yes", "1", "null", "a: b", "#", "é", "line\nline", "'\"\\"})
	rapid.Check(t, func(t *rapid.T) {
		flags := artifact.Flags{Kind: word.Draw(t, "kind"), OutputPath: word.Draw(t, "path")}
		type criterion struct {
			Type  string `json:"type" yaml:"type"`
			Value string `json:"value" yaml:"value"`
		}
		block := map[string]any{}
		if flags.Kind != "" {
			block["kind"] = flags.Kind
		}
		if flags.OutputPath != "" {
			block["output_path"] = flags.OutputPath
		}
		criteria := []criterion{}
		for range rapid.IntRange(0, 2).Draw(t, "criteria") {
			c := criterion{word.Draw(t, "type"), word.Draw(t, "value")}
			if strings.Contains(c.Type, ":") {
				t.Skip("no type in a flag")
			}
			criteria = append(criteria, c)
			flags.Criteria = append(flags.Criteria, c.Type+":"+c.Value)
		}
		block["criteria"] = criteria
		fromFlags, flagsErr := artifact.ParseFlags(flags)
		inJSON, err := json.Marshal(block)
		require.NoError(t, err)
		fromJSON, jsonErr := artifact.ParseSpec(inJSON)
		inYAML, err := yaml.Marshal(block)
		require.NoError(t, err)
		fromYAML, yamlErr := artifact.ParseSpec(inYAML)
		require.Equal(t, flagsErr, jsonErr)
		require.Equal(t, flagsErr, yamlErr, "%s", inYAML)
		require.Equal(t, fromFlags, fromJSON)
		require.Equal(t, fromFlags, fromYAML)
	})
}

func TestOutputPaths(t *testing.T) {
	t.Parallel()
	for declared, want := range map[string]string{
		"x": "x", " x\t\n": "x", "a b": "a b", "a/b": "a/b", `a\b`: "a/b", `a\\b`: "a//b", "./x": "./x", "a/./b": "a/./b", "a//b": "a//b", "...": "...", "a/...": "a/...", "..x": "..x", "x..": "x..", "a/..b/c": "a/..b/c", ".x": ".x", "a~": "a~", "a/~b": "a/~b", "\u00a0x": "x", "résumé": "résumé", "re\u0301": "re\u0301",
		".sddx": ".sddx", ".gitignore": ".gitignore", ".github/x": ".github/x", "sdd/x": "sdd/x", "a/.sdd/x": "a/.sdd/x", "a/.git/x": "a/.git/x", "x:y": "", "http://x/y": "http://x/y", "ab:c": "ab:c", "1:x": "1:x", "é:x": "é:x", "-x": "-x", "*": "*", "a/b.": "a/b.", "CON": "CON", "a\u2028b": "a\u2028b", "a\u202eb": "a\u202eb", "$HOME": "$HOME", "%2e%2e/x": "%2e%2e/x", "．．/x": "．．/x",
	} {
		got, err := artifact.CleanOutputPath(declared)
		if want == "" {
			require.Error(t, err, declared)
			continue
		}
		require.NoError(t, err, declared)
		require.Equal(t, want, got)
		again, err := artifact.CleanOutputPath(got)
		require.NoError(t, err)
		require.Equal(t, got, again)
	}
	for declared, reason := range map[string]string{
		"": "blank", " \t": "blank", "\u00a0": "blank", "/": "absolute", "/x": "absolute", " /x": "absolute", `\x`: "absolute", `\\host\share`: "absolute", "//host/share": "absolute", "C:": "drive", "C:x": "drive", "c:/x": "drive", `z:\x`: "drive", " C:x": "drive",
		"..": "..", "../x": "..", "a/..": "..", "a/../b": "..", `a\..\b`: "..", `..\x`: "..", "./../x": "..", "a//..//b": "..", ".": "directory", "./": "directory", "./.": "directory", ".//.": "directory", "a/": "directory", `a\`: "directory", "a/.": "directory", "a//": "directory", "~": "~", "~/x": "~", "~root/x": "~", `~\x`: "~", " ~x": "~",
		"a\x00b": "control", "a\nb": "control", "a\tb": "control", "a\x7f": "control", "a\u0085b": "control", "\x01": "control", "a\rb": "control", "a\x1bb": "control",
		".sdd": "must not be in .sdd", ".sdd/x": "must not be in .sdd", ".SDD/x": "must not be in .sdd", `.sdd\x`: "must not be in .sdd", "./.sdd/x": "must not be in .sdd", ".//.sdd//x": "must not be in .sdd", "././.Sdd": "must not be in .sdd", ".\u017fdd/x": "must not be in .sdd", " .sdd/artifacts/T/receipt.json ": "must not be in .sdd",
		".git": "must not be in .git", ".git/hooks/pre-commit": "must not be in .git", ".Git/config": "must not be in .git", `.\.GIT\config`: "must not be in .git",
	} {
		_, err := artifact.CleanOutputPath(declared)
		require.ErrorContains(t, err, reason, declared)
		input, err := json.Marshal(map[string]string{"kind": "ops_result", "output_path": declared})
		require.NoError(t, err)
		_, err = artifact.ParseSpec(input)
		requireRefused(t, err, "artifact_spec.output_path")
	}
}

func TestResolvedPaths(t *testing.T) {
	t.Parallel()
	for resolved, want := range map[string]string{
		"/w/x": "x", "/w/a/b": "a/b", "/w/a/../b": "b", "/w/a/.git/x": "a/.git/x", "/w/..x": "..x",
		"/": "", "/w": "", "/w/": "", "/x": "", "/wx/y": "", "/w/../x": "", "/w/a/../../x": "", "x": "", "": "", "/w/.sdd/x": "", "/w/.SDD": "", "/w/.git/config": "", "/w//.Git/x": "",
	} {
		got, err := artifact.CheckResolvedPath("/w", resolved)
		require.Equal(t, want, got, resolved)
		require.Equal(t, want == "", err != nil, resolved)
	}
	_, err := artifact.CheckResolvedPath("w", "/w/x")
	require.Error(t, err)
	got, err := artifact.CheckResolvedPath("/", "/x")
	require.NoError(t, err)
	require.Equal(t, "x", got)
}

func TestTaskIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"a", "7", "T-1", "a.b_c-d", "A..", "identity2", "x-identity", strings.Repeat("x", 128)} {
		require.NoError(t, artifact.CheckTaskID(id), id)
	}
	for _, id := range []string{"", ".", "..", ".a", "-a", "_a", "a/b", `a\b`, "a b", " a", "a\n", "a\x00", "é", "a:b", "identity", "Identity", "IDENTITY", strings.Repeat("x", 129), "a*"} {
		err := artifact.CheckTaskID(id)
		requireRefused(t, err, "task_id")
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	require.Equal(t, "[code_diff report dataset action_log ops_result]", fmt.Sprint(artifact.Kinds()))
	require.Equal(t, "[hash_stable schema_valid criteria_match figures_grounded]", fmt.Sprint(artifact.CriterionTypes()))
	artifact.Kinds()[0] = "x"
	require.True(t, artifact.CodeDiff.Known())
	require.False(t, artifact.Kind("x").Known())
}
