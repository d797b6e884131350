// The steps of a scenario, good and bad.

package bridge

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
)

// play does the steps in order.
func (a *agent) play(steps []scriptStep) error {
	for i, s := range steps {
		if err := a.step(s); err != nil {
			if _, stop := errors.AsType[exitStatus](err); stop {
				return err
			}
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

func (a *agent) step(s scriptStep) error {
	switch {
	case s.Edit != nil:
		return a.write(*s.Edit)
	case s.Delete != nil:
		return a.inTree(func(r *os.Root) error { return r.RemoveAll(*s.Delete) })
	case s.Link != nil:
		return a.inTree(func(r *os.Root) error { return r.Symlink(s.Link.Target, s.Link.Path) })
	case s.Commit != nil:
		return a.commit(*s.Commit)
	case s.Sleep != nil:
		d, err := time.ParseDuration(*s.Sleep)
		time.Sleep(d)
		return err
	case s.Hang != nil:
		hang(s.Hang.IgnoreSigterm)
	case s.Emit != nil:
		return a.emit(*s.Emit)
	case s.Crash != nil:
		return a.crash(*s.Crash)
	case s.Dirty != nil:
		return a.spoil(*s.Dirty)
	case s.Child != nil:
		return a.child(*s.Child)
	case s.Session != nil:
		a.print(syntheticEvent{Type: "session", SessionID: *s.Session})
	case s.Environment != nil:
		env := slices.Sorted(slices.Values(append(os.Environ(), os.Args...)))
		return a.write(editStep{Path: *s.Environment, Content: strings.Join(env, "\n") + "\n"})
	case s.Summary != nil:
		a.answer.Summary = *s.Summary
	case s.Completion != nil:
		a.answer.Completion = s.Completion
	case s.Refuse != nil:
		a.answer.Refusal = s.Refuse
	case s.Verdict != nil:
		return a.judge(s.Verdict)
	case s.Results != nil:
		a.answer.Results = s.Results
	}
	return nil
}

// inTree gives access to the worktree and to nothing outside, whatever a path or link says: a
// scenario comes from whoever may dispatch.
func (a *agent) inTree(do func(*os.Root) error) error {
	r, err := os.OpenRoot(a.dir)
	if err != nil {
		return err
	}
	defer r.Close()
	return do(r)
}

func (a *agent) write(e editStep) error {
	mode := fs.FileMode(0o644)
	if e.Mode != "" {
		bits, err := strconv.ParseUint(e.Mode, 8, 9)
		if err != nil {
			return fmt.Errorf("mode %q: %w", e.Mode, err)
		}
		mode = fs.FileMode(bits)
	}
	return a.inTree(func(r *os.Root) error {
		if dir := path.Dir(e.Path); dir != "." {
			if err := r.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
		if err := r.WriteFile(e.Path, []byte(e.Content), mode); err != nil {
			return err
		}
		return r.Chmod(e.Path, mode)
	})
}

func (a *agent) emit(e emitStep) error {
	out := a.stdout
	if e.Stderr {
		out = a.stderr
	}
	line := e.Text + strings.Repeat("x", max(0, e.Bytes-len(e.Text))) + "\n"
	_, err := io.WriteString(out, line)
	return err
}

func (a *agent) crash(c crashStep) error {
	if c.AfterResult {
		a.print(syntheticEvent{Type: "result", OK: true, Answer: a.answer})
	}
	if c.Signal != 0 {
		if err := syscall.Kill(os.Getpid(), syscall.Signal(c.Signal)); err != nil {
			return err
		}
		hang(false)
	}
	return exitStatus(c.Exit)
}

// hang never returns.
func hang(ignoreSigterm bool) {
	if ignoreSigterm {
		signal.Ignore(syscall.SIGTERM)
	}
	for {
		time.Sleep(time.Hour)
	}
}

// child starts this program again as a stray process.
func (a *agent) child(c childStep) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	job, err := json.Marshal(syntheticJob{Child: &c})
	if err != nil {
		return err
	}
	cmd := exec.Command(self, CommandSyntheticAgent)
	cmd.Stdin = strings.NewReader(string(job))
	if c.HoldStdout {
		cmd.Stdout = os.Stdout
	}
	if c.ClearEnvironment {
		cmd.Env = []string{}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: c.Setsid}
	if err := cmd.Start(); err != nil {
		return err
	}
	a.print(syntheticEvent{Type: "note", Text: "child " + strconv.Itoa(cmd.Process.Pid)})
	return nil
}

// dirtyWays leave a worktree in a state that is no result. The program knows the plain one; tests
// add the ways of an agent that hides what it did.
var dirtyWays = map[string]func(*agent) error{
	"open": func(a *agent) error { return a.scribble("left-over.txt") },
}

func (a *agent) spoil(name string) error {
	way, ok := dirtyWays[name]
	if !ok {
		return fmt.Errorf("no such way to be dirty: %q", name)
	}
	return way(a)
}

func (a *agent) scribble(file string) error {
	return a.write(editStep{Path: file, Content: "left over\n"})
}
