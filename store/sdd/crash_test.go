// Recordings that are killed at every step, and many at once: real processes on a real disk.

package sdd

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"countersign/contracts/artifact"
	"countersign/contracts/lineage"

	"github.com/stretchr/testify/require"
)

// The test program is its own recorder: with childVariable set it records, and kills itself at a step.
const childVariable = "SDD_TEST_RECORD"

func TestMain(m *testing.M) {
	if job := os.Getenv(childVariable); job != "" {
		os.Exit(recordAsChild(strings.Split(job, "\n")))
	}
	os.Exit(m.Run())
}

// recordAsChild takes workdir, task ("" to attach), data, the step to die at, 0 for none, and how long a
// file may become, "" for any.
func recordAsChild(job []string) int {
	dieAt, _ := strconv.Atoi(job[3])
	if limit, err := strconv.ParseUint(job[4], 10, 64); err == nil {
		signal.Ignore(syscall.SIGXFSZ)
		syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit})
	}
	count := 0
	step = func(string) {
		if count++; count == dieAt {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	o := Options{Workdir: job[0], Secret: secret}
	var done Recorded
	var err error
	if job[1] == "" {
		done, err = Attach(context.Background(), o, strings.NewReader(job[2]))
	} else {
		output := "out-" + job[1]
		if err = os.WriteFile(filepath.Join(job[0], output), []byte(job[2]), 0o644); err == nil {
			done, err = Record(context.Background(), o, job[1], artifact.Spec{Kind: artifact.Report, OutputPath: output})
		}
	}
	fmt.Println(strings.Join(done.Notes, "\n"))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// recorder is a process that records; at is where it kills itself, limit what a file may have.
func recorder(t testing.TB, dir, task, data string, at int, limit string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childVariable+"="+strings.Join([]string{dir, task, data, strconv.Itoa(at), limit}, "\n"))
	return cmd
}

// killedAt records and dies at a step; false means that there was no such step.
func killedAt(t testing.TB, dir, task, data string, at int) bool {
	t.Helper()
	out, err := recorder(t, dir, task, data, at, "").CombinedOutput()
	if err == nil {
		return false
	}
	require.Contains(t, err.Error(), "killed", "%s", out)
	return true
}

// TestKilledAtEveryStep: after a kill every recorded task verifies as before, or the next recording, of
// whatever task, mends the tree and says so. In the end every entry counts once.
func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before     map[string]string // tasks with their bytes
		task, data string
	}{
		"the first recording": {task: "T", data: "new"},
		"another task":        {before: map[string]string{"A": "a"}, task: "T", data: "new"},
		"other bytes":         {before: map[string]string{"A": "a", "T": "old"}, task: "T", data: "new"},
		"an attachment":       {before: map[string]string{"A": "a"}, data: "new"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at := 1; ; at++ {
				dir := t.TempDir()
				for task, data := range c.before {
					record(t, dir, task, artifact.Report, data)
				}
				if !killedAt(t, dir, c.task, c.data, at) {
					require.Greater(t, at, 8, "there are that many steps")
					break
				}
				broken := false
				for task := range c.before {
					broken = broken || !check(t, dir, task).OK
				}
				next := record(t, dir, "NEXT", artifact.Report, "next")
				if broken {
					require.Contains(t, strings.Join(next.Notes, "\n"), "mended", "step %d", at)
				}
				require.Empty(t, check(t, dir, "NEXT").Failures, "step %d", at)
				for task := range c.before {
					require.Empty(t, check(t, dir, task).Failures, "step %d", at)
				}
				// Whether the line came to be or not, recording again ends at the same entry.
				if c.task != "" {
					again := record(t, dir, c.task, artifact.Report, c.data)
					require.Equal(t, len(c.before) > 1, again.Entry.Parent != "")
					require.Empty(t, check(t, dir, c.task).Failures)
				} else {
					attach(t, dir, c.data)
				}
				require.Empty(t, check(t, dir, "NEXT").Failures)
				require.Empty(t, leftovers(t, dir))
				require.Equal(t, len(c.before)+2, lines(t, dir))
			}
		})
	}
}

// TestKilledWhileMending: what one kill left, the next recorder is killed over, at every third step of it; over
// the first kill's steps every one comes by.
func TestKilledWhileMending(t *testing.T) {
	t.Parallel()
	for first := 1; ; first++ {
		ran := false
		for second := 1 + first%3; ; second += 3 {
			dir := t.TempDir()
			record(t, dir, "T", artifact.Report, "old")
			if !killedAt(t, dir, "T", "new", first) {
				break
			}
			ran = true
			if !killedAt(t, dir, "U", "u", second) {
				break
			}
			record(t, dir, "T", artifact.Report, "new")
			record(t, dir, "U", artifact.Report, "u")
			for _, task := range []string{"T", "U"} {
				require.Empty(t, check(t, dir, task).Failures, "steps %d and %d", first, second)
			}
			require.Empty(t, leftovers(t, dir))
			require.Equal(t, 3, lines(t, dir))
		}
		if !ran {
			require.Greater(t, first, 8)
			return
		}
	}
}

