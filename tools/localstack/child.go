// Child processes: started in their own group, tied to this process's life,
// stopped within a bound, with the reason for an unexpected end kept.

//go:build unix

package localstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// outputGrace is how long a dead child's output pipe is still read: orphaned
// grandchildren may hold it open for ever.
const outputGrace = 500 * time.Millisecond

// childSpec describes a child before it is started.
type childSpec struct {
	name string
	path string
	args []string
	env  []string
	dir  string
	// files become descriptors 3, 4, … of the child.
	files []*os.File
	// account, when set, is who the child runs as.
	account *account
	logPath string
	// deathSignal is what the child gets when this process dies, where the
	// system offers that.
	deathSignal syscall.Signal
}

// account is a user and group id of the system.
type account struct{ uid, gid uint32 }

// child is a running or ended process.
type child struct {
	name     string
	pid      int
	log      *logFile
	done     chan struct{}
	expected atomic.Bool
	state    *os.ProcessState
}

// startChild returns once the program runs, or with the reason it could not be
// run.
func startChild(spec childSpec) (*child, error) {
	log, err := openLog(spec.logPath)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.name, err)
	}
	cmd := exec.Command(spec.path, spec.args...)
	cmd.Env, cmd.Dir, cmd.ExtraFiles = spec.env, spec.dir, spec.files
	cmd.Stdout, cmd.Stderr = log, log
	cmd.WaitDelay = outputGrace
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if spec.account != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: spec.account.uid, Gid: spec.account.gid}
	}
	tieToParent(cmd.SysProcAttr, spec.deathSignal)

	c := &child{name: spec.name, log: log, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The death signal follows the thread that forked, not the process:
		// this thread must neither end nor be handed back before the child has.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		c.pid = cmd.Process.Pid
		started <- nil
		// The outcome is in ProcessState; Wait's own error adds only whether
		// the output pipe had to be given up.
		_ = cmd.Wait()
		c.state = cmd.ProcessState
		log.close()
		close(c.done)
	}()
	if err := <-started; err != nil {
		log.close()
		return nil, fmt.Errorf("start %s: %w", spec.name, err)
	}
	return c, nil
}

// err is nil while the child runs and after a wanted end.
func (c *child) err() error {
	select {
	case <-c.done:
	default:
		return nil
	}
	if c.expected.Load() {
		return nil
	}
	return c.failure()
}

// failure describes the end of a child that has ended.
func (c *child) failure() error {
	return fmt.Errorf("%s (pid %d) ended: %s; the end of %s:\n%s",
		c.name, c.pid, c.state, c.log.path, c.log.lastLines(15))
}

// stop sends sig, waits up to bound or the end of ctx, then kills. The error
// says that it had to.
func (c *child) stop(ctx context.Context, sig syscall.Signal, bound time.Duration) error {
	c.expected.Store(true)
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	c.signal(sig)
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
	}
	c.kill()
	<-c.done
	return fmt.Errorf("%s (pid %d) did not stop by itself and was killed: %w", c.name, c.pid, context.Cause(ctx))
}

// kill ends the child and its group at once.
func (c *child) kill() {
	c.expected.Store(true)
	c.signalTo(-c.pid, syscall.SIGKILL)
}

func (c *child) signal(sig syscall.Signal) { c.signalTo(c.pid, sig) }

func (c *child) signalTo(pid int, sig syscall.Signal) {
	select {
	case <-c.done:
		// The number may belong to somebody else by now.
	default:
		_ = syscall.Kill(pid, sig)
	}
}

// wait returns nil when the child ended with status 0; when ctx ends first the
// child is told to end by sig, and killed with its group if it does not.
func (c *child) wait(ctx context.Context, sig syscall.Signal) error {
	select {
	case <-c.done:
	case <-ctx.Done():
		cause := context.Cause(ctx)
		_ = c.stop(context.WithoutCancel(ctx), sig, quitBound)
		return fmt.Errorf("%s: %w", c.name, cause)
	}
	if !c.state.Success() {
		return c.failure()
	}
	return nil
}

// errEnded marks a child that ended while something waited for it to be ready.
var errEnded = errors.New("ended before it was ready")

// awaitReady polls ready until it returns nil. It gives up when the child ends,
// when ctx ends, or after startBound.
func (c *child) awaitReady(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startBound)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := ready(ctx)
		select {
		case <-c.done:
			return fmt.Errorf("%w: %w", errEnded, c.failure())
		default:
		}
		if err == nil {
			return nil
		}
		select {
		case <-c.done:
			return fmt.Errorf("%w: %w", errEnded, c.failure())
		case <-ctx.Done():
			return fmt.Errorf("%s (pid %d) is not ready: %w; last try: %w; the end of %s:\n%s",
				c.name, c.pid, context.Cause(ctx), err, c.log.path, c.log.lastLines(15))
		case <-tick.C:
		}
	}
}
