// A PostgreSQL cluster on disk: made whole or not at all, and reachable by the
// user that runs the server.

//go:build unix

package localstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// cluster is what is needed to run the server on a directory.
type cluster struct {
	dir      string
	bin      pgBinaries
	password string
	// account runs the server when this process is root, which PostgreSQL
	// refuses to be.
	account *account
	// data is the open data directory.
	data *os.File
}

// openCluster finds the programs, the account and the password for the cluster
// below dir, and makes the cluster when there is none.
func openCluster(ctx context.Context, dir string, fast bool, alive *os.File, log *slog.Logger) (*cluster, error) {
	path := filepath.Join(dir, "data")
	major, err := clusterVersion(path)
	if err != nil {
		return nil, err
	}
	c := &cluster{dir: dir}
	if c.bin, err = findPostgres(ctx, major); err != nil {
		return nil, err
	}
	if c.account, err = serverAccount(path); err != nil {
		return nil, err
	}
	if c.password, err = loadPassword(filepath.Join(dir, "password"), major == 0); err != nil {
		return nil, err
	}
	if major == 0 {
		if err := c.create(ctx, path, fast, alive, log); err != nil {
			return nil, fmt.Errorf("make the cluster: %w", err)
		}
	}
	if c.data, err = os.Open(path); err != nil {
		return nil, err
	}
	if err := c.dropStalePid(); err != nil {
		c.data.Close()
		return nil, err
	}
	return c, nil
}

// clusterVersion is the major version of the cluster at path, 0 when there is
// none.
func clusterVersion(path string) (int, error) {
	b, err := os.ReadFile(filepath.Join(path, "PG_VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0, fmt.Errorf("version of the cluster at %s: %w", path, err)
	}
	return major, nil
}

// serverAccount is who runs the server: nil for this process's own user, but
// as root the owner of the cluster, or for a new one postgres, else nobody.
func serverAccount(path string) (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	if info, err := os.Stat(path); err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 {
			return &account{uid: st.Uid, gid: st.Gid}, nil
		}
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL refuses to run as root and there is neither a user postgres nor nobody: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("user %s: %w", u.Username, err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("user %s: %w", u.Username, err)
	}
	return &account{uid: uint32(uid), gid: uint32(gid)}, nil
}

// create runs initdb on a temporary sibling and renames it, so that a kill in
// between leaves no half-made cluster behind.
func (c *cluster) create(ctx context.Context, path string, fast bool, alive *os.File, log *slog.Logger) error {
	log.Info("making a PostgreSQL cluster", "dir", path, "version", c.bin.major)
	leftovers, err := filepath.Glob(filepath.Join(c.dir, "initdb-*"))
	if err != nil {
		return err
	}
	for _, l := range leftovers {
		if err := os.RemoveAll(l); err != nil {
			return err
		}
	}
	tmp, err := os.MkdirTemp(c.dir, "initdb-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	// The program opens the file anew by its descriptor, so it needs to be the
	// reader's own.
	pw, err := os.CreateTemp(c.dir, "initdb-")
	if err != nil {
		return err
	}
	defer pw.Close()
	if err := os.Remove(pw.Name()); err != nil {
		return err
	}
	if _, err := pw.WriteString(c.password + "\n"); err != nil {
		return err
	}
	// Some systems open a descriptor's path as a duplicate of it.
	if _, err := pw.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if c.account != nil {
		for _, chown := range []func(uid, gid int) error{pw.Chown, func(uid, gid int) error { return os.Chown(tmp, uid, gid) }} {
			if err := chown(int(c.account.uid), int(c.account.gid)); err != nil {
				return err
			}
		}
	}
	data, err := os.Open(tmp)
	if err != nil {
		return err
	}
	defer data.Close()
	args := []string{
		"--pgdata=" + c.dataArg(data), "--pwfile=/dev/fd/5", "--username=" + superuser, "--auth=scram-sha-256",
		"--encoding=UTF8", "--no-locale", "--no-instructions",
	}
	if fast {
		args = append(args, "--no-sync")
	}
	child, err := startChild(c.spec("initdb", args, data, alive, pw))
	if err != nil {
		return err
	}
	// It ends its own children in order; those, killed themselves, would leave
	// shared memory behind.
	if err := child.wait(ctx, syscall.SIGTERM); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(c.dir)
}

// start runs the server.
func (c *cluster) start(port int, fast bool, alive *os.File) (*child, error) {
	args := []string{
		"-D", c.dataArg(c.data), "-p", strconv.Itoa(port),
		"-c", "listen_addresses=" + host,
		"-c", "unix_socket_directories=",
		"-c", "max_connections=" + strconv.Itoa(maxConnections),
		"-c", "logging_collector=off",
	}
	if fast {
		// Not synchronous_commit=off: it gains nothing without fsync, and would
		// lose commits when a test kills the server.
		args = append(args, "-c", "fsync=off", "-c", "full_page_writes=off")
	}
	return startChild(c.spec("postgres", args, c.data, alive))
}

// spec describes a run of one of PostgreSQL's programs: descriptor 3 is the
// data directory, 4 the alive lock.
func (c *cluster) spec(program string, args []string, data, alive *os.File, more ...*os.File) childSpec {
	return childSpec{
		name:        program,
		path:        c.bin.path(program),
		args:        args,
		env:         serverEnv("PG"),
		dir:         "/",
		files:       append([]*os.File{data, alive}, more...),
		account:     c.account,
		logPath:     filepath.Join(c.dir, "postgres.log"),
		deathSignal: postgresQuit,
	}
}

// dataArg is the path by which the server reaches the data directory. Another
// user than this one may not be able to walk there (below /root, say), but can
// enter the directory that it inherits open; the path stays good for all the
// server's children, which inherit it as well.
func (c *cluster) dataArg(data *os.File) string {
	if c.account != nil && runtime.GOOS == "linux" {
		return "/proc/self/fd/3"
	}
	return data.Name()
}

// dropStalePid removes the postmaster.pid of a server that is dead with all its
// children. PostgreSQL would take any process of its user with the number in
// it for that server: after a reboot or in a new container there often is one,
// and a dead one that nobody has waited for counts as well.
func (c *cluster) dropStalePid() error {
	if !noneWorksIn(c.data.Name()) {
		return nil
	}
	err := os.Remove(filepath.Join(c.data.Name(), "postmaster.pid"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// serverEnv is this process's environment without the variables that would
// change a server's behaviour, and with messages in the language they are
// searched in.
func serverEnv(withoutPrefixes ...string) []string {
	unwanted := append([]string{"LC_", "LANG"}, withoutPrefixes...)
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return slices.ContainsFunc(unwanted, func(prefix string) bool { return strings.HasPrefix(kv, prefix) })
	})
	return append(env, "LC_ALL=C")
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
