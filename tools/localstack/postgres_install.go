// Installing PostgreSQL where that needs no question asked.

//go:build unix

package localstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
)

// installScript installs the server's package without the cluster and service
// that Debian makes of it by default, and leaves no setting of its own behind.
const installScript = `set -e
dir=/etc/postgresql-common/createcluster.d
file=$dir/countersign-no-main-cluster.conf
made=
[ -d /etc/postgresql-common ] || made=/etc/postgresql-common
[ -d $dir ] || mkdir -p $dir
cleanup() { rm -f $file; rmdir $dir 2>/dev/null || :; if [ -n "$made" ]; then rmdir $made 2>/dev/null || :; fi; }
trap cleanup EXIT
trap 'exit 1' HUP INT TERM
echo 'create_main_cluster = false' > $file
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
apt() { apt-get -o DPkg::Lock::Timeout=300 "$@"; }
add() { apt install --yes --no-install-recommends postgresql; }
add || { apt update && add; }
`

// EnsurePostgres returns nil when PostgreSQL's server programs are there. Else,
// on Debian and its relatives, it installs the package postgresql when this
// process is root or sudo asks no password; no cluster is made and no service
// started by that. Where it cannot, the error is ErrNoPostgres and says what to
// do.
func EnsurePostgres(ctx context.Context, log *slog.Logger) error {
	_, missing := findPostgres(ctx, 0)
	if !errors.Is(missing, ErrNoPostgres) {
		return missing
	}
	command, err := installCommand(ctx)
	if err != nil {
		return fmt.Errorf("%w (%w)", missing, err)
	}
	log.Info("installing PostgreSQL by apt-get, because its server programs are missing")
	// The shell passes on to its cleaning up once the running step has ended;
	// apt-get is better not killed.
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%w; apt-get failed: %w: %s", missing, err, lastBytes(out, 2000))
	}
	_, err = findPostgres(ctx, 0)
	return err
}

func installCommand(ctx context.Context) (*exec.Cmd, error) {
	if _, err := os.Stat("/etc/debian_version"); err != nil {
		return nil, errors.New("not installed by itself: this is no Debian")
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return nil, fmt.Errorf("not installed by itself: %w", err)
	}
	shell := []string{"sh", "-c", installScript}
	if os.Geteuid() != 0 {
		if err := exec.CommandContext(ctx, "sudo", "-n", "true").Run(); err != nil {
			return nil, errors.New("not installed by itself: neither root nor a sudo without password")
		}
		shell = append([]string{"sudo", "-n"}, shell...)
	}
	return exec.CommandContext(ctx, shell[0], shell[1:]...), nil
}

func lastBytes(b []byte, n int) []byte {
	if len(b) > n {
		return b[len(b)-n:]
	}
	return b
}
