// Naming a process tree on paper, and killing what is left of one.

package bridge

import (
	"syscall"
	"time"
)

// processID names a process beyond the reuse of its number.
type processID struct {
	Pid   int    `json:"pid"`
	Start string `json:"start,omitzero"`
	Boot  string `json:"boot,omitzero"`
}

// processMark is what the journal keeps of a process tree.
type processMark struct {
	Marker string    `json:"marker"`
	Guard  processID `json:"guard,omitzero"`
	Agent  processID `json:"agent,omitzero"`
}

// killTree kills what is left of a recorded tree and reports whether nothing is. A process with a
// recorded number but another start time is somebody else's and left alone.
func killTree(m processMark) bool {
	deadline := time.Now().Add(sweepBound)
	for clean := 0; ; {
		var alive []int
		for _, id := range []processID{m.Guard, m.Agent} {
			if id.alive() {
				alive = append(alive, id.Pid)
				// Both lead a group of their own, whose number nobody else can have while they live.
				_ = syscall.Kill(-id.Pid, syscall.SIGKILL)
			}
		}
		for _, pid := range marked(m.Marker) {
			alive = append(alive, pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(alive) == 0 {
			// A fork can slip through one look at /proc, hardly through three.
			if clean++; clean == 3 {
				return true
			}
		} else {
			clean = 0
		}
		if time.Now().After(deadline) {
			return len(alive) == 0
		}
		time.Sleep(10 * time.Millisecond)
	}
}
