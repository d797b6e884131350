// What Linux offers for children: a signal at the parent's death, and /proc.

package localstack

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

func tieToParent(attr *syscall.SysProcAttr, sig syscall.Signal) { attr.Pdeathsig = sig }

// holders returns the ids of the other processes that have the file open, as
// far as this user may see them.
func holders(path string) []int {
	want, err := os.Stat(path)
	if err != nil {
		return nil
	}
	suffix := string(filepath.Separator) + filepath.Base(path)
	fds, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return nil
	}
	var pids []int
	for _, fd := range fds {
		// The name is compared first: following every link would touch sockets
		// and dead network mounts.
		target, err := os.Readlink(fd)
		if err != nil || len(target) < len(suffix) || target[len(target)-len(suffix):] != suffix {
			continue
		}
		have, err := os.Stat(fd)
		if err != nil || !os.SameFile(want, have) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(fd))))
		if err != nil || pid == os.Getpid() || len(pids) > 0 && pids[len(pids)-1] == pid {
			continue
		}
		pids = append(pids, pid)
	}
	return pids
}

// noneWorksIn says that no process has dir as its working directory, in which
// every PostgreSQL server and each of its children lives.
func noneWorksIn(dir string) bool {
	want, err := os.Stat(dir)
	if err != nil {
		return false
	}
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil || len(links) == 0 {
		return false
	}
	return !slices.ContainsFunc(links, func(link string) bool {
		// One that is dead, or another user's, cannot be followed.
		have, err := os.Stat(link)
		return err == nil && os.SameFile(want, have)
	})
}
