// What the other Unix systems offer for children: no signal at the parent's
// death, and lsof instead of /proc.

//go:build unix && !linux

package localstack

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// tieToParent has nothing to offer here: a child that outlives its parent is
// found and stopped by the next start on its directory.
func tieToParent(*syscall.SysProcAttr, syscall.Signal) {}

// holders returns the ids of the other processes that have the file open, as
// far as this user may see them.
func holders(path string) []int {
	// lsof exits with 1 when it found nothing or not everything.
	out, _ := exec.Command("lsof", "-t", "--", path).Output()
	var pids []int
	for _, field := range strings.Fields(string(out)) {
		if pid, err := strconv.Atoi(field); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// noneWorksIn would say that no process has dir as its working directory; what
// cannot be known here is left to PostgreSQL's own judgement.
func noneWorksIn(string) bool { return false }
