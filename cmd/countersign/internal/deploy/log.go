// The log of a process.

package deploy

import (
	"io"
	"log/slog"

	"countersign/cmd/countersign/internal/term"
)

// Logger makes the logger that the configuration asks for, writing to w.
func (l *Log) Logger(w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: levels[l.LogLevel]}
	if l.LogFormat == "text" || l.LogFormat == "auto" && term.New(w).Terminal() {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

var levels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}
