// The lease by itself: clocks that sleep and jump, renewals that are slow, lost or refused.

package bridge

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

// crookedClock is the system's clock with offsets.
type crookedClock struct {
	real             systemClock
	mu               sync.Mutex
	monoOff, wallOff time.Duration
}

func (c *crookedClock) mono() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.real.mono() + c.monoOff
}

func (c *crookedClock) wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.real.wall().Add(c.wallOff)
}

func (c *crookedClock) jump(mono, wall time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.monoOff += mono
	c.wallOff += wall
}

// held is a lease whose renewals h answers.
func held(t *testing.T, length, deadline time.Duration, h http.HandlerFunc) (*lease, context.Context, *crookedClock) {
	t.Helper()
	c := newTestClient(t, func(w http.ResponseWriter, r *http.Request) {
		// Only after the body was read does a server notice that the client has gone.
		_, _ = io.Copy(io.Discard, r.Body)
		h(w, r)
	})
	clk := &crookedClock{real: newSystemClock()}
	// The server's clock is an hour off, which must not matter.
	server := time.Now().Add(-time.Hour)
	l := newLease(c, clk, slog.New(slog.DiscardHandler), now(clk), stopGrace, &workflow.ClaimAnswer{
		ExecutionID: "e1", LeaseID: "l", FencingToken: 1, LeaseSeconds: length.Seconds(),
		ServerTime: server, LeaseExpiresAt: server.Add(length), DeadlineAt: server.Add(deadline),
	})
	ctx, release := l.hold(context.Background())
	t.Cleanup(release)
	return l, ctx, clk
}

func renewed(w http.ResponseWriter, length time.Duration) {
	server := time.Now().Add(-time.Hour)
	data, _ := json.Marshal(workflow.RenewAnswer{ServerTime: server, LeaseExpiresAt: server.Add(length), DeadlineAt: server.Add(time.Hour)})
	_, _ = w.Write(data)
}

func lostBy(t *testing.T, ctx context.Context, within time.Duration) *lostError {
	t.Helper()
	select {
	case <-ctx.Done():
	case <-time.After(within):
		require.FailNow(t, "the lease was not lost")
	}
	lost, ok := errors.AsType[*lostError](context.Cause(ctx))
	require.True(t, ok, context.Cause(ctx))
	return lost
}

func TestLeaseIsRenewed(t *testing.T) {
	const length = time.Second
	var renewals atomic.Int32
	var times []time.Time
	done := make(chan struct{})
	_, ctx, _ := held(t, length, time.Hour, func(w http.ResponseWriter, _ *http.Request) {
		times = append(times, time.Now())
		renewed(w, length)
		if renewals.Add(1) == 5 {
			close(done)
		}
	})
	select {
	case <-done:
	case <-ctx.Done():
		require.FailNow(t, "lost", context.Cause(ctx))
	case <-time.After(waitBound):
		require.FailNow(t, "not renewed")
	}
	require.GreaterOrEqual(t, times[4].Sub(times[0]), 4*share(length, renewShare)-50*time.Millisecond)
	require.NoError(t, ctx.Err())
}

func TestLeaseRefused(t *testing.T) {
	_, ctx, _ := held(t, time.Second, time.Hour, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write([]byte(`{"code":"execution_terminal","reason":"cancelled"}`))
	})
	lost := lostBy(t, ctx, waitBound)
	require.Equal(t, contracts.CodeExecutionTerminal, lost.code)
	require.Equal(t, workflow.ReasonCancelled, lost.reason)
}

func TestLeaseRevoked(t *testing.T) {
	_, ctx, _ := held(t, time.Second, time.Hour, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	require.Equal(t, contracts.CodeUnauthenticated, lostBy(t, ctx, waitBound).code)
}

func TestLeaseFencesItself(t *testing.T) {
	const length = 2 * time.Second
	l, ctx, clk := held(t, length, time.Hour, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	require.Equal(t, codeSelfFenced, lostBy(t, ctx, waitBound).code)
	require.GreaterOrEqual(t, since(clk, l.claimed), share(length, fenceShare))
}

func TestLeaseCountsFromTheRequest(t *testing.T) {
	const length = 2 * time.Second
	answered := make(chan time.Time, 100)
	l, ctx, clk := held(t, length, time.Hour, func(w http.ResponseWriter, r *http.Request) {
		// Taken at once, answered late: the time on the way is not the lease's.
		if pause(r.Context(), share(length, 0.2)) == nil {
			renewed(w, length)
			answered <- time.Now()
		}
	})
	select {
	case <-answered:
	case <-ctx.Done():
		require.FailNow(t, "lost", context.Cause(ctx))
	}
	require.Eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.last != l.claimed && since(clk, l.last) >= share(length, 0.2)
	}, waitBound, time.Millisecond)
}

func TestLeaseAfterSuspend(t *testing.T) {
	_, ctx, clk := held(t, time.Minute, time.Hour, func(w http.ResponseWriter, _ *http.Request) { renewed(w, time.Minute) })
	clk.jump(0, 51*time.Second) // the monotonic clock stood still
	require.Equal(t, codeSelfFenced, lostBy(t, ctx, 10*time.Second).code)
}

func TestLeaseAfterClockSteps(t *testing.T) {
	l, ctx, clk := held(t, time.Minute, time.Hour, func(w http.ResponseWriter, _ *http.Request) { renewed(w, time.Minute) })
	clk.jump(0, -10*time.Minute)
	require.NoError(t, l.over(), "a clock set back does not matter")
	clk.jump(51*time.Second, 0)
	require.Equal(t, codeSelfFenced, lostBy(t, ctx, 10*time.Second).code, "and does not prolong the lease")
}

func TestLeaseBounds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		expires, deadline, goodFor time.Duration
		code                       contracts.Code
	}{
		"fresh":                  {90 * time.Second, 15 * time.Minute, 74 * time.Second, codeSelfFenced},
		"claimed again, half":    {45 * time.Second, 15 * time.Minute, 38 * time.Second, codeSelfFenced},
		"capped by the deadline": {40 * time.Second, 40 * time.Second, 33 * time.Second, contracts.CodeDeadlineExceeded},
	} {
		clk := &crookedClock{real: newSystemClock()}
		server := time.Now().Add(-time.Hour)
		l := newLease(nil, clk, nil, now(clk), stopGrace, &workflow.ClaimAnswer{
			LeaseSeconds: 90, ServerTime: server, LeaseExpiresAt: server.Add(c.expires), DeadlineAt: server.Add(c.deadline),
		})
		clk.jump(c.goodFor, 0)
		require.NoError(t, l.over(), name)
		clk.jump(2*time.Second, 0)
		lost, ok := errors.AsType[*lostError](l.over())
		require.True(t, ok, name)
		require.Equal(t, c.code, lost.code, name)
		require.GreaterOrEqual(t, l.left(), stopGrace-time.Second, "%s: time is left to kill the tree", name)
	}
}

func TestSlowRenewalsAreGivenUp(t *testing.T) {
	const length = 5 * time.Second
	var calls atomic.Int32
	_, ctx, _ := held(t, length, time.Hour, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			<-r.Context().Done() // never answers
			return
		}
		renewed(w, length)
	})
	require.Eventually(t, func() bool { return calls.Load() >= 3 }, waitBound, 10*time.Millisecond)
	require.NoError(t, ctx.Err(), "one renewal without an answer costs nothing")
}
