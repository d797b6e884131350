// Plans and backlog files: what is read of them, and what each refusal names.

package planning_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"countersign/contracts"
	"countersign/contracts/artifact"
	"countersign/contracts/planning"

	"github.com/stretchr/testify/require"
)

func TestPlan(t *testing.T) {
	t.Parallel()
	entries, err := planning.ParsePlan([]byte(`
name: The week
description: What a week brings.
stages:
  - name: report
    steps:
      - title: Produce the weekly report
        role: analyst
        labels: [weekly, 'a: b']
        artifact_spec:
          kind: report
          output_path: reports\weekly.md   # workdir-relative; required
          criteria:
            - type: hash_stable
              value: 'sha256:...'
      - {title: Check it, goal: "Read it twice.\nThen again."}
  - steps:
      - title: Send it
        description: |
          To everybody.
`))
	require.NoError(t, err)
	require.Len(t, entries, 3)
	first := entries[0]
	require.Equal(t, "stages[0].steps[0]", first.At)
	require.Equal(t, "Produce the weekly report", first.Task.Title)
	require.Equal(t, first.Task.Title, first.Task.Goal)
	require.Equal(t, []string{"weekly", "a: b", "role:analyst", "stage:report", first.Mark()}, first.Task.Labels)
	require.Regexp(t, `^plan:[0-9a-f]{32}$`, first.Mark())
	require.JSONEq(t, `{"kind":"report","output_path":"reports/weekly.md","canonicalisation":"","criteria":[{"type":"hash_stable","value":"sha256:..."}]}`, string(first.Task.ArtifactSpec))
	require.Equal(t, "stages[0].steps[1]", entries[1].At)
	require.Equal(t, "Read it twice.\nThen again.", entries[1].Task.Goal)
	require.Nil(t, entries[1].Task.ArtifactSpec)
	require.Equal(t, "stages[1].steps[0]", entries[2].At)
	require.Equal(t, "To everybody.\n", entries[2].Task.Goal)
	require.Equal(t, []string{entries[2].Mark()}, entries[2].Task.Labels)
}

// A mark follows what the step says and nothing else.
func TestMarks(t *testing.T) {
	t.Parallel()
	marks := func(plan string) (marks []string) {
		entries, err := planning.ParsePlan([]byte(plan))
		require.NoError(t, err)
		for _, e := range entries {
			require.NotContains(t, marks, e.Mark())
			marks = append(marks, e.Mark())
		}
		return marks
	}
	base := marks("stages: [{steps: [{title: a}, {title: b}]}]")
	require.Equal(t, base, marks("# moved\nname: x\nstages:\n- steps:\n  - goal: a\n    title: a\n- steps:\n  - title: b\n"))
	require.Equal(t, base, marks(`{"stages":[{"steps":[{"title":"a"},{"title":"b"}]}]}`))
	require.Equal(t, []string{base[1], base[0]}, marks("stages: [{steps: [{title: b}, {title: a}]}]"))
	thrice := marks("stages: [{steps: [{title: a}, {title: a}, {title: a}]}]")
	require.Equal(t, base[0], thrice[0])
	require.Equal(t, thrice[:2], marks("stages: [{steps: [{title: a}, {title: a}]}]"))
	for _, other := range []string{
		"{title: a, goal: b}", "{title: a, role: r}", "{title: a, labels: [l]}", "{title: a, artifact_spec: {kind: code_diff}}",
		"{title: a, artifact_spec: {kind: code_diff, canonicalisation: code_diff}}",
	} {
		require.NotEqual(t, base[0], marks("stages: [{steps: [" + other + "]}]")[0], other)
	}
	require.NotEqual(t, base[0], marks("stages: [{name: s, steps: [{title: a}]}]")[0])
	backlog, err := planning.ParseBacklog([]byte("---\ntitle: a\n---\n"))
	require.NoError(t, err)
	require.Regexp(t, `^backlog:[0-9a-f]{32}$`, backlog.Mark())
	require.NotEqual(t, strings.TrimPrefix(base[0], "plan:"), backlog.Mark())
}

