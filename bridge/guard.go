// The guard: a process between the bridge and one agent that owns the agent's whole process tree. On
// Linux every orphan of the tree becomes its child, so "no child left" is the kernel's own proof that
// the tree is gone; and when the bridge dies, the guard notices and takes the tree down.

package bridge

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
)

// The guard's descriptors besides the usual three. The agent gets the last three as its own.
const (
	guardControl = 3 + iota // read: "stop <milliseconds>"; its end means the bridge is gone
	guardStatus             // write: guardReport lines
	guardStdin
	guardStdout
	guardStderr
)

// guardReport is one line of the guard to the bridge.
type guardReport struct {
	Kind string `json:"kind"` // started, failed, ended, final
	// Pid is the agent's, in started.
	Pid int `json:"pid,omitzero"`
	// Error says why the agent could not be started.
	Error string `json:"error,omitzero"`
	// Exit and Signal are how the agent itself ended.
	Exit   int    `json:"exit,omitzero"`
	Signal string `json:"signal,omitzero"`
	// Swept counts the processes that outlived the agent; Contained says that all are gone.
	Swept     int  `json:"swept,omitzero"`
	Contained bool `json:"contained,omitzero"`
}

const (
	// stopGrace is what an agent gets between SIGTERM and SIGKILL.
	stopGrace = 5 * time.Second
	// sweepBound is how long the guard goes on killing what is left.
	sweepBound = 10 * time.Second
)

// warden is a running guard.
type warden struct {
	pid    int                     // of the agent, and its process group
	ended  chan syscall.WaitStatus // of the agent
	empty  chan struct{}           // closed when there is no child left
	status io.Writer
}

// guard runs args as the agent and stays until its tree is gone.
func guard(args []string) int {
	// The agent's death signal follows this thread, which lives as long as the process.
	runtime.LockOSThread()
	for fd := guardControl; fd <= guardStderr; fd++ {
		syscall.CloseOnExec(fd)
	}
	w := &warden{
		ended:  make(chan syscall.WaitStatus, 1),
		empty:  make(chan struct{}),
		status: os.NewFile(guardStatus, "status"),
	}
	if len(args) < 2 || args[0] != "--" {
		w.report(guardReport{Kind: "failed", Error: "no program to run"})
		return 64
	}
	if err := adoptOrphans(); err != nil {
		w.report(guardReport{Kind: "failed", Error: err.Error()})
		return 1
	}
	stops := w.listen(os.NewFile(guardControl, "control"))
	if err := w.start(args[1], args[1:]); err != nil {
		w.report(guardReport{Kind: "failed", Error: err.Error()})
		return 1
	}
	go w.reap()

	status := w.wait(stops)
	exit := guardReport{Kind: "ended", Exit: status.ExitStatus()}
	if status.Signaled() {
		exit.Exit, exit.Signal = 0, status.Signal().String()
	}
	w.report(exit)
	swept, contained := w.sweep()
	w.report(guardReport{Kind: "final", Swept: swept, Contained: contained})
	return 0
}

func (w *warden) report(r guardReport) {
	line, err := json.Marshal(r)
	if err != nil {
		return
	}
	// A bridge that no longer listens is told by the end of its own pipe.
	_, _ = w.status.Write(append(line, '\n'))
}

// start runs the agent in a process group of its own, with the guard's environment and directory.
func (w *warden) start(path string, argv []string) error {
	attr := &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(attr)
	pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{guardStdin, guardStdout, guardStderr},
		Sys:   attr,
	})
	for _, fd := range []int{guardStdin, guardStdout, guardStderr} {
		// Were they left open here, the end of the agent's output would never show.
		syscall.Close(fd)
	}
	if err != nil {
		return fmt.Errorf("cannot run the agent: %w", err)
	}
	w.pid = pid
	w.report(guardReport{Kind: "started", Pid: pid})
	return nil
}

// listen turns orders, signals and the bridge's death into grace periods.
func (w *warden) listen(control *os.File) <-chan time.Duration {
	stops := make(chan time.Duration, 8)
	send := func(grace time.Duration) {
		select {
		case stops <- grace:
		default: // the first orders are enough
		}
	}
	// Notify rather than Ignore: an ignored signal would stay ignored in the agent.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	go func() {
		for range signals {
			send(stopGrace)
		}
	}()
	go func() {
		lines := bufio.NewScanner(control)
		for lines.Scan() {
			ms, err := strconv.Atoi(strings.TrimPrefix(lines.Text(), "stop "))
			if err == nil && ms >= 0 {
				send(time.Duration(ms) * time.Millisecond)
			}
		}
		send(0)
	}()
	return stops
}

// reap waits for every child, the agent's adopted descendants among them.
func (w *warden) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil: // ECHILD: no child is left
			close(w.empty)
			return
		case pid == w.pid:
			w.ended <- status
		}
	}
}

// wait returns how the agent ended, by itself or by our hand.
func (w *warden) wait(stops <-chan time.Duration) syscall.WaitStatus {
	var grace time.Duration
	select {
	case status := <-w.ended:
		return status
	case grace = <-stops:
	}
	if grace > 0 {
		_ = syscall.Kill(-w.pid, syscall.SIGTERM)
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	for {
		select {
		case status := <-w.ended:
			return status
		case again := <-stops:
			timer.Reset(min(again, grace))
		case <-timer.C:
			_ = syscall.Kill(-w.pid, syscall.SIGKILL)
			return <-w.ended
		}
	}
}

// sweep kills what outlived the agent until nothing is left.
func (w *warden) sweep() (swept int, contained bool) {
	bound := time.NewTimer(sweepBound)
	defer bound.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	seen := map[int]bool{}
	for {
		select {
		case <-w.empty:
			return len(seen), groupGone(w.pid)
		default:
		}
		for _, pid := range w.leftovers() {
			seen[pid] = true
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		select {
		case <-w.empty:
		case <-tick.C:
		case <-bound.C:
			return len(seen), false
		}
	}
}
