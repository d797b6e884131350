// Wake-ups of long polls: one LISTEN connection per process, whatever the number of polls.

package api

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// hub knows which polls wait for which node. The zero hub is ready.
type hub struct {
	mu    sync.Mutex
	polls map[string]map[chan struct{}]struct{} // node id → its polls
}

// subscribe returns a channel that holds one token after each wake-up of the node. Subscribe first,
// then query: what is offered in between wakes the poll.
func (h *hub) subscribe(nodeID string) (woken <-chan struct{}, done func()) {
	ch := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.polls == nil {
		h.polls = map[string]map[chan struct{}]struct{}{}
	}
	if h.polls[nodeID] == nil {
		h.polls[nodeID] = map[chan struct{}]struct{}{}
	}
	h.polls[nodeID][ch] = struct{}{}
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.polls[nodeID], ch)
		if len(h.polls[nodeID]) == 0 {
			delete(h.polls, nodeID)
		}
	}
}

func (h *hub) wake(nodeID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	wakeAll(h.polls[nodeID])
}

// wakeEverybody is for a new connection: what was offered while there was none was not heard.
func (h *hub) wakeEverybody() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, polls := range h.polls {
		wakeAll(polls)
	}
}

// waiting are the nodes with a poll.
func (h *hub) waiting() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.polls))
}

func wakeAll(polls map[chan struct{}]struct{}) {
	for ch := range polls {
		select {
		case ch <- struct{}{}:
		default: // it has a token already
		}
	}
}

// relistenAfter is the pause before a broken LISTEN connection is made again.
const relistenAfter = 500 * time.Millisecond

// askEvery is how often the offers of all waiting nodes are asked for besides: a notification may be
// lost with its connection. It is one query, whatever the number of polls.
const askEvery = time.Second

// listen wakes polls until ctx ends: at once by notifications of offers made by any process, and once
// a second by asking.
func (a *API) listen(ctx context.Context) {
	var asking sync.WaitGroup
	asking.Go(func() { a.askForOffers(ctx) })
	defer asking.Wait()
	for ctx.Err() == nil {
		err := a.store.ListenOffers(ctx, a.hub.wakeEverybody, a.hub.wake)
		if ctx.Err() != nil {
			return
		}
		a.log.Warn("offers are not heard of at once", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(relistenAfter):
		}
	}
}

func (a *API) askForOffers(ctx context.Context) {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		waiting := a.hub.waiting()
		if len(waiting) == 0 {
			continue
		}
		offered, err := a.store.OfferedTo(ctx, waiting)
		if err != nil && ctx.Err() == nil {
			a.log.Warn("offers cannot be asked for", "error", err)
		}
		for _, nodeID := range offered {
			a.hub.wake(nodeID)
		}
	}
}
