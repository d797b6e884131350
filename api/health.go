// Whether the process lives and whether it can work.

package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"countersign/contracts"

	"github.com/gin-gonic/gin"
)

// Check is one thing the server needs to do its work. Do returns nil when it is there; only the
// detail of a *contracts.Error is shown.
type Check struct {
	Name string
	Do   func(context.Context) error
}

// checkLimit bounds each check of /readyz.
const checkLimit = 3 * time.Second

// health answers GET /healthz.
type health struct {
	Status string `json:"status"`
}

func (a *API) healthz(*call) (health, error) { return health{"ok"}, nil }

// readiness answers GET /readyz, with 200 when all is well and 503 else.
type readiness struct {
	Ready  bool        `json:"ready"`
	Checks []readyItem `json:"checks"`
}

type readyItem struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitzero"`
}

func (a *API) ready(g *gin.Context) {
	r := readiness{Ready: true, Checks: make([]readyItem, len(a.checks))}
	ctx, cancel := context.WithTimeout(g.Request.Context(), checkLimit)
	defer cancel()
	var wg sync.WaitGroup
	for i, check := range a.checks {
		wg.Go(func() { r.Checks[i] = a.ask(ctx, check) })
	}
	wg.Wait()
	select {
	case <-a.draining:
		r.Checks = append(r.Checks, readyItem{Name: "draining", Detail: "the server is about to stop"})
	default:
	}
	for _, item := range r.Checks {
		r.Ready = r.Ready && item.OK
	}
	status := http.StatusOK
	if !r.Ready {
		status = http.StatusServiceUnavailable
	}
	if err := writeJSON(g, status, mediaJSON, r); err != nil {
		refuse(g, err)
	}
}

func (a *API) ask(ctx context.Context, check Check) readyItem {
	err := check.Do(ctx)
	if err == nil {
		return readyItem{Name: check.Name, OK: true}
	}
	a.log.LogAttrs(ctx, slog.LevelWarn, "not ready", slog.String("check", check.Name), slog.String("error", err.Error()))
	item := readyItem{Name: check.Name, Detail: "failed; the server's log says why"}
	if refusal, ok := errors.AsType[*contracts.Error](err); ok {
		item.Detail = refusal.Detail
	}
	return item
}
