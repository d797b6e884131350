// Containment on Linux: orphans come to the guard, and /proc shows the whole tree.

package bridge

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes this process the parent of every descendant whose own parent dies.
func adoptOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// dieWithParent has the kernel kill the agent should its guard be killed.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// leftovers are the live descendants of the guard.
func (w *warden) leftovers() []int { return descendants(os.Getpid()) }

// groupGone needs no check of its own here: the group's members were all children or descendants.
func groupGone(int) bool { return true }

// descendants are the processes below pid that have not ended.
func descendants(pid int) []int {
	children := map[int][]procStat{}
	for _, p := range processes() {
		children[p.parent] = append(children[p.parent], p)
	}
	var found []int
	for queue := []int{pid}; len(queue) > 0; queue = queue[1:] {
		for _, c := range children[queue[0]] {
			queue = append(queue, c.pid)
			if c.state != 'Z' && c.state != 'X' {
				found = append(found, c.pid)
			}
		}
	}
	return found
}
