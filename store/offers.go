// Offers to a node, and the wake-up of its long polls.

package store

import (
	"context"

	"countersign/contracts/workflow"

	"github.com/jackc/pgx/v5"
)

// offersChannel is notified with the node's id in the transaction that makes an offer.
const offersChannel = "countersign_offers"

// Offers are the executions offered to an active node it may still work for; a paused node gets none.
func (s *Store) Offers(ctx context.Context, nodeID string) ([]workflow.Offer, error) {
	rows, err := s.pool.Query(ctx, `SELECT e.id, e.task_id, e.workflow_id, e.purpose, e.offered_at
		FROM executions e JOIN nodes n ON n.id = e.node_id JOIN node_projects p ON p.node_id = e.node_id AND p.project_id = e.project_id
		WHERE e.node_id = $1 AND e.state = 'offered' AND e.kind = 'workflow' AND n.status = 'active'`, nodeID)
	if err != nil {
		return nil, translate(err)
	}
	offers, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (o workflow.Offer, err error) {
		err = row.Scan(&o.ExecutionID, &o.TaskID, &o.WorkflowID, &o.Purpose, &o.OfferedAt)
		return o, err
	})
	if err != nil {
		return nil, translate(err)
	}
	return offers, nil
}

// OfferedTo are those of the nodes that something is offered to.
func (s *Store) OfferedTo(ctx context.Context, nodeIDs []string) ([]string, error) {
	rows, err := s.pool.Query(ctx, `SELECT node_id FROM executions WHERE node_id = ANY($1) AND state = 'offered'`, nodeIDs)
	if err != nil {
		return nil, translate(err)
	}
	offered, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, translate(err)
	}
	return offered, nil
}

// ListenOffers calls wake with a node's id for each offer made anywhere, until ctx ends or the
// connection breaks. ready is called once the listening has begun: what was offered before it is for
// the caller to query.
func (s *Store) ListenOffers(ctx context.Context, ready func(), wake func(nodeID string)) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return translate(err)
	}
	// A connection that has listened is not given back: its subscription would leak to others.
	raw := conn.Hijack()
	defer raw.Close(context.WithoutCancel(ctx))
	if _, err := raw.Exec(ctx, `LISTEN `+offersChannel); err != nil {
		return translate(err)
	}
	ready()
	for {
		n, err := raw.WaitForNotification(ctx)
		if err != nil {
			return translate(err)
		}
		wake(n.Payload)
	}
}
