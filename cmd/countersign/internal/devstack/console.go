// The log of a development server: everything in a file, and what a person should see on the console.

package devstack

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"countersign/cmd/countersign/internal/term"
)

// openLog makes two loggers, both into DIR/countersign.log: parts shows warnings on the console too,
// progress everything.
func openLog(dir string, console io.Writer, level slog.Level) (parts, progress *slog.Logger, file io.Closer, err error) {
	f, err := os.OpenFile(filepath.Join(dir, "countersign.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, nil, err
	}
	all := slog.NewJSONHandler(f, &slog.HandlerOptions{Level: min(level, slog.LevelInfo)})
	out := &lines{w: console}
	parts = slog.New(slog.NewMultiHandler(all, &consoleHandler{out: out, level: level}))
	progress = slog.New(slog.NewMultiHandler(all, &consoleHandler{out: out, level: slog.LevelInfo}))
	return parts, progress, f, nil
}

// lines writes whole lines.
type lines struct {
	mu sync.Mutex
	w  io.Writer
}

// consoleHandler writes records as a person reads them: the message, then what belongs to it.
type consoleHandler struct {
	out   *lines
	level slog.Level
	attrs string
}

// Enabled implements slog.Handler.
func (h *consoleHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

// Handle implements slog.Handler.
func (h *consoleHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	if r.Level >= slog.LevelWarn {
		b.WriteString(strings.ToLower(r.Level.String()) + ": ")
	}
	b.WriteString(term.Safe(r.Message) + h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		b.WriteString(attrText(a))
		return true
	})
	h.out.mu.Lock()
	defer h.out.mu.Unlock()
	_, err := fmt.Fprintln(h.out.w, b.String())
	return err
}

// WithAttrs implements slog.Handler.
func (h *consoleHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	for _, a := range attrs {
		next.attrs += attrText(a)
	}
	return &next
}

// WithGroup implements slog.Handler; a person needs no groups.
func (h *consoleHandler) WithGroup(string) slog.Handler { return h }

func attrText(a slog.Attr) string {
	return ", " + term.Safe(a.Key) + " " + term.SafeLines(a.Value.Resolve().String())
}
