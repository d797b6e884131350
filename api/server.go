// The HTTP server around the API: its time-outs and its end.

package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	readHeaderTimeout = 5 * time.Second
	// readTimeout bounds what no handler reads, such as the body of a GET; it is above every call.
	readTimeout = time.Minute
	idleTimeout = 2 * time.Minute
	// writeTimeout leaves room for a long poll of 30 s and the call around it.
	writeTimeout   = 45 * time.Second
	maxHeaderBytes = 64 << 10
	// drainTimeout is above callLimit: every call but a long poll, which ends at once, gets its answer.
	drainTimeout = 15 * time.Second
)

// Serve answers on l, and hears of offers that other processes make, until ctx ends; then the API is
// not ready, no new connection is taken and calls under way get drainTimeout to end. The error is nil
// after such an end when all calls got their answer.
func (a *API) Serve(ctx context.Context, l net.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	listening := make(chan struct{})
	go func() { defer close(listening); a.listen(ctx) }()
	defer func() { stop(); <-listening }()
	server := &http.Server{
		Handler:           a,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	a.Drain()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	err := server.Shutdown(ctx)
	if err != nil {
		server.Close()
	}
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
