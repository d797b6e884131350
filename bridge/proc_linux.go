// Reading /proc: who is whose child, since when, and with which marker.

package bridge

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// procStat is the part of /proc/<pid>/stat that matters here.
type procStat struct {
	pid, parent int
	state       byte
	start       string // clock ticks since boot; with the boot id it names a process for ever
}

// processes lists what can be read; a process that ends meanwhile is left out.
func processes() []procStat {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var all []procStat
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, ok := readStat(pid); ok {
			all = append(all, p)
		}
	}
	return all
}

func readStat(pid int) (procStat, bool) {
	data, err := os.ReadFile(procPath(pid, "stat"))
	if err != nil {
		return procStat{}, false
	}
	// The program's name stands in parentheses and may hold anything, parentheses included.
	end := bytes.LastIndexByte(data, ')')
	if end < 0 {
		return procStat{}, false
	}
	rest := strings.Fields(string(data[end+1:]))
	if len(rest) < 20 || len(rest[0]) != 1 {
		return procStat{}, false
	}
	parent, err := strconv.Atoi(rest[1])
	if err != nil {
		return procStat{}, false
	}
	return procStat{pid: pid, parent: parent, state: rest[0][0], start: rest[19]}, true
}

func procPath(pid int, name string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), name)
}

// identity names a running process so that a later one with its number is not taken for it.
func identity(pid int) processID {
	p, ok := readStat(pid)
	if !ok {
		return processID{}
	}
	return processID{Pid: pid, Start: p.start, Boot: bootID()}
}

// alive reports whether exactly this process still runs.
func (id processID) alive() bool {
	if id.Pid <= 0 || id.Start == "" || id.Boot != bootID() {
		return false
	}
	p, ok := readStat(id.Pid)
	return ok && p.start == id.Start && p.state != 'Z' && p.state != 'X'
}

func bootID() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// marked are the live processes that carry an attempt's marker, and their descendants.
func marked(marker string) []int {
	want := []byte(markerVariable + "=" + marker)
	found := map[int]bool{}
	for _, p := range processes() {
		if p.state == 'Z' || p.state == 'X' || p.pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile(procPath(p.pid, "environ"))
		if err != nil {
			continue
		}
		for variable := range bytes.SplitSeq(env, []byte{0}) {
			if bytes.Equal(variable, want) {
				found[p.pid] = true
				for _, below := range descendants(p.pid) {
					found[below] = true
				}
				break
			}
		}
	}
	var pids []int
	for pid := range found {
		pids = append(pids, pid)
	}
	return pids
}