func leftovers(t testing.TB, dir string) (left []string) {
	for path := range state(t, dir) {
		if strings.HasSuffix(path, pending) || strings.HasSuffix(path, incoming) {
			left = append(left, path)
		}
	}
	return left
}

func lines(t testing.TB, dir string) int {
	data, err := os.ReadFile(filepath.Join(dir, directory, lineage.LogPath))
	require.NoError(t, err)
	return strings.Count(string(data), "\n")
}

// TestFilesThatCannotGrow: writes that fail, or are cut short, at every file of a recording.
func TestFilesThatCannotGrow(t *testing.T) {
	t.Parallel()
	failed, torn := 0, 0
	for limit := 50; limit < 2000; limit += 50 {
		dir := t.TempDir()
		record(t, dir, "A", artifact.Report, "a")
		out, err := recorder(t, dir, "B", strings.Repeat("b", 300), 0, strconv.Itoa(limit)).CombinedOutput()
		if err == nil {
			break
		}
		failed++
		require.Contains(t, string(out), "file too large")
		next := record(t, dir, "C", artifact.Report, "c")
		if strings.Contains(strings.Join(next.Notes, "\n"), "torn") {
			torn++
		}
		record(t, dir, "B", artifact.Report, strings.Repeat("b", 300))
		for _, task := range []string{"A", "B", "C"} {
			require.Empty(t, check(t, dir, task).Failures, "limit %d", limit)
		}
		require.Equal(t, 3, lines(t, dir))
		require.Empty(t, leftovers(t, dir))
	}
	require.Greater(t, failed, 10)
	require.Positive(t, torn)
}

// TestTornAnywhere: a last line that is there in part, as a crash of the machine leaves it.
func TestTornAnywhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	record(t, dir, "A", artifact.Report, "a")
	head, err := os.ReadFile(filepath.Join(dir, directory, lineage.HeadPath))
	require.NoError(t, err)
	before, err := os.ReadFile(filepath.Join(dir, directory, lineage.LogPath))
	require.NoError(t, err)
	record(t, dir, "B", artifact.Report, "b")
	after, err := os.ReadFile(filepath.Join(dir, directory, lineage.LogPath))
	require.NoError(t, err)
	write := func(name string, data []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, directory, name), data, 0o644))
	}
	for size := len(before) + 1; size <= len(after); size += 7 {
		write(lineage.HeadPath, head)
		write(lineage.LogPath, after[:size])
		failed := check(t, dir, "A")
		require.False(t, failed.OK)
		done := record(t, dir, "C", artifact.Report, "c")
		require.Contains(t, done.Notes[0], "mended: a torn last line was cut off the log, "+strconv.Itoa(size-len(before))+" bytes")
		require.Empty(t, check(t, dir, "A").Failures)
		require.Empty(t, check(t, dir, "C").Failures)
		require.Equal(t, 2, lines(t, dir))
	}
}

// TestLinesThatNobodySigned: what stands behind the head is taken only when it is a recording's.
func TestLinesThatNobodySigned(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string]func(last lineage.Line) []byte{
		"an unsigned line": func(last lineage.Line) []byte {
			e := lineage.Entry{TaskID: "X", Kind: artifact.Report, ContentHash: lineage.HashOf(nil)}
			chain := lineage.Next(last.Chain, e.Hash())
			return lineage.Line{Entry: e, Chain: chain, OperatorHMAC: lineage.OperatorHMAC(secret, chain)}.Encode()
		},
		"no line":           func(lineage.Line) []byte { return []byte("{}") },
		"the last again":    func(last lineage.Line) []byte { return append(append(last.Encode(), '\n'), last.Encode()...) },
		"a line of letters": func(lineage.Line) []byte { return []byte(strings.Repeat("x", 1<<16)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			done := record(t, dir, "A", artifact.Report, "a")
			path := filepath.Join(dir, directory, lineage.LogPath)
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			last, err := lineage.ParseLine(data[:len(data)-1])
			require.NoError(t, err)
			require.Equal(t, done.Entry, last.Entry)
			require.NoError(t, os.WriteFile(path, append(append(data, lines(last)...), '\n'), 0o644))
			before := state(t, dir)
			place(t, dir, "out", "b")
			_, err = Record(t.Context(), Options{Workdir: dir, Secret: secret}, "B", specOf(artifact.Report))
			require.ErrorContains(t, err, "cannot record here")
			require.Equal(t, before, state(t, dir))
		})
	}
}

// TestEightProcessesAtOnce make one chain, each entry once.
func TestEightProcessesAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var running []*exec.Cmd
	for i := range 8 {
		cmd := recorder(t, dir, fmt.Sprint("T-", i), fmt.Sprint("text ", i), 0, "")
		require.NoError(t, cmd.Start())
		running = append(running, cmd)
	}
	for _, cmd := range running {
		require.NoError(t, cmd.Wait())
	}
	require.Equal(t, 8, lines(t, dir))
	for i := range 8 {
		require.Empty(t, check(t, dir, fmt.Sprint("T-", i)).Failures)
	}
	require.Empty(t, leftovers(t, dir))
}
