// The relay: it sends what the outbox still holds. Any number may run at once.

package worker

import (
	"context"
	"errors"
	"time"

	"countersign/contracts"
	"countersign/contracts/workflow"
	"countersign/store"
	"countersign/workflows"
)

type relay struct {
	Options
	gateway *workflows.Gateway
}

const (
	relayBatch   = 20
	actorRelay   = "relay"
	maxRelayWait = time.Minute
)

func (r *relay) run(ctx context.Context) {
	for {
		rows, err := r.Store.TakeOutbox(ctx, relayBatch)
		if err != nil && ctx.Err() == nil {
			r.Log.Warn("the outbox cannot be read", "error", err)
		}
		for _, row := range rows {
			r.send(ctx, row)
		}
		if len(rows) < relayBatch && pause(ctx, r.RelayEvery) {
			return
		}
		if ctx.Err() != nil {
			return
		}
	}
}

func (r *relay) send(ctx context.Context, row store.OutboxRow) {
	log := r.Log.With("kind", row.Kind, "workflow", row.WorkflowID, "node", row.NodeID)
	err := r.deliver(ctx, row)
	if err == nil {
		if err = r.Store.OutboxSent(ctx, row.ID); err != nil {
			log.Warn("the outbox row was sent but not marked; it will be sent again", "error", err)
		}
		return
	}
	if ctx.Err() != nil {
		return // the row's lock ends by itself
	}
	wait := min(time.Second<<min(row.Attempts, 6), maxRelayWait)
	log.Warn("the outbox row was not sent", "error", err, "again_in", wait)
	if err := r.Store.OutboxFailed(ctx, row.ID, err.Error(), wait); err != nil {
		log.Warn("the outbox row's failure was not noted", "error", err)
	}
}

func (r *relay) deliver(ctx context.Context, row store.OutboxRow) error {
	switch row.Kind {
	case store.OutboxStart:
		start, err := r.Store.StartOf(ctx, row.WorkflowID)
		if err != nil {
			return err
		}
		return r.gateway.Start(ctx, start)
	case store.OutboxCatchUp:
		err := r.gateway.CatchUp(ctx, row.WorkflowID)
		if errors.Is(err, workflows.ErrClosed) || errors.Is(err, workflows.ErrExhausted) {
			return nil // nobody is left to catch up; the sweeper looks after what is not final
		}
		return err
	case store.OutboxRevocation:
		return r.revoke(ctx, row.NodeID)
	}
	return contracts.Refuse(contracts.CodeInternal, "unknown outbox row %q", row.Kind)
}

// revoke blocks what rests on authority that is gone, without waiting for the node to call.
func (r *relay) revoke(ctx context.Context, nodeID string) error {
	lost, err := r.Store.LostAuthorities(ctx, nodeID)
	if err != nil {
		return err
	}
	for _, l := range lost {
		_, err := r.gateway.DoOrCommit(ctx, l.WorkflowID, workflow.Command{
			Kind: workflow.CommandBlock, ExecutionID: l.ExecutionID, Reason: l.Reason, Actor: actorRelay,
		})
		if err != nil {
			return err
		}
	}
	return nil
}
