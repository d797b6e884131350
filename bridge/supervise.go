// Running the provider: from before its process exists until its tree is proven dead.

package bridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"
)

// outcome is what a provider's process came to.
type outcome struct {
	exit    exit
	report  Report
	started time.Time
}

// supervise runs the provider from start to proven end.
func (a *attempt) supervise(ctx context.Context) (*outcome, error) {
	command, err := a.runtime.Command(a.job)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", failf("runtime_unavailable", "%s", a.plan.Profile.Runtime), err)
	}
	transcript, err := newTranscript(a.path("stream.log"), a.node.token)
	if err != nil {
		return nil, err
	}
	defer transcript.close()
	a.Process = &processMark{Marker: a.ExecutionID + "." + uuid.NewString()}
	if err := a.to(stepSpawning); err != nil {
		return nil, err
	}
	watch := newWatch(a.runtime.Stream(a.job), transcript)
	out := &outcome{started: time.Now()}
	p, err := start(spawn{
		guard: a.node.executable, marker: a.Process.Marker,
		dir: a.job.Dir, scratch: a.dir, command: command, line: watch.line,
	})
	if err != nil {
		if !killTree(*a.Process) {
			return nil, fmt.Errorf("%w: %w", ErrContainment, err)
		}
		return nil, fmt.Errorf("%w: %w", failf("provider_start", "the provider could not be started"), err)
	}
	a.log.Info("provider started", "pid", p.Agent.Pid)
	*a.Process = p.processMark
	err = a.to(stepRunning)
	if err == nil {
		err = a.attend(ctx, p, watch)
	}
	// By itself or by us: from here on the tree is gone or cannot be stopped.
	p.stop(a.patience())
	out.exit, out.report = p.exit, watch.report()
	a.log.Info("provider ended", "exit", out.exit.code, "signal", out.exit.signal, "swept", out.exit.swept, "contained", out.exit.contained)
	if !out.exit.contained {
		a.Uncontained = true
		return nil, errors.Join(ErrContainment, a.save())
	}
	_ = os.WriteFile(a.path("stderr.log"), transcript.redact(p.stderr.Bytes()), 0o600)
	if err := errors.Join(err, a.to(stepStopped)); err != nil {
		return nil, err
	}
	return out, nil
}

// attend tells the server when the session is there and returns when the process has ended, or with
// the reason to end it.
func (a *attempt) attend(ctx context.Context, p *process, w *watch) error {
	select {
	case <-w.session:
	case <-p.ended:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	// A quick provider may have ended already; a result needs the report all the same.
	if session := w.report().Session; session != "" {
		// The server may know of it before its answer is here.
		a.called = true
		if _, err := a.send(ctx, a.starting(session)); err != nil {
			return err
		}
		a.log.Info("provider is running", "session", session)
	}
	select {
	case <-p.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// patience is the time between asking and killing: never beyond what the lease has left.
func (a *attempt) patience() time.Duration { return min(a.node.grace, a.lease.left()/2) }