func TestPlansRefused(t *testing.T) {
	t.Parallel()
	step := func(members string) string { return "stages: [{steps: [{title: a}, {" + members + "}]}]" }
	for _, c := range []struct{ plan, field, reason string }{
		{"", "", "is empty"}, {"# nothing\n", "", "is empty"}, {"- a", "", "must be a mapping and is a list"}, {"a: [", "", "broken YAML"}, {"stages: []\n---\nstages: []", "", "more than one YAML document"},
		{"stages: \xff", "", "invalid UTF-8 (line 1)"}, {"a:\n\n é\xc3", "", "invalid UTF-8 (line 3)"}, {"\ufeffstages: []", "", "byte order mark"}, {`{"stages":[}`, "", "broken JSON"},
		{strings.Repeat("#", planning.MaxBytes+1), "", "at most"},
		{"{}", "stages", "is required"}, {"stages:", "stages", "must be a list and is null"}, {"stages: []", "stages", "must not be empty"}, {"stages: {a: b}", "stages", "must be a list and is a mapping"}, {"stage: []", "stage", "unknown key; known are name, description, stages"},
		{"name: 1\nstages: []", "name", "must be a string"}, {"stages: 1\nstages: 2", "stages", "stands twice (line 2)"},
		{"stages: [a]", "stages[0]", "must be a mapping and is a string"}, {"stages: [{}]", "stages[0].steps", "is required"}, {"stages: [{steps: []}]", "stages[0].steps", "must not be empty"}, {"stages: [{steps: [{title: a}]}, {name: [], steps: []}]", "stages[1].name", "must be a string and is a list"},
		{"stages: [{steps: [{title: a}], name: '" + strings.Repeat("x", 64) + "'}]", "stages[0].name", "at most 64 characters"}, {"stages: [{depends_on: x, steps: [{title: a}]}]", "stages[0].depends_on", "unknown key"},
		{step("goal: x"), "stages[0].steps[1].title", "is required"}, {step("title: ' '"), "stages[0].steps[1].title", "must not be blank"}, {step("title: 7"), "stages[0].steps[1].title", "must be a string"}, {step("title: yes"), "stages[0].steps[1].title", "must be a string"}, {step("title: " + strings.Repeat("x", 201)), "stages[0].steps[1].title", "at most 200"},
		{step("title: b, goal: ' '"), "stages[0].steps[1].goal", "must not be blank"}, {step("title: 2026"), "stages[0].steps[1].title", "put it in quotation marks"}, {step("title: b, goal: null"), "stages[0].steps[1].goal", "must be a string and is null"}, {step("title: b, description: \"a\\0b\""), "stages[0].steps[1].description", "U+0000"}, {step("title: b, description: x, goal: x"), "stages[0].steps[1].description", "another name of goal"},
		{step("title: b, role: [a]"), "stages[0].steps[1].role", "must be a string"}, {step("title: b, labels: a"), "stages[0].steps[1].labels", "must be a list and is a string"}, {step("title: b, labels: [a, 1]"), "stages[0].steps[1].labels[1]", "must be a string"}, {step("title: b, labels: [a, '']"), "stages[0].steps[1].labels[1]", "must not be blank"}, {step("title: b, labels: [a, a]"), "stages[0].steps[1].labels", "twice"}, {step("title: b, role: r, labels: ['role:r']"), "stages[0].steps[1].labels", "twice"},
		{step("title: b, labels: [plan:00112233445566778899aabbccddeeff]"), "stages[0].steps[1].labels[0]", "found again"}, {step("title: b, labels: [" + strings.Repeat("l,", 40) + "]"), "stages[0].steps[1].labels", "at most 32 items"},
		{step("title: b, artifact-spec: {}"), "stages[0].steps[1].artifact-spec", "unknown key"}, {step("title: b, Title: c"), "stages[0].steps[1].Title", "unknown key"}, {step("title: b, title: c"), "stages[0].steps[1].title", "stands twice"}, {step("title: b, artifact_spec: {kind: report, kind: report}"), "stages[0].steps[1].artifact_spec.kind", "stands twice"},
		{step("title: b, artifact_spec: ~"), "stages[0].steps[1].artifact_spec", "must be a mapping and is null"}, {step("title: b, artifact_spec: {kind: report}"), "stages[0].steps[1].artifact_spec.output_path", "is required"}, {step("title: b, artifact_spec: {kind: report, output_path: x, criteria: [{type: nope, value: x}]}"), "stages[0].steps[1].artifact_spec.criteria[0].type", "is none of"},
		{"stages: [{steps: [{title: a, artifact_spec: &s {kind: code_diff}}, {title: b, artifact_spec: *s}]}]", "stages[0].steps[0].artifact_spec", "anchors"}, {"stages: [{steps: [{<<: {title: a}}]}]", "stages[0].steps[0].<<", "merge keys"}, {"stages: !!seq []", "stages", "tags"},
		{step("title: b, artifact_spec: {kind: report, output_path: x, criteria: [{type: schema_valid, value: '" + strings.Repeat(`"`, 600_000) + "'}]}"), "stages[0].steps[1]", "the limit is"},
		{"stages: [{steps: [" + strings.Repeat("{title: a},", planning.MaxSteps+1) + "]}]", "stages", "at most 1000 steps"},
	} {
		entries, err := planning.ParsePlan([]byte(c.plan))
		require.Nil(t, entries)
		requireRefused(t, err, c.field, c.reason)
	}
}

