// PostgreSQL through starts, stops and every kind of crash.

package localstack

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func startTestPostgres(t *testing.T, dir string) *Postgres {
	t.Helper()
	p, err := StartPostgres(t.Context(), PostgresOptions{Dir: dir, Log: quiet(), Fast: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Stop(context.Background())) })
	return p
}

func stopNow(t *testing.T, p *Postgres) {
	t.Helper()
	require.NoError(t, p.Stop(t.Context()))
	select {
	case <-p.Done():
	default:
		require.Fail(t, "Done is open after Stop")
	}
	require.NoError(t, p.Err())
	require.True(t, gone(p.Pid()))
}

func requireNoLeftovers(t *testing.T, dir string) {
	t.Helper()
	for _, pattern := range []string{"initdb-*", "*.new"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		require.NoError(t, err)
		require.Empty(t, found)
	}
}

func TestPostgresKeepsDataPortAndPassword(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "with a space", "postgres")
	p, err := StartPostgres(t.Context(), PostgresOptions{Dir: dir, Log: quiet()})
	require.NoError(t, err)
	url := p.URL("postgres")
	exec1(t, url, "create table kept (n int)")
	exec1(t, url, "insert into kept values (7)")
	require.Equal(t, "on", query1[string](t, url, "show fsync"))
	require.Equal(t, "UTF8", query1[string](t, url, "show server_encoding"))
	require.Equal(t, "200", query1[string](t, url, "show max_connections"))
	require.Empty(t, query1[string](t, url, "show unix_socket_directories"))
	require.NoError(t, p.Err())
	stopNow(t, p)
	require.NoError(t, p.Stop(t.Context()), "a second stop")
	requireNoLeftovers(t, dir)

	p = startTestPostgres(t, dir)
	require.Equal(t, url, p.URL("postgres"))
	require.Equal(t, 7, query1[int](t, url, "select n from kept"))
	require.Equal(t, "off", query1[string](t, url, "show fsync"))

	for _, name := range []string{"password", "port", "postgres.log"} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), name)
	}
}

func TestPostgresRefusesOtherPasswords(t *testing.T) {
	t.Parallel()
	url := PostgresURL(t)
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	config.Password = "guess"
	_, err = pgx.ConnectConfig(t.Context(), config)
	require.ErrorContains(t, err, "28P01")
}

func TestPostgresListensLocallyOnly(t *testing.T) {
	t.Parallel()
	p := startTestPostgres(t, t.TempDir())
	require.Equal(t, []string{"tcp 127.0.0.1:" + strconv.Itoa(p.server.port)}, listeners(t, p.Pid()))
}

func TestPostgresBelowADirectoryClosedToOthers(t *testing.T) {
	t.Parallel()
	rootOnly(t)
	closed := t.TempDir()
	require.NoError(t, os.Chmod(closed, 0o700))
	dir := filepath.Join(closed, "a", "b")
	p := startTestPostgres(t, dir)
	info, err := os.Stat(fmt.Sprintf("/proc/%d", p.Pid()))
	require.NoError(t, err)
	require.NotZero(t, info.Sys().(*syscall.Stat_t).Uid)
	require.FileExists(t, filepath.Join(dir, "data", "PG_VERSION"))
	// Every child, and a reading of the settings anew, must find the directory.
	url := p.URL("postgres")
	exec1(t, url, "alter system set work_mem = '7MB'")
	exec1(t, url, "select pg_reload_conf()")
	require.Eventually(t, func() bool { return query1[string](t, url, "show work_mem") == "7MB" }, soon, pollEvery)
	exec1(t, url, "create database other")
	exec1(t, p.URL("other"), "create table t as select generate_series(1, 100000) n")
	exec1(t, p.URL("other"), "vacuum analyze t")
	exec1(t, url, "checkpoint")
}

func TestPostgresAsAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	rootOnly(t)
	acc := &syscall.Credential{Uid: 65534, Gid: 65534}
	// Neither the test's directory nor its binary is open to that user.
	home, err := os.MkdirTemp("", "localstack-user-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(home)) })
	require.NoError(t, os.Chown(home, int(acc.Uid), int(acc.Gid)))
	self, err := os.Executable()
	require.NoError(t, err)
	program, err := os.ReadFile(self)
	require.NoError(t, err)
	binary := filepath.Join(home, "supervisor")
	writeProgram(t, binary, program)
	require.NoError(t, os.Chmod(home, 0o700))

	as := func(cmd *exec.Cmd) {
		cmd.Path, cmd.Dir = binary, home
		cmd.SysProcAttr.Credential = acc
	}
	dir := filepath.Join(home, "postgres")
	s := startSupervisor(t, "postgres:"+dir, as)
	says := s.ready(t)
	exec1(t, says.URL, "create table kept (n int)")
	s.kill()
	s = startSupervisor(t, "postgres:"+dir, as)
	again := s.ready(t)
	require.Equal(t, says.URL, again.URL)
	require.Zero(t, query1[int](t, again.URL, "select count(*) from kept"))
	s.stop(t)
	require.True(t, gone(again.Pid))
	info, err := os.Stat(filepath.Join(dir, "data"))
	require.NoError(t, err)
	require.Equal(t, acc.Uid, info.Sys().(*syscall.Stat_t).Uid)
}

func TestPostgresAfterItsOwnKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startTestPostgres(t, dir)
	url := p.URL("postgres")
	exec1(t, url, "create table kept (n int)")

	// A query that never looks up keeps its process, and the shared memory, for
	// as long as nobody ends it.
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	busy := make(chan error, 1)
	go func() {
		_, err := conn.Exec(context.Background(), "select count(*) from generate_series(1, 1000000000000)")
		busy <- err
	}()
	require.Eventually(t, func() bool {
		return query1[int](t, url, "select count(*) from pg_stat_activity where query like '%generate_series(1, 1000%' and pid <> pg_backend_pid()") == 1
	}, soon, pollEvery)

	require.NoError(t, syscall.Kill(p.Pid(), syscall.SIGKILL))
	<-p.Done()
	require.ErrorContains(t, p.Err(), "signal: killed")
	require.ErrorContains(t, p.Err(), "ready to accept connections", "the log's end")

	p = startTestPostgres(t, dir)
	require.Equal(t, url, p.URL("postgres"))
	require.Zero(t, query1[int](t, url, "select count(*) from kept"))
	require.Error(t, <-busy)

	p.Kill()
	<-p.Done()
	require.NoError(t, p.Err(), "a wanted end")
	p = startTestPostgres(t, dir)
	require.Zero(t, query1[int](t, p.URL("postgres"), "select count(*) from kept"))
}

func TestPostgresAfterItsSupervisorsKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startSupervisor(t, "postgres:"+dir, nil)
	says := s.ready(t)
	exec1(t, says.URL, "create table kept (n int)")
	for range 3 {
		s.kill()
		s = startSupervisor(t, "postgres:"+dir, nil)
		again := s.ready(t)
		require.Equal(t, says.URL, again.URL)
		require.True(t, gone(says.Pid))
		require.Zero(t, query1[int](t, again.URL, "select count(*) from kept"))
		says.Pid = again.Pid
	}
	s.kill()
	linuxOnly(t)
	require.Eventually(t, func() bool { return gone(says.Pid) }, soon, pollEvery, "the server outlives its supervisor")
}

func TestPostgresKilledWhileItIsMade(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// Killed at ever later stages, known by what is on disk.
	for _, stage := range []string{"password", "initdb-*", "initdb-*/PG_VERSION", "initdb-*/base/1/pg_filenode.map", "data"} {
		s := startSupervisor(t, "postgres:"+dir, nil)
		require.Eventually(t, func() bool {
			found, err := filepath.Glob(filepath.Join(dir, stage))
			return err == nil && len(found) > 0
		}, soon, time.Millisecond, stage)
		s.kill()
	}
	p := startTestPostgres(t, dir)
	exec1(t, p.URL("postgres"), "create table t (n int)")
	requireNoLeftovers(t, dir)
}

func TestPostgresSecondStarterIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	type outcome struct {
		p   *Postgres
		err error
	}
	var wg sync.WaitGroup
	outcomes := make(chan outcome, 4)
	for range cap(outcomes) {
		wg.Go(func() {
			p, err := StartPostgres(t.Context(), PostgresOptions{Dir: dir, Log: quiet(), Fast: true})
			outcomes <- outcome{p, err}
		})
	}
	wg.Wait()
	close(outcomes)
	var running []*Postgres
	for o := range outcomes {
		if o.err == nil {
			running = append(running, o.p)
			continue
		}
		require.ErrorIs(t, o.err, ErrInUse)
		require.ErrorContains(t, o.err, dir)
	}
	require.Len(t, running, 1)
	_, err := StartPostgres(t.Context(), PostgresOptions{Dir: dir, Log: quiet()})
	require.ErrorIs(t, err, ErrInUse)
	require.ErrorContains(t, err, "process "+strconv.Itoa(os.Getpid()))
	require.NoError(t, ping(t.Context(), running[0].URL("postgres")))
	stopNow(t, running[0])
}

func TestPostgresRunByHandIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stopNow(t, startTestPostgres(t, dir))

	acc, err := serverAccount(filepath.Join(dir, "data"))
	require.NoError(t, err)
	data, err := os.Open(filepath.Join(dir, "data"))
	require.NoError(t, err)
	defer data.Close()
	none, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer none.Close()
	bin, err := findPostgres(t.Context(), 0)
	require.NoError(t, err)
	c := &cluster{dir: t.TempDir(), bin: bin, account: acc, data: data}
	port, err := freePort()
	require.NoError(t, err)
	byHand, err := c.start(port, true, none)
	require.NoError(t, err)
	defer func() { require.NoError(t, byHand.stop(context.Background(), syscall.SIGINT, soon)) }()
	require.Eventually(t, func() bool { return byHand.log.contains("ready to accept") }, soon, pollEvery)

	_, err = StartPostgres(t.Context(), PostgresOptions{Dir: dir, Log: quiet()})
	require.ErrorIs(t, err, ErrInUse)
	require.ErrorContains(t, err, strconv.Itoa(byHand.pid))
	require.NoError(t, byHand.err())
}

