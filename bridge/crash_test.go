// Bridges that die, answers that never arrive, and what the next start makes of it.

package bridge

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

// bridgeProcess is the argument that makes the test program a bridge of its own.
const bridgeProcess = "test-bridge"

// runBridge is that program: options on standard input, no end by itself.
func runBridge() int {
	var o Options
	data, err := io.ReadAll(os.Stdin)
	if err != nil || json.Unmarshal(data, &o) != nil {
		return 2
	}
	n, err := New(o)
	if err != nil {
		return 3
	}
	if n.Run(context.Background()) != nil {
		return 4
	}
	return 0
}

// spawnBridge runs the stage's node in a process that can be killed.
func (s *stage) spawnBridge() *exec.Cmd {
	s.Helper()
	self, err := os.Executable()
	s.NoError(err)
	o, err := json.Marshal(map[string]any{
		"Server": s.opts.Server, "Token": s.opts.Token, "NodeID": "node-1", "Root": s.root, "Workspaces": s.opts.Workspaces,
	})
	s.NoError(err)
	cmd := exec.Command(self, bridgeProcess)
	cmd.Stdin = strings.NewReader(string(o))
	cmd.Stderr = s.log
	s.NoError(cmd.Start())
	s.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

func (s *stage) kill(cmd *exec.Cmd) {
	s.Helper()
	s.NoError(cmd.Process.Signal(syscall.SIGKILL))
	_ = cmd.Wait()
}

// The completed event was recorded, the bridge died before it saw the answer.
func TestBridgeKilledAfterItsResult(t *testing.T) {
	s := newStage(t)
	s.dispatch("Write a note.")
	var once sync.Once
	recorded := make(chan struct{})
	s.server.setFault(func(_ http.ResponseWriter, r *http.Request, verb string, body []byte) bool {
		if verb != "events" || !strings.Contains(string(body), `"state":"completed"`) {
			return false
		}
		held := false
		once.Do(func() {
			held = true
			s.server.event(r, body)
			close(recorded)
			<-r.Context().Done()
		})
		return held
	})
	cmd := s.spawnBridge()
	<-recorded
	s.kill(cmd)
	s.run()
	s.server.settled(workflow.PhaseAccepted)
	require.Len(t, s.server.attempts, 2)
	require.Equal(t, s.server.candidate, s.repo.git("rev-parse", "task/one"), "the branch was moved after all")
	sent := s.server.called("events")
	require.Equal(t, sent[2].body, sent[3].body, "the same bytes again")
	s.cleared()
}

// The claim was taken, the bridge died before it saw the lease: nothing ran yet, so it runs now.
func TestBridgeKilledWhileClaiming(t *testing.T) {
	s := newStage(t)
	s.dispatch("Write a note.")
	var once sync.Once
	claimed := make(chan struct{})
	s.server.setFault(func(_ http.ResponseWriter, r *http.Request, verb string, body []byte) bool {
		held := false
		if verb == "claim" {
			once.Do(func() {
				held = true
				s.server.claim(r, body)
				close(claimed)
				<-r.Context().Done()
			})
		}
		return held
	})
	cmd := s.spawnBridge()
	<-claimed
	s.kill(cmd)
	s.run()
	s.server.settled(workflow.PhaseAccepted)
	require.Len(t, s.server.attempts, 2)
	claims := s.server.called("claim")
	require.Equal(t, claims[0].body, claims[1].body)
	s.cleared()
}

// Every answer is lost once; every call is repeated byte for byte and has one effect.
func TestAnswersAreLost(t *testing.T) {
	s := newStage(t)
	s.dispatch("Write a note.")
	var mu sync.Mutex
	seen := map[string]int{}
	s.server.setFault(func(_ http.ResponseWriter, r *http.Request, verb string, body []byte) bool {
		do := map[string]func(*http.Request, []byte) fakeAnswer{"claim": s.server.claim, "events": s.server.event, "stopped": s.server.stopped}[verb]
		mu.Lock()
		seen[r.URL.Path+string(body)]++
		first := seen[r.URL.Path+string(body)] == 1
		mu.Unlock()
		if do == nil || !first {
			return false
		}
		do(r, body)
		panic(http.ErrAbortHandler)
	})
	s.run()
	s.server.settled(workflow.PhaseAccepted)
	s.NoError(s.halt())
	mu.Lock()
	defer mu.Unlock()
	for call, n := range seen {
		if strings.Contains(call, "/claim") || strings.Contains(call, "/events") || strings.Contains(call, "/stopped") {
			require.Equal(t, 2, n, call)
		}
	}
	require.Len(t, s.server.attempts, 2)
	require.Len(t, s.server.attempt(0).events, 3)
	s.cleared()
}

func TestOneBridgePerRoot(t *testing.T) {
	s := newStage(t)
	s.run()
	s.server.await("a poll", func() bool { return len(s.server.calls) > 0 })
	n, err := New(s.opts)
	s.NoError(err)
	require.ErrorIs(t, n.Run(t.Context()), ErrRootInUse)
}

func TestUnknownToken(t *testing.T) {
	s := newStage(t)
	s.opts.Token = "wrong"
	n, err := New(s.opts)
	s.NoError(err)
	require.ErrorContains(t, n.Run(t.Context()), "does not accept this node's token")
}

func TestServerAwayAtFirst(t *testing.T) {
	s := newStage(t)
	var calls atomic.Int32
	s.server.setFault(func(w http.ResponseWriter, _ *http.Request, _ string, _ []byte) bool {
		if calls.Add(1) > 2 {
			return false
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	s.dispatch("Write a note.")
	s.run()
	s.server.settled(workflow.PhaseAccepted)
	require.Contains(t, s.log.String(), "cannot work now")
}

func TestDiskLow(t *testing.T) {
	s := newStage(t)
	var asked atomic.Int32
	s.opts.space = func() (uint64, error) {
		if asked.Add(1) <= 2 {
			return 1 << 20, nil
		}
		return minFree, nil
	}
	s.dispatch("Write a note.")
	s.run()
	s.server.settled(workflow.PhaseAccepted)
	require.Contains(t, s.log.String(), "only 1 MiB of disk space are left")
	require.Len(t, s.server.called("claim"), 2)
}

func TestClaimRefused(t *testing.T) {
	s := newStage(t)
	var refusals atomic.Int32
	s.server.setFault(func(w http.ResponseWriter, _ *http.Request, verb string, _ []byte) bool {
		if verb == "claim" && refusals.Add(1) == 1 {
			write(w, refused(http.StatusConflict, "node_paused"))
			return true
		}
		return false
	})
	s.dispatch("Write a note.")
	s.run()
	s.server.settled(workflow.PhaseAccepted)
	claims := s.server.called("claim")
	require.NotEqual(t, claims[0].body, claims[1].body, "a refused claim is not claimed again under its id")
}

func TestOldRecordsArePruned(t *testing.T) {
	t.Parallel()
	r, err := openRoot(filepath.Join(t.TempDir(), "root"))
	require.NoError(t, err)
	n := &Node{root: r}
	for i := range keptAttempts + 5 {
		j, err := begin(r, "e"+string(rune('a'+i)), "c")
		require.NoError(t, err)
		require.NoError(t, j.to(stepDone))
	}
	require.NoError(t, n.prune())
	left, err := journals(r)
	require.NoError(t, err)
	require.Len(t, left, keptAttempts)
	require.Equal(t, "ef", left[0].ExecutionID)
	_, err = begin(r, "ef", "c")
	require.Error(t, err, "an execution is not begun twice")

	require.NoError(t, os.WriteFile(left[0].path(stateFile), []byte("{"), 0o600))
	_, err = journals(r)
	require.Error(t, err, "a journal that cannot be read is not passed over")
}

func TestRootIsClosedToOthers(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "root")
	require.NoError(t, os.Mkdir(dir, 0o755))
	r, err := openRoot(dir)
	require.NoError(t, err)
	info, err := os.Stat(string(r))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	_, err = openRoot("relative")
	require.Error(t, err)
}

func TestProgramMissing(t *testing.T) {
	s := newStage(t)
	s.opts.Executable = filepath.Join(t.TempDir(), "nowhere")
	s.dispatch("x")
	s.ends(workflow.AttemptFailed, "provider_start")
}