func TestBacklog(t *testing.T) {
	t.Parallel()
	entry, err := planning.ParseBacklog([]byte("--- \r\ntitle: Produce the weekly report\r\nrole: analyst\r\nlabels: [a]\r\nartifact_spec:\r\n  kind: dataset\r\n  output_path: out/rows.jsonl\r\n---\r\n\r\n \t\r\n    code\r\n\r\n---\r\n# More\r\n\r\n"))
	require.NoError(t, err)
	require.Empty(t, entry.At)
	require.Equal(t, "    code\n\n---\n# More", entry.Task.Goal)
	require.Equal(t, []string{"a", "role:analyst", entry.Mark()}, entry.Task.Labels)
	require.JSONEq(t, `{"kind":"dataset","output_path":"out/rows.jsonl","canonicalisation":"","criteria":[]}`, string(entry.Task.ArtifactSpec))
	for _, file := range []string{"---\ntitle: a\n---", "---\ntitle: a\n---\n", "---\ntitle: a\n---\n \n\n\t\n", "---\r\n# c\r\ntitle: a\r\n---\r\n\r\n"} {
		bare, err := planning.ParseBacklog([]byte(file))
		require.NoError(t, err, "%q", file)
		require.Equal(t, "a", bare.Task.Goal)
		require.Nil(t, bare.Task.ArtifactSpec)
	}
}

func TestBacklogFilesRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, field, reason string }{
		{"", "frontmatter", "is missing"}, {"# A title\n", "frontmatter", "is missing"}, {"\n---\ntitle: a\n---\n", "frontmatter", "is missing"}, {"---", "frontmatter", "does not end"}, {"---\ntitle: a\n", "frontmatter", "does not end"}, {"--- title: a\n---\n", "frontmatter", "is missing"}, {"----\n", "frontmatter", "is missing"},
		{"---\n---\n", "frontmatter", "must be a mapping and is null"}, {"---\n- a\n---\n", "frontmatter", "must be a mapping and is a list"}, {"---\ntitle: [\n---\n", "frontmatter", "broken YAML"}, {"---\ntitle: a\n--- b\n---\n", "frontmatter", "more than one"}, {"---\n{}\n---\nbody", "title", "is required"},
		{"---\ntitle: a\nbody: x\n---\n", "body", "unknown key; known are title, role, labels, artifact_spec"}, {"---\ntitle: a\ntitle: b\n---\n", "title", "stands twice (line 3)"}, {"---\ntitle: a\ngoal: b\n---\n", "goal", "unknown key"},
		{"---\ntitle: a\n---\n" + strings.Repeat("x", 16385), "body", "at most 16384"}, {"---\ntitle: a\n---\na\x00b", "body", "U+0000"}, {"---\ntitle: a\n---\n\n\xe9", "", "invalid UTF-8 (line 5)"}, {"\ufeff---\ntitle: a\n---\n", "", "byte order mark"}, {strings.Repeat("x", planning.MaxBytes+1), "", "at most"},
		{"---\ntitle: a\nartifact_spec: {kind: nope}\n---\n", "artifact_spec.kind", "is none of"}, {"---\ntitle: a\nartifact_spec:\n---\n", "artifact_spec", "must be a mapping and is null"}, {"---\ntitle: &a a\n---\n", "title", "anchors"}, {"---\ntitle: a\nlabels: [backlog:00112233445566778899aabbccddeeff]\n---\n", "labels[0]", "found again"},
	} {
		entry, err := planning.ParseBacklog([]byte(c.file))
		require.Zero(t, entry)
		requireRefused(t, err, c.field, c.reason)
	}
}

