// What the tests share: the re-executed program, real repositories, a node on a scripted server.

package bridge

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// canary stands in the bridge's own environment and must show up nowhere.
const canary = "canary-8c1f4e"

func TestMain(m *testing.M) {
	// The test program is the bridge's own program as well, as countersign is.
	if status, hidden := RunHidden(os.Args[1:]); hidden {
		os.Exit(status)
	}
	if len(os.Args) > 1 && os.Args[1] == bridgeProcess {
		os.Exit(runBridge())
	}
	// The race detector makes every program linger for a second when it ends.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	passedOn = append(passedOn, "GORACE")
	os.Setenv("COUNTERSIGN_TEST_SECRET", canary)
	goleak.VerifyTestMain(m)
}

// tickEvery is how often a test looks again.
const tickEvery = 10 * time.Millisecond

// repo is a real repository with one commit on main, checked out.
type repo struct {
	t    *testing.T
	dir  string
	base string
}

func newRepo(t *testing.T) *repo {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	r := &repo{t: t, dir: filepath.Join(dir, "repository")}
	require.NoError(t, os.Mkdir(r.dir, 0o700))
	r.git("init", "--quiet", "--initial-branch=main")
	r.write("README.md", "# Example\n")
	r.write(".gitignore", "ignored.log\n")
	r.write("src/a.txt", "a\n")
	r.base = r.commit("First")
	return r
}

func (r *repo) git(args ...string) string {
	r.t.Helper()
	out, err := r.try(args...)
	require.NoError(r.t, err, "git %v: %s", args, out)
	return out
}

func (r *repo) try(args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.invalid"}, args...)...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (r *repo) write(name, content string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	require.NoError(r.t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(r.t, os.WriteFile(path, []byte(content), 0o600))
}

func (r *repo) commit(message string) string {
	r.t.Helper()
	r.git("add", "--all")
	r.git("commit", "--quiet", "-m", message)
	return r.git("rev-parse", "HEAD")
}

// stage is a repository, a server and a node's options for them.
type stage struct {
	*testing.T
	repo   *repo
	server *server
	opts   Options
	log    *logBuffer
	root   string
	done   chan error
	stop   context.CancelFunc
}

func newStage(t *testing.T) *stage {
	t.Helper()
	t.Parallel()
	s := &stage{T: t, repo: newRepo(t), server: newServer(t), log: &logBuffer{}, root: filepath.Join(t.TempDir(), "root")}
	s.opts = Options{
		Server: s.server.http.URL, Token: testToken, NodeID: "node-1", Root: s.root, Workspaces: []string{s.repo.dir},
		Log: slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})), grace: 2 * time.Second, wait: 2 * time.Second,
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("bridge log:\n" + s.log.String())
		}
	})
	return s
}

// dispatch offers work with a prompt.
func (s *stage) dispatch(prompt string) {
	s.server.dispatch(dispatch{workspace: s.repo.dir, branch: "task/one", base: s.repo.base, prompt: prompt})
}

// run starts the node; the test's end stops it.
func (s *stage) run() {
	s.Helper()
	n, err := New(s.opts)
	require.NoError(s, err)
	ctx, cancel := context.WithCancel(context.Background())
	s.stop, s.done = cancel, make(chan error, 1)
	done := s.done
	go func() { done <- n.Run(ctx) }()
	s.Cleanup(func() { s.halt() })
}

// halt stops the node and returns what Run returned.
func (s *stage) halt() error {
	if s.stop == nil {
		return nil
	}
	s.stop()
	s.stop = nil
	select {
	case err := <-s.done:
		return err
	case <-time.After(waitBound):
		s.Error("the node does not stop")
		return nil
	}
}

// cleared checks that nothing of the ended attempts is left but records and refs.
func (s *stage) cleared() {
	s.Helper()
	s.NoError(s.halt())
	trees, err := os.ReadDir(filepath.Join(s.root, "trees"))
	s.NoError(err)
	s.Empty(trees, "worktrees are left")
	s.Equal(1, strings.Count(s.repo.git("worktree", "list"), "\n")+1, "git knows a worktree")
	s.Empty(s.repo.git("for-each-ref", "refs/countersign/base"), "base pins are left")
}

func (s *stage) NoError(err error, args ...any) { s.Helper(); require.NoError(s.T, err, args...) }
func (s *stage) Equal(want, got any, args ...any) {
	s.Helper()
	require.Equal(s.T, want, got, args...)
}
func (s *stage) Empty(v any, args ...any) { s.Helper(); require.Empty(s.T, v, args...) }

// logBuffer is a log that several goroutines write and the test reads.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// script is a scenario as a prompt.
func script(t *testing.T, s scenario) string {
	t.Helper()
	data, err := json.Marshal(map[string]scenario{"synthetic": s})
	require.NoError(t, err)
	return string(data)
}

// work is a scenario of one list of work steps.
func work(t *testing.T, steps ...scriptStep) string {
	t.Helper()
	return script(t, scenario{Work: [][]scriptStep{steps}})
}

func edit(path, content string) scriptStep {
	return scriptStep{Edit: &editStep{Path: path, Content: content}}
}

func commit(message string) scriptStep { return scriptStep{Commit: &message} }

func dirty(way string) scriptStep { return scriptStep{Dirty: &way} }

func sleep(d string) scriptStep { return scriptStep{Sleep: &d} }
