// Telling the server: written down first, sent as written, repeated until there is an answer.

package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
)

// lateBound is how long a node that shuts down still tries to be heard.
const lateBound = 10 * time.Second

// gone are the refusals after which nothing of this execution can be handed in any more.
var gone = map[contracts.Code]bool{
	contracts.CodeFenced: true, contracts.CodeLeaseExpired: true, contracts.CodeDeadlineExceeded: true,
	contracts.CodeExecutionTerminal: true, contracts.CodeUnauthenticated: true, contracts.CodeForbidden: true,
	contracts.CodeNotFound: true, contracts.CodeNodeRevoked: true,
	contracts.CodeAccountNotAllowed: true,
}

// send hands in the next event and waits for the answer. A refusal uses up no sequence number.
func (a *attempt) send(ctx context.Context, ev workflow.Event) (*workflow.EventAnswer, error) {
	if a.Pending != nil {
		// The event before may have been recorded although its answer was never seen; only its own
		// bytes can find out.
		if _, err := a.resend(ctx); err != nil && !isRefused(err) {
			return nil, err
		}
	}
	ev.Fence, ev.Sequence = a.lease.fence, a.Sequence+1
	if err := workflow.Validate(&ev); err != nil {
		return nil, fmt.Errorf("%w: %w", failf("event_invalid", "%v", err), err)
	}
	body, err := json.Marshal(ev)
	if err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	a.Pending, a.Terminal = body, ev.State.Terminal()
	if err := a.save(); err != nil {
		return nil, err
	}
	return a.resend(ctx)
}

// resend sends the pending event as it was written down.
func (a *attempt) resend(ctx context.Context) (*workflow.EventAnswer, error) {
	answer, err := a.node.client.Event(ctx, a.ExecutionID, a.Pending)
	switch code := contracts.CodeOf(err); {
	case err == nil:
		a.Sequence, a.Pending, a.Terminal = answer.Sequence, nil, false
		return answer, a.save()
	case transient(err) || errors.Is(err, errBadAnswer):
		// Nobody knows whether it was recorded; the bytes stay pending.
		return nil, err
	case gone[code]:
		a.Pending, a.Terminal = nil, false
		return nil, errors.Join(&lostError{code: code, err: err}, a.save())
	default:
		a.Pending, a.Terminal = nil, false
		return nil, errors.Join(fmt.Errorf("%w: %w", failf("event_refused", "%s", code), err), a.save())
	}
}

// isRefused reports whether an event was refused without ending the execution.
func isRefused(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && f.code == "event_refused"
}

// settle sends the terminal event if there is one, gives the node's word that the tree is dead, moves
// the branch if the result was taken, and clears up. A broken containment is passed on.
func (a *attempt) settle(life context.Context, terminal *workflow.Event, broken error) error {
	ctx, cancel := outlive(life, a.node.late)
	defer cancel()
	var answer *workflow.EventAnswer
	if terminal != nil {
		answer = a.conclude(ctx, terminal)
	}
	a.release()
	if broken != nil {
		return broken
	}
	if a.Pending != nil && life.Err() != nil {
		a.log.Warn("nobody knows whether the last event was taken, the next start asks again")
		return nil
	}
	if answer != nil && a.Candidate != "" && answer.WorkflowPhase != workflow.PhaseBlocked {
		a.moveBranch(ctx)
	}
	if err := a.to(stepReported); err != nil {
		return err
	}
	a.postStopped(ctx)
	return a.clear(ctx)
}

// conclude sends the terminal event; a result or refusal that the server does not take becomes a
// failure, but for a contract violation, which has ended the attempt already. The
// loss of the lease does not end the sending: a renewal refused because our own event has ended the
// execution looks just the same.
func (a *attempt) conclude(ctx context.Context, terminal *workflow.Event) *workflow.EventAnswer {
	// Beyond its deadline the server has settled the execution without us.
	ctx, cancel := context.WithTimeout(ctx, a.lease.deadline+a.lease.length)
	defer cancel()
	if err := a.to(stepReporting); err != nil {
		a.log.Error("cannot write the journal", "error", err)
	}
	answer, err := a.send(ctx, *terminal)
	if isRefused(err) && contracts.CodeOf(err) != contracts.CodeContractViolation && terminal.Reason == nil {
		a.log.Warn("result was not taken", "error", err)
		a.Candidate = ""
		answer, err = a.send(ctx, *ended(workflow.EventFailed, reasonOf(err)))
	}
	if err != nil {
		a.log.Warn("terminal event was not taken", "state", terminal.State, "error", err)
		return nil
	}
	a.log.Info("attempt ended", "state", terminal.State, "phase", answer.WorkflowPhase, "reason", answer.Reason)
	return answer
}

// postStopped says that the tree is gone. It is the server's record of what this node knows anyway,
// so it is given up in time.
func (a *attempt) postStopped(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, a.lease.length+a.node.late)
	defer cancel()
	notYet := backoff{first: 100 * time.Millisecond, most: 2 * time.Second}
	for n := 0; ; n++ {
		_, err := a.node.client.Stopped(ctx, a.ExecutionID, a.lease.fence)
		if contracts.CodeOf(err) != contracts.CodeStateConflict {
			if err != nil {
				a.log.Warn("the server did not take our word that the tree is gone", "error", err)
			}
			return
		}
		// We gave up before the server did; it will notice by its own clock.
		if pause(ctx, notYet.wait(n, 0)) != nil {
			return
		}
	}
}

func (a *attempt) moveBranch(ctx context.Context) {
	if a.Branch == nil {
		return
	}
	if err := a.repo.advance(ctx, a.Branch, a.Candidate); err != nil {
		a.log.Warn("branch was not moved, the candidate is kept under its own ref",
			"branch", a.Branch.Name, "candidate", a.Candidate, "ref", candidateRefs+a.ExecutionID, "error", err)
		return
	}
	a.log.Info("branch moved", "branch", a.Branch.Name, "candidate", a.Candidate)
}

// clear removes the worktree and the scratch space and closes the record.
func (a *attempt) clear(ctx context.Context) error {
	if err := a.removeTree(ctx); err != nil {
		// The record stays open, so the next start tries again.
		a.log.Warn("cannot clear up", "error", err)
		return nil
	}
	makeWritable(a.dir)
	if err := a.dropScratch(); err != nil {
		a.log.Warn("cannot clear up", "error", err)
	}
	if err := a.to(stepDone); err != nil {
		return err
	}
	return a.node.prune()
}

// outlive is ctx with a second life of d after its end.
func outlive(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	detach := context.AfterFunc(ctx, func() {
		if pause(late, d) == nil {
			cancel(context.Cause(ctx))
		}
	})
	return late, func() {
		detach()
		cancel(nil)
	}
}