// Every vector of declarations means the same in a plan, in YAML and in JSON, and in a backlog file.
func TestSpecVectorsOnEverySurface(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../testdata/vectors/artifact_spec.json")
	require.NoError(t, err)
	var file struct {
		Cases []struct {
			ID     string `json:"id"`
			Input  string `json:"input"`
			Expect struct {
				Outcome string         `json:"outcome"`
				Spec    *artifact.Spec `json:"spec"`
				Field   string         `json:"field"`
			} `json:"expect"`
		} `json:"cases"`
	}
	require.NoError(t, json.Unmarshal(data, &file))
	require.NotEmpty(t, file.Cases)
	plan := func(format string) func(string) (planning.Entry, error) {
		return func(block string) (planning.Entry, error) {
			entries, err := planning.ParsePlan(fmt.Appendf(nil, format, block))
			if err != nil {
				return planning.Entry{}, err
			}
			return entries[0], nil
		}
	}
	for _, v := range file.Cases {
		for surface, at := range map[string]struct {
			prefix string
			parse  func(string) (planning.Entry, error)
		}{
			"plan, JSON": {"stages[0].steps[0].", plan(`{"stages":[{"steps":[{"title":"a","artifact_spec":%s}]}]}`)},
			"plan, YAML": {"stages[0].steps[0].", plan("stages:\n- steps:\n  - title: a\n    artifact_spec: %s\n")},
			"backlog": {"", func(block string) (planning.Entry, error) {
				return planning.ParseBacklog([]byte("---\ntitle: a\nartifact_spec: " + block + "\n---\nbody\n"))
			}},
		} {
			t.Run(v.ID+" "+surface, func(t *testing.T) {
				t.Parallel()
				entry, err := at.parse(v.Input)
				want, refused := artifact.ParseSpec([]byte(v.Input))
				if v.Expect.Outcome == "refused" {
					refusal, _ := errors.AsType[*contracts.Error](refused)
					requireRefused(t, err, at.prefix+refusal.Path, "")
					require.Contains(t, refusal.Path, v.Expect.Field)
					return
				}
				require.NoError(t, err)
				var spec artifact.Spec
				require.NoError(t, json.Unmarshal(entry.Task.ArtifactSpec, &spec))
				require.Equal(t, want, spec)
				if v.Expect.Spec != nil {
					require.Equal(t, *v.Expect.Spec, spec)
				}
			})
		}
	}
}

// The manual's examples are good ones.
func TestDocumentedFormats(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/tasks.md")
	require.NoError(t, err)
	example := func(language string) []byte {
		_, rest, _ := strings.Cut(string(page), "```"+language+"\n")
		text, _, found := strings.Cut(rest, "```\n")
		require.True(t, found)
		return []byte(text)
	}
	entries, err := planning.ParsePlan(example("yaml"))
	require.NoError(t, err)
	require.Len(t, entries, 2)
	require.NotNil(t, entries[0].Task.ArtifactSpec)
	entry, err := planning.ParseBacklog(example("markdown"))
	require.NoError(t, err)
	require.NotNil(t, entry.Task.ArtifactSpec)
	require.Equal(t, "One row for each sale, as the warehouse has it.", entry.Task.Goal)
}

func requireRefused(t testing.TB, err error, field, reason string) {
	t.Helper()
	var refusal *contracts.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, contracts.CodeInvalid, refusal.Code)
	require.Equal(t, field, refusal.Path, refusal.Detail)
	require.Contains(t, refusal.Detail, reason)
	require.Less(t, len(refusal.Detail), 400)
}
