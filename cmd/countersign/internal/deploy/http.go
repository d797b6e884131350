// A listener and its orderly end.

package deploy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// drainBound is how long requests under way may take after the end was asked for: a call to the API
// waits 8 s at most, a long poll is told to end.
const drainBound = 12 * time.Second

// Listen opens the listener of one of the parts.
func Listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}

// serve runs a server until ctx ends, then lets the requests under way finish.
func serve(ctx context.Context, l net.Listener, s *http.Server, log *slog.Logger) error {
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainBound)
	defer cancel()
	err := s.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		log.Warn("requests did not end in time", "listener", l.Addr().String())
		err = s.Close()
	}
	if err != nil {
		return fmt.Errorf("stop serving %s: %w", l.Addr(), err)
	}
	return nil
}
