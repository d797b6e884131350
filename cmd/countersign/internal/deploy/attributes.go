// The search attributes that Temporal's namespace needs.

package deploy

import (
	"context"
	"log/slog"

	"countersign/workflows"
)

// EnsureSearchAttributes registers what revisions set.
func (t *Temporal) EnsureSearchAttributes(ctx context.Context, log *slog.Logger) error {
	c, err := t.Client(nil, log)
	if err != nil {
		return err
	}
	defer c.Close()
	return workflows.EnsureSearchAttributes(ctx, c, t.TemporalNamespace)
}
