// What Temporal's SDK logs of itself, without what is no news.

package deploy

import (
	"context"
	"log/slog"
)

// temporalLog passes on what the SDK logs, but not that its polls end when a worker that was told to stop
// stops: it says so as a warning, and not every time.
type temporalLog struct{ slog.Handler }

// Handle drops the SDK's word on its own orderly end.
func (h temporalLog) Handle(ctx context.Context, r slog.Record) error {
	stopping := false
	r.Attrs(func(a slog.Attr) bool {
		stopping = stopping || a.Key == "Error" && a.Value.String() == "worker stopping"
		return !stopping
	})
	if stopping {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs keeps the rule.
func (h temporalLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return temporalLog{h.Handler.WithAttrs(attrs)}
}

// WithGroup keeps the rule.
func (h temporalLog) WithGroup(name string) slog.Handler {
	return temporalLog{h.Handler.WithGroup(name)}
}
