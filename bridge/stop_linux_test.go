// Ends that come from outside: cancel, lost lease, deadline, shutdown, kill.

package bridge

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"countersign/contracts/workflow"

	"github.com/stretchr/testify/require"
)

// worstChild is the hardest stray to catch.
var worstChild = scriptStep{Child: &childStep{Setsid: true, IgnoreSigterm: true, HoldStdout: true, ClearEnvironment: true}}

func hangs(ignoreSigterm bool) scriptStep { return scriptStep{Hang: &hangStep{ignoreSigterm}} }

// running waits for an attempt to run with n stray children and returns all its pids.
func (s *stage) running(n int) []int {
	s.Helper()
	s.server.phaseIs(workflow.PhaseRunning)
	var pids []int
	started := regexp.MustCompile(`provider started.* pid=(\d+)`)
	child := regexp.MustCompile(`"text":"child (\d+)"`)
	require.Eventually(s.T, func() bool {
		pids = nil
		s.server.mu.Lock()
		id := s.server.attempts[len(s.server.attempts)-1].id
		s.server.mu.Unlock()
		stream, _ := os.ReadFile(filepath.Join(s.root, "attempts", id, "stream.log"))
		agents := started.FindAllStringSubmatch(s.log.String(), -1)
		if len(agents) == 0 {
			return false
		}
		for _, m := range append(child.FindAllStringSubmatch(string(stream), -1), agents[len(agents)-1]) {
			pid, err := strconv.Atoi(m[1])
			s.NoError(err)
			pids = append(pids, pid)
		}
		return len(pids) == n+1
	}, waitBound, tickEvery)
	return pids
}

// lives is false for a process that only waits to be reaped, which an orphan may do for long.
func lives(pid int) bool {
	p, ok := readStat(pid)
	return ok && p.state != 'Z' && p.state != 'X'
}

// dead checks that no process of the list runs.
func (s *stage) dead(pids []int) {
	s.Helper()
	for _, pid := range pids {
		require.False(s.T, lives(pid), "process %d is alive", pid)
	}
}

// X3
func TestCancelKillsTheWholeTree(t *testing.T) {
	s := newStage(t)
	s.server.lease = 5 * time.Second
	s.dispatch(work(t, worstChild, worstChild, scriptStep{Child: &childStep{}}, hangs(false)))
	s.run()
	pids := s.running(3)
	s.server.cancel()
	s.server.settled(workflow.PhaseCancelled)
	s.dead(pids)
	a := s.server.attempt(0)
	require.Len(t, a.events, 2, "nothing is handed in after a cancel")
	require.False(t, a.stopped.IsZero(), "the node confirmed")

	// The node is free for the next dispatch.
	s.dispatch("Write a note.")
	s.server.settled(workflow.PhaseAccepted)
	s.cleared()
}

func TestSigtermIgnored(t *testing.T) {
	s := newStage(t)
	s.opts.grace = 300 * time.Millisecond
	s.dispatch(work(t, scriptStep{Child: &childStep{IgnoreSigterm: true}}, hangs(true)))
	s.run()
	pids := s.running(1)
	s.NoError(s.halt())
	s.dead(pids)
	a := s.server.attempt(0)
	require.Equal(t, workflow.AttemptInterrupted, a.phase)
	require.Equal(t, "bridge_shutdown", a.reason)
	require.False(t, a.stopped.IsZero())
	s.cleared()
}

func TestStraysDoNotOutliveAGoodEnd(t *testing.T) {
	s := newStage(t)
	s.dispatch(work(t, worstChild, edit("b.txt", "b"), commit("Add b")))
	s.run()
	s.server.settled(workflow.PhaseAccepted)
	s.NoError(s.halt())
	a := s.server.attempt(0)
	stream, err := os.ReadFile(filepath.Join(s.root, "attempts", a.id, "stream.log"))
	s.NoError(err)
	pid, err := strconv.Atoi(regexp.MustCompile(`"text":"child (\d+)"`).FindStringSubmatch(string(stream))[1])
	s.NoError(err)
	s.dead([]int{pid})
	require.Contains(t, s.repo.git("show", s.server.candidate+":"+evidencePath(a.id)), `"swept_processes": 1`)
}

