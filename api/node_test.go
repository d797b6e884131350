// A real node on a real server: artifact tasks from dispatch to what is left on the node.

package api_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"countersign/api/apitest"
	"countersign/bridge"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

// node is a running bridge of the scene's node, with one repository to work for.
type node struct {
	*apitest.Stack
	t          *testing.T
	root       string
	repository string
	base       string
}

// newNode starts a bridge that stops with the test.
func newNode(t *testing.T, s *apitest.Stack) *node {
	t.Helper()
	n := &node{Stack: s, t: t, root: filepath.Join(t.TempDir(), "root"), repository: filepath.Join(t.TempDir(), "repository")}
	require.NoError(t, os.Mkdir(n.repository, 0o700))
	n.git("init", "--quiet", "--initial-branch=main")
	require.NoError(t, os.WriteFile(filepath.Join(n.repository, "README.md"), []byte("# Example\n"), 0o600))
	n.git("add", "--all")
	n.git("commit", "--quiet", "-m", "First")
	n.base = n.git("rev-parse", "HEAD")
	n.start()
	return n
}

func (n *node) git(args ...string) string {
	n.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", n.repository, "-c", "user.name=t", "-c", "user.email=t@example.test"}, args...)...)
	out, err := cmd.CombinedOutput()
	require.NoError(n.t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

func (n *node) start() {
	n.t.Helper()
	log := slog.New(slog.DiscardHandler)
	if os.Getenv("COUNTERSIGN_TEST_LOG") != "" {
		log = slog.Default()
	}
	b, err := bridge.New(bridge.Options{
		Server: n.URL, Token: n.NodeToken, Root: n.root, Workspaces: []string{n.repository}, NodeID: n.Node.ID, Log: log,
	})
	require.NoError(n.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	n.t.Cleanup(func() {
		cancel()
		require.NoError(n.t, <-done)
	})
}

// scenario is a prompt that tells the synthetic agent its steps.
func scenario(t *testing.T, purposes map[string]any) string {
	t.Helper()
	data, err := json.Marshal(map[string]any{"synthetic": purposes})
	require.NoError(t, err)
	return string(data)
}

// ends dispatches a task with a declaration and waits for the revision's end.
func (n *node) ends(declared, prompt string) workflow.Detail {
	n.t.Helper()
	task := apitest.Into[workflow.Task](n.t, 201, n.Operator("POST", "/v1/tasks", workflow.CreateTask{
		WriteContext: n.WriteContext(), Title: "Produce", Goal: "Say 42.", ArtifactSpec: jsontext.Value(declared),
	}))
	spec := n.Spec(task)
	spec.Workspace, spec.BaseCommit, spec.Prompt = n.repository, n.base, prompt
	n.DispatchSpec(spec)
	eventually(n.t, "the revision ends", func() bool { return n.Detail(task.ID).Phase.Final() })
	return n.Detail(task.ID)
}

// leftovers are the workspaces of artifact tasks that are still there.
func (n *node) leftovers() []os.DirEntry {
	n.t.Helper()
	entries, err := os.ReadDir(filepath.Join(n.root, ".sdd", "workspaces"))
	require.NoError(n.t, err)
	return entries
}

func (n *node) cleared() {
	n.t.Helper()
	eventually(n.t, "the workspaces are removed", func() bool { return len(n.leftovers()) == 0 })
	require.Empty(n.t, n.git("for-each-ref", "refs/countersign"), "the repository is left alone")
}

type edit map[string]string // path, content

func write(path, content string) map[string]any {
	return map[string]any{"edit": edit{"path": path, "content": content}}
}

func TestNodeProducesArtifacts(t *testing.T) {
	t.Parallel()
	n := newNode(t, apitest.New(t, apitest.Options{}))
	for _, kind := range []string{"report", "dataset", "action_log", "ops_result"} {
		d := n.ends(`{"kind":"`+kind+`","output_path":"out/deep/it"}`, "Do it.")
		require.Equal(t, workflow.PhaseAccepted, d.Phase, "%s: %v", kind, d.Reason)
		got := n.Operator("GET", "/v1/tasks/"+d.TaskID+"/artifact", nil)
		require.Equal(t, *d.CandidateHash, contentHash(string(got.Body)), kind)
		require.Contains(t, string(got.Body), "Say 42.", kind)
	}
	n.cleared()
	// The workspaces are gone, the evidence is not.
	for _, a := range n.Detail(apitest.Into[workflow.TaskList](t, 200, n.Operator("GET", "/v1/tasks?project_id="+n.Project.ID, nil)).Tasks[0].ID).Attempts {
		require.Len(t, a.Attachments, 1)
		evidence := n.Operator("GET", "/v1/projects/"+n.Project.ID+"/attachments/"+a.Attachments[0], nil)
		require.Contains(t, string(evidence.Body), `"execution_id": "`+a.ExecutionID+`"`)
	}
	// Four artifacts, each with the evidence of its worker and its verifier.
	require.Len(t, readLineage(t, n.Stack, n.Project.ID).lines, 4*3)
	sound(t, n.Stack)
}

// TestNodeCorrectsAnArtifact: the correction starts from the rejected bytes.
func TestNodeCorrectsAnArtifact(t *testing.T) {
	t.Parallel()
	n := newNode(t, apitest.New(t, apitest.Options{}))
	d := n.ends(`{"kind":"report","output_path":"r.md"}`, scenario(t, map[string]any{
		"work":   []any{[]any{write("r.md", "first\n")}, []any{write("seen.txt", ""), map[string]any{"summary": "left as it was"}}},
		"verify": []any{[]any{map[string]any{"verdict": map[string]any{"tests": map[string]any{"outcome": "fail", "feedback": "Not yet."}}}}, []any{map[string]any{"verdict": map[string]any{}}}},
	}))
	require.Equal(t, workflow.PhaseAccepted, d.Phase, "%v", d.Reason)
	require.Len(t, d.Attempts, 4)
	require.Equal(t, contentHash("first\n"), *d.CandidateHash)
	n.cleared()
}

// TestNodeHandsInOnlyItsOutput: nothing, a link out of the workspace, a pipe, bytes of the wrong kind and
// a verifier that writes are each what they are, and no workspace stays.
func TestNodeHandsInOnlyItsOutput(t *testing.T) {
	t.Parallel()
	n := newNode(t, apitest.New(t, apitest.Options{}))
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	steps := func(work, verify []any) string {
		p := map[string]any{"work": []any{work}}
		if verify != nil {
			p["verify"] = []any{verify}
		}
		return scenario(t, p)
	}
	for name, c := range map[string]struct {
		declared string
		work     []any
		verify   []any
		reason   workflow.Reason
		said     string
	}{
		"nothing":        {`{"kind":"report","output_path":"r.md"}`, []any{map[string]any{"summary": "x"}}, nil, workflow.ReasonArtifactMissing, "wrote no output at r.md"},
		"other place":    {`{"kind":"report","output_path":"r.md"}`, []any{write("other.md", "x")}, nil, workflow.ReasonArtifactMissing, "wrote no output at r.md"},
		"no rows":        {`{"kind":"dataset","output_path":"r"}`, []any{write("r", "plain text")}, nil, workflow.ReasonArtifactRejected, "line 1"},
		"link out":       {`{"kind":"report","output_path":"r.md"}`, []any{map[string]any{"link": edit{"path": "r.md", "target": secret}}}, nil, workflow.ReasonAttemptFailed, "artifact_path_refused"},
		"linked parent":  {`{"kind":"report","output_path":"d/secret"}`, []any{map[string]any{"link": edit{"path": "d", "target": filepath.Dir(secret)}}}, nil, workflow.ReasonAttemptFailed, "artifact_path_refused"},
		"a directory":    {`{"kind":"report","output_path":"r"}`, []any{write("r/x", "x")}, nil, workflow.ReasonAttemptFailed, "artifact_path_refused"},
		"verifier wrote": {`{"kind":"report","output_path":"r.md"}`, []any{write("r.md", "x")}, []any{write("more", "x"), map[string]any{"verdict": map[string]any{}}}, workflow.ReasonAttemptFailed, "workspace_modified: more"},
		"verifier edits": {`{"kind":"report","output_path":"r.md"}`, []any{write("r.md", "x")}, []any{write("r.md", "y"), map[string]any{"verdict": map[string]any{}}}, workflow.ReasonAttemptFailed, "workspace_modified: r.md"},
	} {
		d := n.ends(c.declared, steps(c.work, c.verify))
		require.Equal(t, workflow.PhaseBlocked, d.Phase, name)
		require.Equal(t, c.reason, *d.Reason, name)
		history := ""
		for _, h := range d.History {
			history += string(h.Data)
		}
		require.Contains(t, history, c.said, name)
		require.NotContains(t, history, filepath.Dir(secret), name)
	}
	// A link that stays inside is followed.
	d := n.ends(`{"kind":"report","output_path":"r.md"}`, steps([]any{write("real.md", "x"), map[string]any{"link": edit{"path": "r.md", "target": "real.md"}}}, nil))
	require.Equal(t, workflow.PhaseAccepted, d.Phase, "%v", d.Reason)
	n.cleared()
	sound(t, n.Stack)
}

// TestNodeSweepsOrphans: what a crash left of workspaces is gone when the next bridge is ready.
func TestNodeSweepsOrphans(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	n := &node{Stack: s, t: t, root: filepath.Join(t.TempDir(), "root"), repository: filepath.Join(t.TempDir(), "repository")}
	require.NoError(t, os.Mkdir(n.repository, 0o700))
	n.git("init", "--quiet")
	orphan := filepath.Join(n.root, ".sdd", "workspaces", "orphan", "sub")
	require.NoError(t, os.MkdirAll(orphan, 0o700))
	require.NoError(t, os.Chmod(orphan, 0o500))
	n.start()
	n.cleared()
}

// TestNodeSweepsNothingElsewhere: a link in the place of the workspaces is refused, not followed.
func TestNodeSweepsNothingElsewhere(t *testing.T) {
	t.Parallel()
	root, elsewhere := filepath.Join(t.TempDir(), "root"), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(elsewhere, "precious"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(root, ".sdd"), 0o700))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(root, ".sdd", "workspaces")))
	b, err := bridge.New(bridge.Options{Server: "http://127.0.0.1:1", Token: "t", Root: root, Workspaces: []string{t.TempDir()}, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.ErrorContains(t, b.Run(t.Context()), "something else was put in its place")
	require.DirExists(t, filepath.Join(elsewhere, "precious"))
}
