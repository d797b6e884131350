// What /metrics tells of the revisions.

package worker

import (
	"context"
	"fmt"
	"time"

	"countersign/contracts/workflow"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// scrapeLimit is how long a scrape may wait for the database.
const scrapeLimit = 2 * time.Second

// phases are those a revision can be open in; all are reported, so that a phase that emptied is 0.
var phases = []workflow.Phase{
	workflow.PhaseOffered, workflow.PhaseClaimed, workflow.PhasePreparing, workflow.PhaseRunning,
	workflow.PhaseAwaitingVerification, workflow.PhaseVerifying,
}

// measure registers the gauges. They are read from the database at each scrape, so every worker tells
// the same and a dashboard takes the maximum. stop takes them back.
func measure(o Options) (stop func(), err error) {
	if o.Meter == nil {
		return func() {}, nil
	}
	m := o.Meter.Meter("countersign")
	var problems []error
	gauge := func(name, help, unit string) metric.Int64ObservableGauge {
		g, err := m.Int64ObservableGauge(name, metric.WithDescription(help), metric.WithUnit(unit))
		problems = append(problems, err)
		return g
	}
	active := gauge("countersign.revisions.active", "Revisions that are not final, by phase.", "{revision}")
	executions := gauge("countersign.executions", "Offered and live executions; expired ones are live by their row.", "{execution}")
	waiting := gauge("countersign.outbox.waiting", "Outbox rows not yet sent.", "{row}")
	oldest, err := m.Float64ObservableGauge("countersign.outbox.oldest", metric.WithDescription("Age of the oldest unsent outbox row."), metric.WithUnit("s"))
	for _, problem := range append(problems, err) {
		if problem != nil {
			return nil, fmt.Errorf("metrics: %w", problem)
		}
	}
	state := func(s string) metric.ObserveOption { return metric.WithAttributes(attribute.String("state", s)) }
	registration, err := m.RegisterCallback(func(ctx context.Context, r metric.Observer) error {
		ctx, cancel := context.WithTimeout(ctx, scrapeLimit)
		defer cancel()
		g, err := o.Store.Gauges(ctx)
		if err != nil {
			return err
		}
		for _, phase := range phases {
			r.ObserveInt64(active, g.Active[phase], metric.WithAttributes(attribute.String("phase", string(phase))))
		}
		r.ObserveInt64(executions, g.Offered, state("offered"))
		r.ObserveInt64(executions, g.Live, state("live"))
		r.ObserveInt64(executions, g.Expired, state("expired"))
		r.ObserveInt64(waiting, g.OutboxWaiting)
		r.ObserveFloat64(oldest, g.OutboxOldest.Seconds())
		return nil
	}, active, executions, waiting, oldest)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return func() { _ = registration.Unregister() }, nil // fails for a stranger's registration only
}
