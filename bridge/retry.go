// Trying again: which errors deserve it and how long to wait in between.

package bridge

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// maxRetryAfter bounds what a server may ask for, so that one bad header cannot park a node.
const maxRetryAfter = 30 * time.Second

// backoff doubles from first to most; each wait is drawn from the upper half, so that nodes that
// were cut off together do not come back together.
type backoff struct{ first, most time.Duration }

func (b backoff) wait(try int, atLeast time.Duration) time.Duration {
	d := b.most
	if try < 30 {
		d = min(b.most, b.first<<try)
	}
	d = d/2 + rand.N(d/2+1)
	return max(d, atLeast)
}

// retry calls try until it succeeds, fails for good, or ctx ends. The last error then comes back
// with the reason for giving up.
func (b backoff) retry(ctx context.Context, try func() error) error {
	for n := 0; ; n++ {
		err := try()
		if err == nil || !transient(err) {
			return err
		}
		if pause(ctx, b.wait(n, asked(err))) != nil {
			return fmt.Errorf("%w (gave up: %w)", err, context.Cause(ctx))
		}
	}
}

// asked is how long the server wants to be left alone.
func asked(err error) time.Duration {
	if s, ok := errors.AsType[*StatusError](err); ok {
		return s.RetryAfter
	}
	return 0
}

// transient reports whether the outcome of a call is unknown or may be another one next time.
func transient(err error) bool {
	if s, ok := errors.AsType[*StatusError](err); ok {
		return s.transient()
	}
	return !errors.Is(err, errBadAnswer)
}

// pause waits for d or the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
