// Children that do not go willingly, logs that grow, locks that outlive.

package localstack

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func startScript(t *testing.T, body string, files ...*os.File) *child {
	t.Helper()
	c, err := startChild(childSpec{
		name: "script", path: script(t, body), dir: "/", files: files,
		logPath: filepath.Join(t.TempDir(), "log"), deathSignal: syscall.SIGKILL,
	})
	require.NoError(t, err)
	t.Cleanup(c.kill)
	return c
}

func TestChildThatIgnoresTheSignalIsKilled(t *testing.T) {
	t.Parallel()
	// Its own child is in its group, and holds its output open.
	c := startScript(t, `trap "" TERM; sleep 600 & echo "sleeps as $!"; while :; do wait; done`)
	require.Eventually(t, func() bool { return c.log.contains("sleeps as") }, soon, pollEvery)
	err := c.stop(t.Context(), syscall.SIGTERM, 100*time.Millisecond)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "was killed")
	require.NoError(t, c.err())
	require.NoError(t, c.stop(t.Context(), syscall.SIGTERM, soon), "a second stop")
}

func TestChildThatEndsSaysWhy(t *testing.T) {
	t.Parallel()
	c := startScript(t, `i=0; while [ $i -lt 40 ]; do i=$((i+1)); echo "line $i"; done; exit 5`)
	<-c.done
	require.ErrorContains(t, c.err(), "exit status 5")
	require.ErrorContains(t, c.err(), "line 40")
	require.NotContains(t, c.err().Error(), "line 20\n")
	require.ErrorContains(t, c.err(), c.log.path)
}

func TestChildThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	_, err := startChild(childSpec{name: "none", path: "/no/such/program", logPath: filepath.Join(t.TempDir(), "log")})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// The death signal follows the thread that forked: a child must survive the end
// of every goroutine but its own.
func TestChildOutlivesTheGoroutineThatAskedForIt(t *testing.T) {
	t.Parallel()
	asked := make(chan *child)
	go func() { asked <- startScript(t, "exec sleep 600") }()
	c := <-asked
	for range 100 {
		ended := make(chan struct{})
		go func() {
			lockThreadForGood()
			close(ended)
		}()
		<-ended
	}
	require.NoError(t, c.err())
	require.False(t, gone(c.pid))
}

func TestLogIsCapped(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	l, err := openLog(path)
	require.NoError(t, err)
	line := []byte(strings.Repeat("x", 1<<20-1) + "\n")
	for range 3 * logCap >> 20 {
		n, err := l.Write(line)
		require.NoError(t, err)
		require.Len(t, line, n)
	}
	_, err = l.Write([]byte("the end\n"))
	require.NoError(t, err)
	l.close()
	for _, p := range []string{path, path + ".1"} {
		info, err := os.Stat(p)
		require.NoError(t, err)
		require.LessOrEqual(t, info.Size(), int64(logCap))
	}
	require.LessOrEqual(t, len(l.tail), tailCap)
	require.True(t, strings.HasSuffix(l.lastLines(2), "\nthe end"))
}

func TestOrphansAreWaitedForAndEnded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := lockDir(t.Context(), dir, syscall.SIGTERM, quiet())
	require.NoError(t, err)
	_, err = lockDir(t.Context(), dir, syscall.SIGTERM, quiet())
	require.ErrorIs(t, err, ErrInUse)

	orphan := startScript(t, "exec sleep 600", first.alive)
	first.passed()
	first.release()
	require.Equal(t, []int{orphan.pid}, holders(filepath.Join(dir, "alive.lock")))
	second, err := lockDir(t.Context(), dir, syscall.SIGTERM, quiet())
	require.NoError(t, err)
	<-orphan.done

	// One that does not listen is killed in the end; not before ctx, if that is
	// sooner.
	orphan = startScript(t, `trap "" TERM; echo set; while :; do sleep 1; done`, second.alive)
	require.Eventually(t, func() bool { return orphan.log.contains("set") }, soon, pollEvery)
	second.passed()
	second.release()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = lockDir(ctx, dir, syscall.SIGTERM, quiet())
	require.ErrorIs(t, err, ErrInUse)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	third, err := lockDir(t.Context(), dir, syscall.SIGTERM, quiet())
	require.NoError(t, err)
	third.release()
	<-orphan.done
}
