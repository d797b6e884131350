// One agent's process tree, from start to proven end.

package bridge

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
)

const (
	startBound = 30 * time.Second // for the guard to say that the agent runs
	drainBound = 2 * time.Second  // for output to end once the tree is gone
)

// spawn describes a process tree before it exists.
type spawn struct {
	guard   string // program with the hidden subcommand
	marker  string
	dir     string
	scratch string
	command Command
	line    func(line []byte, cut bool) // called for each line of standard output
}

// exit is how an agent and its tree ended.
type exit struct {
	code      int
	signal    string
	known     bool // the guard told how the agent ended
	swept     int
	contained bool
}

// process is a running tree.
type process struct {
	processMark
	cmd     *exec.Cmd
	control *os.File
	stderr  *ring
	killing sync.Once
	ended   chan struct{} // closed when exit is set
	exit    exit
}

// start runs the tree. It returns once the agent runs.
func start(s spawn) (*process, error) {
	stdin, err := unlinked(s.scratch, s.command.Stdin)
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	var pipes pipes
	if err := pipes.open(); err != nil {
		return nil, err
	}
	cmd := exec.Command(s.guard, append([]string{CommandGuard, "--", s.command.Path}, s.command.Args...)...)
	cmd.Dir = s.dir
	cmd.Env = agentEnvironment(s.scratch, s.marker, s.command.Env)
	cmd.ExtraFiles = []*os.File{pipes.control.r, pipes.status.w, stdin, pipes.stdout.w, pipes.stderr.w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Start()
	pipes.closeTheirs()
	if err != nil {
		pipes.closeOurs()
		return nil, fmt.Errorf("start guard: %w", err)
	}

	p := &process{
		processMark: processMark{Marker: s.marker, Guard: identity(cmd.Process.Pid)},
		cmd:         cmd,
		control:     pipes.control.w,
		stderr:      newRing(maxStderr),
		ended:       make(chan struct{}),
	}
	drain := readAll(pipes.stdout.r, pipes.stderr.r, s.line, p.stderr)
	reports := make(chan guardReport, 4)
	go readReports(pipes.status.r, reports)
	first, err := firstReport(reports)
	if err != nil {
		p.kill()
	} else {
		p.Agent = identity(first.Pid)
	}
	go p.follow(reports, drain)
	if err != nil {
		<-p.ended
		return nil, err
	}
	return p, nil
}

// readReports ends with the guard, which alone holds the other end.
func readReports(status *os.File, reports chan<- guardReport) {
	defer close(reports)
	defer status.Close()
	lines := bufio.NewScanner(status)
	for lines.Scan() {
		var r guardReport
		if json.Unmarshal(lines.Bytes(), &r) == nil {
			reports <- r
		}
	}
}

func firstReport(reports <-chan guardReport) (guardReport, error) {
	timer := time.NewTimer(startBound)
	defer timer.Stop()
	select {
	case r, ok := <-reports:
		switch {
		case !ok:
			return r, errors.New("the guard ended before it started the agent")
		case r.Kind != "started":
			return r, errors.New(r.Error)
		}
		return r, nil
	case <-timer.C:
		return guardReport{}, errors.New("the guard does not answer")
	}
}

// follow collects how the tree ends.
func (p *process) follow(reports <-chan guardReport, drain func()) {
	final := false
	for r := range reports {
		switch r.Kind {
		case "ended":
			p.exit.code, p.exit.signal, p.exit.known = r.Exit, r.Signal, true
		case "final":
			p.exit.swept, p.exit.contained, final = r.Swept, r.Contained, true
		}
	}
	// How the guard itself ended does not matter; what it said does.
	_ = p.cmd.Wait()
	p.control.Close()
	if !final {
		// Somebody killed the guard. What carries the marker is still ours.
		p.exit.contained = killTree(p.processMark)
	}
	drain()
	close(p.ended)
}

// stop asks the agent to end, and has its tree killed after grace. It returns when the tree is gone
// or has proved unkillable.
func (p *process) stop(grace time.Duration) {
	fmt.Fprintf(p.control, "stop %d\n", grace.Milliseconds())
	timer := time.NewTimer(grace + sweepBound + 5*time.Second)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
		p.kill()
		<-p.ended
	}
}

// kill takes the guard away; follow then does its work.
func (p *process) kill() { p.killing.Do(func() { _ = p.cmd.Process.Kill() }) }
