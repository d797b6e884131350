// When a development server is ready.

package devstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"countersign/cmd/countersign/internal/deploy"
)

const (
	// readyBound is how long API and worker may take once the servers run.
	readyBound = 2 * time.Minute
	readyEvery = 50 * time.Millisecond
)

var errLate = errors.New("API and worker did not get ready in time")

// awaitReady waits for the worker first and asks the API only then: it writes a warning for each time
// that it is not ready.
func awaitReady(ctx context.Context, parts *deploy.Parts, url string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyBound, errLate)
	defer cancel()
	for _, ready := range []func(context.Context) error{
		parts.Gateway().WorkerPolls, parts.Store.SignerReady,
		func(ctx context.Context) error { return apiReady(ctx, url) },
	} {
		if err := until(ctx, ready); err != nil {
			return err
		}
	}
	return nil
}

// until repeats f until it returns nil.
func until(ctx context.Context, f func(context.Context) error) error {
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	for {
		err := f(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errLate) {
				return fmt.Errorf("%w: %w", errLate, err)
			}
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func apiReady(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the API is not ready: %s", resp.Status)
	}
	return nil
}
