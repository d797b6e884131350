// Two clocks that fail differently: one stops while the machine sleeps, the other may be set.

package bridge

import "time"

// clock tells time in both ways.
type clock interface {
	// mono grows steadily from an arbitrary start but may stand still while the machine sleeps.
	mono() time.Duration
	// wall is the time of day, which may jump.
	wall() time.Time
}

// stamp is a moment on both clocks.
type stamp struct {
	mono time.Duration
	wall time.Time
}

func now(c clock) stamp { return stamp{c.mono(), c.wall()} }

// since is the larger of what the two clocks say has passed: a lease that either of them holds for
// over is treated as over.
func since(c clock, s stamp) time.Duration { return max(c.mono()-s.mono, c.wall().Sub(s.wall)) }

type systemClock struct{ start time.Time }

func newSystemClock() systemClock { return systemClock{time.Now()} }

func (c systemClock) mono() time.Duration { return time.Since(c.start) }

// wall drops the monotonic reading, which Sub would prefer.
func (systemClock) wall() time.Time { return time.Now().Round(0) }