// After a reboot the number of the dead server may be anybody's.
func TestPostgresPidOfSomebodyElse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startTestPostgres(t, dir)
	path := filepath.Join(dir, "data", "postmaster.pid")
	left, err := os.ReadFile(path)
	require.NoError(t, err)
	stopNow(t, p)

	acc, err := serverAccount(filepath.Join(dir, "data"))
	require.NoError(t, err)
	other, err := startChild(childSpec{
		name: "sleep", path: "/bin/sleep", args: []string{"600"}, dir: "/", account: acc,
		logPath: filepath.Join(t.TempDir(), "log"), deathSignal: syscall.SIGKILL,
	})
	require.NoError(t, err)
	defer other.kill()
	left = fmt.Appendf(nil, "%d\n%s", other.pid, left[len(strconv.Itoa(p.Pid()))+1:])
	require.NoError(t, os.WriteFile(path, left, 0o600))
	if acc != nil {
		require.NoError(t, os.Chown(path, int(acc.uid), int(acc.gid)))
	}
	startTestPostgres(t, dir)
	require.NoError(t, other.err())
}

func TestPostgresPortTaken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startTestPostgres(t, dir)
	taken := p.server.port
	stopNow(t, p)
	l, err := net.Listen("tcp4", net.JoinHostPort(host, strconv.Itoa(taken)))
	require.NoError(t, err)
	defer l.Close()

	_, err = StartPostgres(t.Context(), PostgresOptions{Dir: dir, Port: taken, Log: quiet()})
	require.ErrorContains(t, err, fmt.Sprintf("port %d is not free", taken))
	p = startTestPostgres(t, dir)
	require.NotEqual(t, taken, p.server.port)
}

func TestPostgresStartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := StartPostgres(ctx, PostgresOptions{Dir: dir, Log: quiet()})
		failed <- err
	}()
	require.Eventually(t, func() bool {
		found, err := filepath.Glob(filepath.Join(dir, "initdb-*"))
		return err == nil && len(found) > 0
	}, soon, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	startTestPostgres(t, dir)
}

func TestPostgresWithoutItsPassword(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stopNow(t, startTestPostgres(t, dir))
	require.NoError(t, os.Remove(filepath.Join(dir, "password")))
	_, err := StartPostgres(t.Context(), PostgresOptions{Dir: dir, Log: quiet()})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestEnsureDatabase(t *testing.T) {
	t.Parallel()
	url := startTestPostgres(t, t.TempDir()).URL("postgres")
	var wg sync.WaitGroup
	errs := make(chan error, 8)
	for range cap(errs) {
		wg.Go(func() { errs <- EnsureDatabase(t.Context(), url, `odd "name`) })
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, 1, query1[int](t, url, `select count(*) from pg_database where datname = 'odd "name'`))
}

// fakePostgres makes a directory of server programs that know their version.
func fakePostgres(t *testing.T, dir string, major int) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	script := fmt.Sprintf("#!/bin/sh\necho 'postgres (PostgreSQL) %d.3 (Debian)'\n", major)
	for _, name := range []string{"postgres", "initdb"} {
		writeProgram(t, filepath.Join(dir, name), []byte(script))
	}
}

func TestFindPostgres(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, major := range []int{9, 15, 17} {
		fakePostgres(t, filepath.Join(root, "lib", strconv.Itoa(major), "bin"), major)
	}
	linked := filepath.Join(root, "linked")
	require.NoError(t, os.MkdirAll(linked, 0o755))
	require.NoError(t, os.Symlink(filepath.Join(root, "lib", "15", "bin", "postgres"), filepath.Join(linked, "postgres")))
	patterns := []string{filepath.Join(root, "lib", "*", "bin")}

	find := func(path string, patterns []string, major int) string {
		b, err := findPostgresIn(t.Context(), path, patterns, major)
		require.NoError(t, err)
		return filepath.Base(filepath.Dir(b.dir))
	}
	require.Equal(t, "17", find("", patterns, 0), "the highest")
	require.Equal(t, "15", find(linked, patterns, 0), "PATH first, links followed")
	require.Equal(t, "9", find(linked, patterns, 9), "the cluster's own version")

	_, err := findPostgresIn(t.Context(), "", nil, 0)
	require.ErrorIs(t, err, ErrNoPostgres)
	require.ErrorContains(t, err, "apt-get install postgresql")
	require.ErrorContains(t, err, "brew install")
	_, err = findPostgresIn(t.Context(), linked, patterns, 12)
	require.ErrorIs(t, err, ErrNoPostgres)
	require.ErrorContains(t, err, "made by PostgreSQL 12")
}
