// The numbers an operator watches.

package store

import (
	"context"
	"time"

	"countersign/contracts/workflow"

	"github.com/jackc/pgx/v5"
)

// Gauges are counts of what is open now, by the database's clock.
type Gauges struct {
	// Active counts revisions that are not final, by phase.
	Active map[workflow.Phase]int64
	// Offered, Live and Expired count executions; an expired one is live by its row and its lease over.
	Offered, Live, Expired int64
	// OutboxWaiting counts unsent rows, OutboxOldest is how long the oldest has waited.
	OutboxWaiting int64
	OutboxOldest  time.Duration
}

// Gauges reads what is open now; its cost grows with what is open, not with what has ended.
func (s *Store) Gauges(ctx context.Context) (Gauges, error) {
	g := Gauges{Active: map[workflow.Phase]int64{}}
	b := &pgx.Batch{}
	b.Queue(`SELECT phase, count(*) FROM revisions WHERE phase NOT IN ('accepted', 'blocked', 'cancelled') GROUP BY phase`).Query(func(rows pgx.Rows) error {
		var (
			phase workflow.Phase
			n     int64
		)
		_, err := pgx.ForEachRow(rows, []any{&phase, &n}, func() error { g.Active[phase] = n; return nil })
		return err
	})
	b.Queue(`SELECT count(*) FILTER (WHERE state = 'offered'), count(*) FILTER (WHERE state = 'live'),
			count(*) FILTER (WHERE state = 'live' AND lease_expires_at <= clock_timestamp()) FROM executions WHERE state IN ('offered', 'live')`).
		QueryRow(func(row pgx.Row) error { return row.Scan(&g.Offered, &g.Live, &g.Expired) })
	b.Queue(`SELECT count(*), coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0)::float8 FROM outbox WHERE sent_at IS NULL`).
		QueryRow(func(row pgx.Row) error {
			var seconds float64
			err := row.Scan(&g.OutboxWaiting, &seconds)
			g.OutboxOldest = time.Duration(seconds * float64(time.Second))
			return err
		})
	if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
		return g, translate(err)
	}
	return g, nil
}
