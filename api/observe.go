// What is noted of every call: a request id, a log line, a measurement; and what a panic turns into.

package api

import (
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"time"

	"countersign/contracts"
	"countersign/store"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
)

// Keys under which a call's circumstances are kept for its log line.
const (
	keyWho       = "who"
	keyCode      = "code"
	keyExecution = "execution"
)

const requestIDHeader = "X-Request-Id"

var saneRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// identify gives the call the id its sender chose, or one of ours. Nothing of an answer is kept by
// anybody in between.
func (a *API) identify(g *gin.Context) {
	id := g.GetHeader(requestIDHeader)
	if !saneRequestID.MatchString(id) {
		id = uuid.NewString()
	}
	h := g.Writer.Header()
	h.Set(requestIDHeader, id)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
}

// observe measures and logs the call once it is answered.
func (a *API) observe(g *gin.Context) {
	start := time.Now()
	end := a.metrics.begin(g.Request.Context())
	defer func() {
		took := time.Since(start)
		end(g.Request.Method, routeOf(g), g.Writer.Status(), took)
		a.log.LogAttrs(g.Request.Context(), levelOf(g), "call", attrsOf(g, took)...)
	}()
	g.Next()
}

// routeOf is the pattern of the call's route; a path nobody serves is no label of its own.
func routeOf(g *gin.Context) string {
	if route := g.FullPath(); route != "" {
		return route
	}
	return "unknown"
}

func levelOf(g *gin.Context) slog.Level {
	switch status, route := g.Writer.Status(), g.FullPath(); {
	case status >= http.StatusInternalServerError:
		return slog.LevelError
	case route == "/healthz", route == "/readyz", route == "/metrics":
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

func attrsOf(g *gin.Context, took time.Duration) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("request", g.Writer.Header().Get(requestIDHeader)), slog.String("method", g.Request.Method),
		slog.String("route", routeOf(g)), slog.Int("status", g.Writer.Status()), slog.Duration("duration", took),
	}
	if v, ok := g.Get(keyWho); ok {
		if who, ok := v.(store.Identity); ok && who.NodeID != "" {
			attrs = append(attrs, slog.String("node", who.NodeID))
		} else if ok {
			attrs = append(attrs, slog.String("user", who.User))
		}
	}
	if v, ok := g.Get(keyExecution); ok {
		if e, ok := v.(store.Execution); ok && e.WorkflowID != "" {
			attrs = append(attrs, slog.String("workflow", e.WorkflowID), slog.String("execution", e.Attempt.ExecutionID))
		}
	}
	if code, ok := g.Get(keyCode); ok {
		attrs = append(attrs, slog.Any("code", code))
	}
	if cause := g.Errors.Last(); cause != nil {
		attrs = append(attrs, slog.String("error", cause.Err.Error()))
	}
	return attrs
}

// recover turns a panic into an internal problem and its stack into a log line.
func (a *API) recover(g *gin.Context) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		if cause == http.ErrAbortHandler {
			panic(cause) // net/http's own way to cut a connection
		}
		a.log.LogAttrs(g.Request.Context(), slog.LevelError, "panic",
			slog.String("request", g.Writer.Header().Get(requestIDHeader)), slog.String("stack", string(debug.Stack())))
		refuse(g, fmt.Errorf("panic: %v: %w", cause, &contracts.Error{Code: contracts.CodeInternal}))
	}()
	g.Next()
}
