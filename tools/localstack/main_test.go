// The test binary doubles as a supervisor to be killed or run by another user.

package localstack

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

const (
	supervisorEnv = "LOCALSTACK_TEST_SUPERVISOR"
	// soon bounds what should take a moment, on a machine that may be busy.
	soon = time.Minute
)

func TestMain(m *testing.M) {
	if spec := os.Getenv(supervisorEnv); spec != "" {
		if err := supervise(spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := Main(m)
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// supervised is what a supervisor says on its output once its server is ready.
type supervised struct {
	Pid int
	URL string
}

// supervise runs a server until its input ends.
func supervise(spec string) error {
	kind, dir, _ := strings.Cut(spec, ":")
	ctx, log := context.Background(), slog.New(slog.DiscardHandler)
	var says supervised
	var stop func(context.Context) error
	switch kind {
	case "postgres":
		p, err := StartPostgres(ctx, PostgresOptions{Dir: dir, Log: log})
		if err != nil {
			return err
		}
		says, stop = supervised{Pid: p.Pid(), URL: p.URL(maintenanceDB)}, p.Stop
	case "temporal":
		binary, err := FindTemporal(ctx, log)
		if err != nil {
			return err
		}
		t, err := StartTemporal(ctx, TemporalOptions{Binary: binary, Dir: dir, UIPort: -1, Log: log, SearchAttributes: SearchAttributes})
		if err != nil {
			return err
		}
		says, stop = supervised{Pid: t.Pid(), URL: t.Address()}, t.Stop
	case "stack":
		url, err := shared.postgresURL(ctx)
		if err != nil {
			return err
		}
		says, stop = supervised{Pid: shared.postgres.Pid(), URL: url}, func(context.Context) error { return shared.stop() }
	}
	if err := json.NewEncoder(os.Stdout).Encode(says); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return stop(ctx)
}

// supervisor is a process of this test binary that runs a server.
type supervisor struct {
	cmd   *exec.Cmd
	stdin io.Closer
	out   *bufio.Reader
}

// startSupervisor runs one in a process group of its own; change may alter how.
func startSupervisor(t *testing.T, spec string, change func(*exec.Cmd)) *supervisor {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), supervisorEnv+"="+spec)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if change != nil {
		change(cmd)
	}
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	s := &supervisor{cmd: cmd, stdin: stdin, out: bufio.NewReader(stdout)}
	t.Cleanup(func() { s.kill() })
	return s
}

func (s *supervisor) ready(t *testing.T) supervised {
	t.Helper()
	line, err := s.out.ReadBytes('\n')
	require.NoError(t, err)
	var says supervised
	require.NoError(t, json.Unmarshal(line, &says))
	return says
}

// kill ends the supervisor and its group as kill -9 would.
func (s *supervisor) kill() {
	if s.cmd.ProcessState == nil {
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		_ = s.cmd.Wait()
	}
}

// stop lets it stop its server in order.
func (s *supervisor) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, s.stdin.Close())
	require.NoError(t, s.cmd.Wait())
}

// quiet drops what the servers' starts say.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// writeProgram writes an executable file. No process may be forked meanwhile: it
// would hold the file open for writing, and "text file busy" be the answer to
// running it.
func writeProgram(t *testing.T, path string, data []byte) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	require.NoError(t, os.WriteFile(path, data, 0o755))
}

// rootOnly skips a test that needs to become somebody else.
func rootOnly(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

// linuxOnly skips what is found out through /proc, or rests on the death signal.
func linuxOnly(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux")
	}
}

// gone says that no process has the number, or a dead one that its parent has
// not waited for.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	}
	return strings.Contains(string(stat), ") Z ")
}

func exec1(t *testing.T, url, sql string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

func query1[T any](t *testing.T, url, sql string) T {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	var v T
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&v))
	return v
}

// listeners returns the addresses at which a process accepts connections.
func listeners(t *testing.T, pid int) []string {
	t.Helper()
	linuxOnly(t)
	inodes := map[string]bool{}
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	require.NoError(t, err)
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && strings.HasPrefix(target, "socket:[") {
			inodes[strings.TrimSuffix(strings.TrimPrefix(target, "socket:["), "]")] = true
		}
	}
	var found []string
	for _, table := range []string{"tcp", "tcp6"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		require.NoError(t, err)
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			// State 0A is LISTEN; field 9 is the socket's inode.
			if len(f) > 9 && f[3] == "0A" && inodes[f[9]] {
				found = append(found, table+" "+hexAddress(t, f[1]))
			}
		}
	}
	return found
}

// hexAddress turns the kernel's form of an IPv4 address into the usual one, and
// leaves others as they are.
func hexAddress(t *testing.T, s string) string {
	t.Helper()
	ip, port, _ := strings.Cut(s, ":")
	p, err := strconv.ParseUint(port, 16, 16)
	require.NoError(t, err)
	n, err := strconv.ParseUint(ip, 16, 32)
	if err != nil {
		return s
	}
	return fmt.Sprintf("%s:%d", net.IPv4(byte(n), byte(n>>8), byte(n>>16), byte(n>>24)), p)
}

// inTemp gives a supervisor a temporary directory of its own.
func inTemp(dir string) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "TMPDIR="+dir) }
}

// lockThreadForGood makes the end of the calling goroutine end its thread.
func lockThreadForGood() { runtime.LockOSThread() }