// L2
func TestRenewalsUnavailable(t *testing.T) {
	s := newStage(t)
	s.server.lease = 3 * time.Second
	s.dispatch(work(t, edit("b.txt", "b"), commit("Add b"), worstChild, hangs(true)))
	var away atomic.Bool
	var confirmed atomic.Int64
	s.server.setFault(func(w http.ResponseWriter, _ *http.Request, verb string, _ []byte) bool {
		if verb == "renew" && !away.Load() {
			confirmed.Store(time.Now().Add(3 * time.Second).UnixNano())
		}
		if away.Load() {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return away.Load()
	})
	s.run()
	pids := s.running(1)
	s.server.await("a renewal", func() bool { return confirmed.Load() != 0 })
	away.Store(true)
	require.Eventually(t, func() bool { return strings.Contains(s.log.String(), "provider ended") }, waitBound, tickEvery)
	s.dead(pids)
	require.Less(t, time.Now().UnixNano(), confirmed.Load(), "stopped before the last confirmed expiry")
	away.Store(false)
	s.server.settled(workflow.PhaseBlocked)
	a := s.server.attempt(0)
	require.Equal(t, workflow.ReasonLeaseExpired, s.server.reason)
	require.Len(t, a.events, 2, "nothing was handed in")
	s.cleared()
	require.NotEmpty(t, s.repo.git("rev-parse", abandonedRefs+a.id), "what was committed is kept")
}

// L3
func TestOneRenewalFails(t *testing.T) {
	s := newStage(t)
	s.server.lease = 3 * time.Second
	s.dispatch(work(t, sleep("3s"), edit("b.txt", "b"), commit("Add b")))
	var renewals atomic.Int32
	s.server.setFault(func(w http.ResponseWriter, _ *http.Request, verb string, _ []byte) bool {
		if verb == "renew" && renewals.Add(1) == 2 {
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}
		return false
	})
	s.run()
	s.server.settled(workflow.PhaseAccepted)
	require.GreaterOrEqual(t, renewals.Load(), int32(3))
	s.cleared()
}

// L4
func TestPreparingTakesLongerThanALease(t *testing.T) {
	s := newStage(t)
	s.server.lease = 2 * time.Second
	s.dispatch(work(t, session(""), sleep("2.5s"), session("late-session"), edit("b.txt", "b"), commit("Add b")))
	s.run()
	s.server.phaseIs(workflow.PhasePreparing)
	s.server.phaseIs(workflow.PhaseRunning)
	a := s.server.attempt(0)
	require.Greater(t, a.expires.Sub(a.claimed), s.server.lease)
	s.server.settled(workflow.PhaseAccepted)
	s.cleared()
}

func TestDeadline(t *testing.T) {
	s := newStage(t)
	s.server.lease, s.server.deadline = 2*time.Second, 4*time.Second
	s.dispatch(work(t, hangs(true)))
	s.run()
	pids := s.running(0)
	s.server.settled(workflow.PhaseBlocked)
	s.dead(pids)
	require.Equal(t, workflow.ReasonDeadlineExceeded, s.server.reason)
	require.Len(t, s.server.attempt(0).events, 2)
	s.cleared()
}

func TestRevokedInTheMiddle(t *testing.T) {
	s := newStage(t)
	s.server.lease = 2 * time.Second
	s.dispatch(work(t, hangs(false)))
	s.run()
	pids := s.running(0)
	s.server.setFault(func(w http.ResponseWriter, _ *http.Request, _ string, _ []byte) bool {
		write(w, refused(http.StatusUnauthorized, "unauthenticated"))
		return true
	})
	require.Eventually(t, func() bool { return strings.Contains(s.log.String(), "no longer ours") }, waitBound, tickEvery)
	s.NoError(s.halt(), "a node that was accepted once does not give up for a 401")
	s.dead(pids)
	s.cleared()
}

func TestGuardKilled(t *testing.T) {
	s := newStage(t)
	s.dispatch(work(t, scriptStep{Child: &childStep{Setsid: true, IgnoreSigterm: true}}, hangs(true)))
	s.run()
	pids := s.running(1)
	agent, ok := readStat(pids[1])
	require.True(t, ok)
	s.NoError(syscall.Kill(agent.parent, syscall.SIGKILL))
	s.server.settled(workflow.PhaseBlocked)
	require.Equal(t, "provider_killed: how it ended is not known", s.server.attempt(0).reason)
	s.dead(pids)
	s.cleared()
}

func TestAgentKilled(t *testing.T) {
	s := newStage(t)
	s.dispatch(work(t, worstChild, hangs(true)))
	s.run()
	pids := s.running(1)
	s.NoError(syscall.Kill(pids[1], syscall.SIGKILL))
	s.server.settled(workflow.PhaseBlocked)
	require.Equal(t, "provider_killed: killed", s.server.attempt(0).reason)
	s.dead(pids)
	s.cleared()
}

func TestContainmentFails(t *testing.T) {
	s := newStage(t)
	// A guard that admits defeat.
	guard := filepath.Join(t.TempDir(), "guard")
	s.NoError(os.WriteFile(guard, []byte(`#!/bin/sh
printf '{"kind":"started","pid":1}\n{"kind":"ended"}\n{"kind":"final","swept":1}\n' >&4
`), 0o700))
	s.opts.Executable = guard
	s.dispatch("x")
	s.run()
	select {
	case err := <-s.done:
		require.ErrorIs(t, err, ErrContainment)
		s.stop = nil
	case <-time.After(waitBound):
		require.FailNow(t, "the node goes on")
	}
	a := s.server.attempt(0)
	require.Equal(t, "containment_failed", a.reason)
	require.True(t, a.stopped.IsZero(), "no word that the tree is gone")
}

func TestPidReuse(t *testing.T) {
	s := newStage(t)
	s.dispatch(work(t, hangs(false)))
	s.run()
	pids := s.running(0)
	id := identity(pids[0])
	require.True(t, id.alive())
	other := id
	other.Start += "0"
	require.False(t, other.alive())
	require.True(t, killTree(processMark{Marker: "nobody", Agent: other, Guard: other}))
	rebooted := id
	rebooted.Boot = "another"
	require.True(t, killTree(processMark{Marker: "nobody", Agent: rebooted}))
	require.True(t, lives(pids[0]), "another process with the number is left alone")
	require.True(t, killTree(processMark{Marker: "nobody", Agent: id}))
	s.server.settled(workflow.PhaseBlocked)
	s.dead(pids)
}
