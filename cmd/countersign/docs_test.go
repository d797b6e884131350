// The manuals name what there is, and nothing else.

package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"countersign/contracts/canonjson"
	"countersign/contracts/capability"
	"countersign/contracts/workflow"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

// TestDocumentedVariables: every COUNTERSIGN_ variable that a manual names is one the program reads,
// and the manual for operators names all of them.
func TestDocumentedVariables(t *testing.T) {
	t.Parallel()
	var cli grammar
	parser, err := newParser(&cli, os.Stdout, os.Stderr, func(int) {})
	require.NoError(t, err)
	read := map[string]bool{"COUNTERSIGN_TEMPORAL": true} // read by package localstack
	require.NoError(t, kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		if v, ok := node.(*kong.Flag); ok {
			for _, name := range v.Envs {
				read[name] = true
			}
		}
		return next(nil)
	}))
	named := map[string]bool{}
	pages, err := filepath.Glob(repository + "/docs/*.md")
	require.NoError(t, err)
	for _, page := range append(pages, repository+"/README.md") {
		data, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, name := range regexp.MustCompile(`(?:COUNTERSIGN|BERNSTEIN)_[A-Z_]+[A-Z]`).FindAllString(string(data), -1) {
			if strings.HasSuffix(page, "operations.md") {
				named[name] = true
			}
			compose := name == "COUNTERSIGN_DB_PASSWORD" || name == "COUNTERSIGN_PORT" || name == "COUNTERSIGN_BIND"
			require.True(t, read[name] || compose, "%s names %s, which nothing reads", page, name)
		}
	}
	for name := range read {
		require.True(t, named[name], "docs/operations.md does not name %s", name)
	}
}

// TestDocumentedCommands: docs/cli.md has every command, and --help an example where there is much
// to get wrong.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	var cli grammar
	parser, err := newParser(&cli, os.Stdout, os.Stderr, func(int) {})
	require.NoError(t, err)
	page, err := os.ReadFile(repository + "/docs/cli.md")
	require.NoError(t, err)
	for _, leaf := range parser.Model.Leaves(true) {
		path := strings.TrimPrefix(leaf.FullPath(), "countersign ")
		require.Contains(t, string(page), "`"+path, "docs/cli.md")
		require.NotEmpty(t, leaf.Help, path)
	}
}

// TestDocumentedReasonCodes: docs/capability.md has every code in its own words.
func TestDocumentedReasonCodes(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(repository + "/docs/capability.md")
	require.NoError(t, err)
	for _, code := range capability.ReasonCodes() {
		said, _ := capability.Explain(code)
		require.Contains(t, string(page), "| `"+string(code)+"` | "+said.Sentence+" | "+said.Remedy+" |")
	}
}

// TestDocumentedCapability: what docs/capability.md shows can be pasted, and does what is said of it.
func TestDocumentedCapability(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(repository + "/docs/capability.md")
	require.NoError(t, err)
	shown := regexp.MustCompile("(?s)```(?:json)?\n(.*?)\n```").FindAllSubmatch(page, -1)
	require.Len(t, shown, 2)

	in, err := capability.Decode(shown[0][1])
	require.NoError(t, err)
	result := capability.Evaluate(in)
	require.Equal(t, capability.ActionFallback, result.Action)
	require.Equal(t, []capability.ReasonCode{"subagent_capability_missing"}, result.Outcome.ReasonCodes)
	require.Len(t, result.Diagnostics, 1, "no value of a wrong type")

	script, err := os.ReadFile("testdata/script/offline/bad_data.txtar")
	require.NoError(t, err)
	spec, _, ok := bytes.Cut(bytes.SplitAfter(script, []byte("-- spec.json --\n"))[1], []byte("\n}\n-- "))
	require.True(t, ok)
	spec = bytes.Replace(spec, []byte(`"method": " "`), []byte(`"method": "m"`), 1)
	_, err = readDispatch(append(append(append(spec, ",\n"...), shown[1][1]...), "\n}"...))
	require.NoError(t, err)
	var member struct {
		WorkerDispatch workflow.WorkerDispatch `json:"worker_dispatch"`
	}
	require.NoError(t, canonjson.Decode([]byte("{"+string(shown[1][1])+"}"), &member))
	for _, r := range member.WorkerDispatch.ScopeReceipts {
		captured, err := time.Parse(time.RFC3339, r.CapturedAt)
		require.NoError(t, err)
		expires, err := time.Parse(time.RFC3339, r.FreshnessExpiresAt)
		require.NoError(t, err)
		require.True(t, captured.Before(time.Now()) && expires.After(time.Now()))
	}
}

// checkDocumentedMetrics: every metric that docs/operations.md names is there.
func checkDocumentedMetrics(t *testing.T, url string) {
	resp, err := http.Get(url + "/metrics")
	require.NoError(t, err)
	defer resp.Body.Close()
	metrics, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	page, err := os.ReadFile(repository + "/docs/operations.md")
	require.NoError(t, err)
	names := regexp.MustCompile("`((?:countersign|http|temporal|go|process)_[a-z_]+)[{*`]").FindAllStringSubmatch(string(page), -1)
	require.NotEmpty(t, names)
	for _, name := range names {
		require.Regexp(t, `(?m)^`+name[1], string(metrics))
	}
}
