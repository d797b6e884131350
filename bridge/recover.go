// After a crash: kill what was left running, say so if anybody still listens, resume nothing.

package bridge

import (
	"context"
	"errors"
	"fmt"

	"countersign/contracts/workflow"
)

// recover settles every attempt that an earlier bridge on this root did not finish.
func (n *Node) recover(ctx context.Context) error {
	all, err := journals(n.root)
	if err != nil {
		return err
	}
	for _, j := range all {
		if j.Step == stepDone {
			continue
		}
		n.log.Warn("found an unfinished attempt", "execution", j.ExecutionID, "step", j.Step)
		if j.Claim == nil {
			// No process exists. Either the claim never arrived, then it is made now, or it did, then
			// the same claim id gives the same lease.
			if err := n.claim(ctx, j); errors.Is(err, ErrContainment) || ctx.Err() != nil {
				return err
			} else if err != nil {
				n.log.Warn("the claim came to nothing", "execution", j.ExecutionID, "error", err)
			}
			continue
		}
		if err := n.newAttempt(j, now(n.clock)).abandon(ctx); err != nil {
			return err
		}
	}
	return n.sweepPlains()
}

// abandon ends an attempt whose bridge died.
func (a *attempt) abandon(life context.Context) error {
	if a.Process != nil && !killTree(*a.Process) {
		return fmt.Errorf("execution %s: %w", a.ExecutionID, ErrContainment)
	}
	ctx, cancel := outlive(life, a.node.late)
	defer cancel()
	if a.Repository != "" {
		a.repo = &repository{git: a.node.git, dir: a.Repository}
	}
	var answer *workflow.EventAnswer
	if a.Step != stepReported {
		answer = a.lastWord(ctx)
	}
	if a.Pending != nil && life.Err() != nil {
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

// lastWord repeats an event whose answer was never seen, for it may have been recorded, and ends the
// execution as interrupted unless that event did.
func (a *attempt) lastWord(ctx context.Context) *workflow.EventAnswer {
	ctx, cancel := context.WithTimeout(ctx, a.lease.length)
	defer cancel()
	if a.Pending != nil && a.Terminal {
		answer, err := a.resend(ctx)
		if err == nil {
			return answer
		}
		if !isRefused(err) {
			a.log.Warn("the last event was not taken", "error", err)
			return nil
		}
	}
	a.Candidate = ""
	if _, err := a.send(ctx, *ended(workflow.EventInterrupted, "bridge_crashed")); err != nil {
		a.log.Warn("cannot report the interruption", "error", err)
	}
	return nil
}
