// Bridges that die while a process tree runs.

package bridge

import (
	"syscall"
	"testing"

	"countersign/contracts/workflow"

	"github.com/stretchr/testify/require"
)

func TestBridgeKilledWhileRunning(t *testing.T) {
	s := newStage(t)
	s.dispatch(work(t, edit("b.txt", "b"), commit("Add b"), worstChild, hangs(true)))
	cmd := s.spawnBridge()
	pids := s.running(1)
	s.kill(cmd)
	require.Eventually(t, func() bool { return !lives(pids[0]) && !lives(pids[1]) }, waitBound, tickEvery, "the guard takes the tree down with the bridge")
	require.Equal(t, workflow.AttemptRunning, s.server.attempt(0).phase)

	s.run()
	s.server.settled(workflow.PhaseBlocked)
	a := s.server.attempt(0)
	require.Equal(t, workflow.AttemptInterrupted, a.phase)
	require.Equal(t, "bridge_crashed", a.reason)
	s.dispatch("Write a note.")
	s.server.settled(workflow.PhaseAccepted)
	s.cleared()
	require.NotEmpty(t, s.repo.git("rev-parse", abandonedRefs+a.id), "what was committed is kept")
}

func TestBridgeAndGuardKilled(t *testing.T) {
	s := newStage(t)
	s.dispatch(work(t, scriptStep{Child: &childStep{Setsid: true, IgnoreSigterm: true, HoldStdout: true}}, hangs(true)))
	cmd := s.spawnBridge()
	pids := s.running(1)
	agent, ok := readStat(pids[1])
	require.True(t, ok)
	// Stopped first, so that neither can clean up after the other.
	s.NoError(syscall.Kill(agent.parent, syscall.SIGSTOP))
	s.kill(cmd)
	s.NoError(syscall.Kill(agent.parent, syscall.SIGKILL))
	require.True(t, lives(pids[0]), "the stray is on its own now")

	s.run()
	s.server.settled(workflow.PhaseBlocked)
	s.dead(pids)
	require.Equal(t, "bridge_crashed", s.server.attempt(0).reason)
	s.cleared()
}
