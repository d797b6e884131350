// The sweeper: it settles what nobody else has. One leads, by a lock; two are harmless.

package worker

import (
	"context"
	"time"

	"countersign/contracts/workflow"
	"countersign/store"
	"countersign/workflows"
)

type sweeper struct {
	Options
	gateway *workflows.Gateway
}

const (
	sweepBatch   = 50
	actorSweeper = "sweeper"
	// expiryGrace leaves the first word to Temporal's own time-out, a second after the expiry.
	expiryGrace = time.Second
	// payloadAge is how old a staged body must be before it can be nobody's.
	payloadAge = time.Hour
)

func (s *sweeper) run(ctx context.Context) {
	for {
		_, err := s.Store.Lead(ctx, s.lead)
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("sweeping was interrupted", "error", err)
		}
		if pause(ctx, s.SweepEvery) {
			return
		}
	}
}

func (s *sweeper) lead(ctx context.Context) {
	for {
		for _, step := range []func(context.Context) error{s.expire, s.close, s.findLost, s.payloads} {
			if err := step(ctx); err != nil && ctx.Err() == nil {
				s.Log.Warn("sweep", "error", err)
			}
		}
		if pause(ctx, s.SweepEvery) {
			return
		}
	}
}

// expire settles live executions whose lease is over, also those whose activity never started.
func (s *sweeper) expire(ctx context.Context) error {
	expired, err := s.Store.ExpiredExecutions(ctx, expiryGrace, sweepBatch)
	if err != nil {
		return err
	}
	for _, e := range expired {
		out, err := s.gateway.DoOrCommit(ctx, e.WorkflowID, workflow.Command{
			Kind: workflow.CommandExpire, ExecutionID: e.ExecutionID, ActivityID: e.ActivityID, Actor: actorSweeper,
		})
		if err != nil {
			return err
		}
		if out.Step != nil {
			s.Log.Info("expired", "workflow", e.WorkflowID, "execution", e.ExecutionID, "reason", out.Step.Reason)
		}
	}
	return nil
}

// close tells workflows whose revision is final without their knowing, and notes those that closed.
func (s *sweeper) close(ctx context.Context) error {
	open, err := s.Store.FinalButOpen(ctx, s.CloseAfter, sweepBatch)
	if err != nil {
		return err
	}
	for _, r := range open {
		closed, err := s.gateway.Closed(ctx, r.WorkflowID)
		if err != nil {
			return err
		}
		if !closed {
			if err := s.gateway.CatchUp(ctx, r.WorkflowID); err != nil {
				s.Log.Warn("a final revision's workflow does not close", "workflow", r.WorkflowID, "error", err)
			}
			continue
		}
		if err := s.Store.WorkflowClosed(ctx, r.WorkflowID); err != nil {
			return err
		}
	}
	return nil
}

// findLost blocks active revisions whose workflow Temporal no longer runs, terminated or forgotten. A
// Temporal that cannot be asked proves nothing.
func (s *sweeper) findLost(ctx context.Context) error {
	active, err := s.Store.ActiveToCheck(ctx, s.LostAfter, sweepBatch)
	if err != nil {
		return err
	}
	for _, r := range active {
		if err := s.blockIfLost(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

func (s *sweeper) blockIfLost(ctx context.Context, r store.OpenRevision) error {
	closed, err := s.gateway.Closed(ctx, r.WorkflowID)
	if err != nil || !closed {
		return err
	}
	out, err := s.Store.CommitNext(ctx, r.WorkflowID, workflow.Command{
		Kind: workflow.CommandBlock, Reason: workflow.ReasonOrchestrationLost, Actor: actorSweeper,
	})
	if err == nil && out.Step != nil {
		s.Log.Warn("blocked: its workflow was lost", "workflow", r.WorkflowID)
	}
	return err
}

func (s *sweeper) payloads(ctx context.Context) error {
	if err := s.Store.SweepPayloads(ctx, payloadAge, sweepBatch); err != nil {
		return err
	}
	return s.Store.SweepBlobs(ctx, payloadAge, sweepBatch)
}
