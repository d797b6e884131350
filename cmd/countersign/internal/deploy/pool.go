// The connection pool's state as metrics.

package deploy

import (
	"countersign/cmd/countersign/internal/telemetry"
	"countersign/store"

	"github.com/prometheus/client_golang/prometheus"
)

// MeasurePool adds the pool's connections to a process's metrics.
func MeasurePool(tel *telemetry.Telemetry, st *store.Store) error {
	for state, read := range map[string]func() float64{
		"acquired": func() float64 { return float64(st.Stat().AcquiredConns()) },
		"idle":     func() float64 { return float64(st.Stat().IdleConns()) },
		"max":      func() float64 { return float64(st.Stat().MaxConns()) },
	} {
		gauge := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name:        "countersign_database_connections",
			Help:        "Connections to PostgreSQL by state; max is how many there may be.",
			ConstLabels: prometheus.Labels{"state": state},
		}, read)
		if err := tel.Registry.Register(gauge); err != nil {
			return err
		}
	}
	return nil
}
