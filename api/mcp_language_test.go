// A client that shares no line with the server: the TypeScript SDK under Node.

package api_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"countersign/api/apitest"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

const otherSDK = "@modelcontextprotocol/sdk@1.32.2"

func TestClientInAnotherLanguage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it installs a package")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: the client in another language was not run")
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("npm is not installed: the client in another language was not run")
	}
	dir := t.TempDir()
	install := exec.CommandContext(t.Context(), npm, "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", dir, otherSDK)
	if out, err := install.CombinedOutput(); err != nil {
		if os.Getenv("CI") == "" {
			t.Skipf("npm cannot install %s: the client in another language was not run: %v: %s", otherSDK, err, out)
		}
		require.NoError(t, err, "%s", out)
	}
	script, err := os.ReadFile("testdata/mcp_client.mjs")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "client.mjs"), script, 0o600))

	s := apitest.New(t, apitest.Options{})
	input, err := json.Marshal(map[string]any{
		"create":        workflow.CreateTask{WriteContext: s.WriteContext(), Title: "t", Goal: "g"},
		"spec":          s.Spec(workflow.Task{Version: 1}),
		"write_context": s.WriteContext(),
	})
	require.NoError(t, err)
	run := exec.CommandContext(t.Context(), node, "client.mjs", s.URL+"/mcp", s.OwnerToken, string(input))
	run.Dir, run.Stderr = dir, os.Stderr
	out, err := run.Output()
	require.NoError(t, err, "%s", out)
	var saw struct {
		Tools     []string       `json:"tools"`
		Replayed  bool           `json:"replayed"`
		Phase     workflow.Phase `json:"phase"`
		Page      int            `json:"page"`
		Cancelled workflow.Phase `json:"cancelled"`
		Conflict  [2]any         `json:"conflict"`
		Invalid   [2]any         `json:"invalid"`
	}
	require.NoError(t, json.Unmarshal(out, &saw), "%s", out)
	require.Equal(t, slices.Sorted(maps.Keys(toolRoutes)), saw.Tools)
	require.True(t, saw.Replayed)
	require.Equal(t, workflow.PhaseOffered, saw.Phase)
	require.Equal(t, 1, saw.Page)
	require.Equal(t, workflow.PhaseCancelled, saw.Cancelled)
	require.Equal(t, [2]any{true, "idempotency_conflict"}, saw.Conflict)
	require.Equal(t, [2]any{true, "$.spec.nonsense"}, saw.Invalid)
}
