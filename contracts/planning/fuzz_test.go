// Whatever a plan or a backlog file holds: no panic, and what is accepted is a task that the server takes.

package planning_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"countersign/contracts"
	"countersign/contracts/artifact"
	"countersign/contracts/planning"
	"countersign/contracts/workflow"

	"github.com/stretchr/testify/require"
)

func FuzzParsePlan(f *testing.F) {
	for _, seed := range []string{
		"stages:\n  - name: report\n    steps:\n      - title: Produce the weekly report\n        role: analyst\n        artifact_spec:\n          kind: report\n          output_path: reports/weekly.md   # workdir-relative; required\n          criteria:\n            - type: hash_stable\n              value: 'sha256:...'\n",
		`{"stages":[{"steps":[{"title":"a","goal":"b","labels":["c"]},{"title":"a","description":"b","labels":["c"]}]}]}`,
		"stages: [{steps: [{title: &a x}, {title: *a}, {<<: {}}, {title: !!str 1}]}]", "%YAML 1.1\n---\nstages: yes\n...\n---\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		given := bytes.Clone(data)
		entries, err := planning.ParsePlan(data)
		require.Equal(t, given, data)
		if err != nil {
			require.Equal(t, contracts.CodeInvalid, contracts.CodeOf(err))
			require.Nil(t, entries)
			return
		}
		require.NotEmpty(t, entries)
		marks := map[string]bool{}
		for _, entry := range entries {
			requireTask(t, entry)
			require.NotEmpty(t, entry.At)
			marks[entry.Mark()] = true
		}
		require.Len(t, marks, len(entries))
	})
}

func FuzzParseBacklog(f *testing.F) {
	for _, seed := range []string{
		"---\ntitle: Produce the weekly report\nrole: analyst\nartifact_spec:\n  kind: dataset\n  output_path: out/rows.jsonl\n---\nThe goal.\n",
		"---\r\ntitle: a\r\nlabels: [b]\r\n--- \r\n\r\n  code\r---\n", "---\n{title: a}\n---", "---\n--- a\n---\n", "---\ntitle: |\n ---\n---\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		given := bytes.Clone(data)
		entry, err := planning.ParseBacklog(data)
		require.Equal(t, given, data)
		if err != nil {
			require.Equal(t, contracts.CodeInvalid, contracts.CodeOf(err))
			require.Zero(t, entry)
			return
		}
		requireTask(t, entry)
		require.NotContains(t, entry.Task.Goal, "\r\n")
	})
}

// requireTask wants what the server would accept, with the declaration it would read.
func requireTask(t *testing.T, entry planning.Entry) {
	t.Helper()
	body := entry.Task
	body.WriteContext = workflow.WriteContext{Resource: "r", InstanceID: "i"}
	sent, err := json.Marshal(body)
	require.NoError(t, err)
	var read workflow.CreateTask
	require.NoError(t, workflow.Decode(sent, &read))
	require.Equal(t, entry.Task.Goal, read.Goal)
	require.Equal(t, entry.Task.Labels, read.Labels)
	if entry.Task.ArtifactSpec != nil {
		_, err := artifact.ParseSpec(read.ArtifactSpec)
		require.NoError(t, err)
	}
}
