// Holding a lease: renewing it, and giving it up by our own clock before the server could.

package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"countersign/contracts"
	"countersign/contracts/workflow"
)

const (
	renewShare = 0.28 // of the lease between two renewals: three may fail before the fence
	fenceShare = 0.83 // of the lease after the last good renewal: the rest is for killing the tree
)

// lostError says that the execution is no longer ours. Nothing but stopped may follow.
type lostError struct {
	code   contracts.Code
	reason workflow.Reason
	err    error
}

func (e *lostError) Error() string {
	text := "lease lost: " + string(e.code)
	if e.reason != "" {
		text += " (" + string(e.reason) + ")"
	}
	if e.err != nil {
		text += ": " + e.err.Error()
	}
	return text
}

func (e *lostError) Unwrap() error { return e.err }

// codeSelfFenced is the node's own word; no server sends it.
const codeSelfFenced contracts.Code = "self_fenced"

// lease keeps one execution's lease.
type lease struct {
	client    *Client
	clock     clock
	log       *slog.Logger
	execution string
	fence     workflow.Fence
	length    time.Duration
	margin    time.Duration // how long before an expiry or the deadline the tree must be told to stop

	claimed  stamp
	deadline time.Duration // after claimed

	lose context.CancelCauseFunc

	mu     sync.Mutex
	last   stamp         // start of the last good renewal
	expiry time.Duration // of the lease, after last
}

// newLease starts counting from the moment the claim was sent. The server's times are only ever
// compared with each other, so the node's clock may be wrong.
func newLease(c *Client, clk clock, log *slog.Logger, sent stamp, grace time.Duration, claim *workflow.ClaimAnswer) *lease {
	length := time.Duration(claim.LeaseSeconds * float64(time.Second))
	return &lease{
		client: c, clock: clk, log: log,
		execution: claim.ExecutionID,
		fence:     workflow.Fence{LeaseID: claim.LeaseID, FencingToken: claim.FencingToken},
		length:    length,
		margin:    min(share(length, 1-fenceShare), grace+time.Second),
		claimed:   sent,
		deadline:  claim.DeadlineAt.Sub(claim.ServerTime),
		last:      sent,
		expiry:    claim.LeaseExpiresAt.Sub(claim.ServerTime),
	}
}

func share(d time.Duration, of float64) time.Duration { return time.Duration(float64(d) * of) }

// hold renews until ctx ends or the lease is lost, which cancels the returned context with a
// *lostError as its cause. The function returned ends it and waits.
func (l *lease) hold(ctx context.Context) (context.Context, func()) {
	held, lose := context.WithCancelCause(ctx)
	l.lose = lose
	// Renewing goes on while a node shuts down: the terminal event still needs the lease.
	own, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { l.renew(own) })
	running.Go(func() { l.watch(own) })
	return held, sync.OnceFunc(func() {
		stop()
		running.Wait()
		lose(nil)
	})
}

// renew sends one renewal after the other.
func (l *lease) renew(ctx context.Context) {
	every := share(l.length, renewShare)
	retry := backoff{first: max(every/64, 5*time.Millisecond), most: max(every/8, 20*time.Millisecond)}
	request := fenceCall(l.execution, "renew", l.fence)
	request.timeout = min(tryTimeout, max(every, 50*time.Millisecond))
	for {
		l.mu.Lock()
		due := every - since(l.clock, l.last)
		l.mu.Unlock()
		if pause(ctx, max(due, 0)) != nil {
			return
		}
		var (
			sent   stamp
			answer workflow.RenewAnswer
		)
		err := retry.retry(ctx, func() error {
			sent = now(l.clock)
			err := l.client.try(ctx, request, &answer)
			if err != nil && transient(err) && ctx.Err() == nil {
				l.log.Warn("renewal failed, trying again", "error", err)
			}
			return err
		})
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			l.give(err)
			return
		}
		l.mu.Lock()
		l.last, l.expiry = sent, answer.LeaseExpiresAt.Sub(answer.ServerTime)
		l.mu.Unlock()
	}
}

// give turns a refused renewal into the loss of the lease.
func (l *lease) give(err error) {
	lost := &lostError{code: contracts.CodeOf(err), err: err}
	if s, ok := errors.AsType[*StatusError](err); ok {
		lost.reason = s.Reason
	}
	l.lose(lost)
}

// watch looks at both clocks often, because a timer does not count the time a machine sleeps.
func (l *lease) watch(ctx context.Context) {
	tick := time.NewTicker(min(time.Second, max(l.length/100, 5*time.Millisecond)))
	defer tick.Stop()
	for {
		if err := l.over(); err != nil {
			l.lose(err)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// over is the reason to stop now, or nil.
func (l *lease) over() error {
	if since(l.clock, l.claimed) >= l.deadline-l.margin {
		return &lostError{code: contracts.CodeDeadlineExceeded}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	passed := since(l.clock, l.last)
	if passed >= min(share(l.length, fenceShare), l.expiry-l.margin) {
		return &lostError{code: codeSelfFenced, err: fmt.Errorf("no renewal for %v", passed.Round(time.Millisecond))}
	}
	return nil
}

// left is how long the lease lasts at least, by what the server last confirmed.
func (l *lease) left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(0, l.expiry-since(l.clock, l.last))
}
