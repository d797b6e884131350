// Containment where the system offers no more than process groups.

//go:build !linux

package bridge

import (
	"errors"
	"syscall"
)

func adoptOrphans() error { return nil }

func dieWithParent(*syscall.SysProcAttr) {}

// leftovers is the agent's process group, as one target.
func (w *warden) leftovers() []int { return []int{-w.pid} }

// groupGone reports whether nobody is left in the agent's group.
func groupGone(pgid int) bool { return errors.Is(syscall.Kill(-pgid, 0), syscall.ESRCH) }
