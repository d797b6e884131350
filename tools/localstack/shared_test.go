// The servers that tests share, and what is left of them.

package localstack

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSharedPostgresIsOne(t *testing.T) {
	t.Parallel()
	require.Equal(t, PostgresURL(t), PostgresURL(t))
	require.NoError(t, ping(t.Context(), PostgresURL(t)))
}

func TestSharedDirectoryOfAKilledRunIsRemoved(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	killed := startSupervisor(t, "stack:", inTemp(tmp))
	says := killed.ready(t)
	dirs := stacksIn(t, tmp)
	require.Len(t, dirs, 1)
	live := startSupervisor(t, "stack:", inTemp(tmp))
	live.ready(t)
	require.Subset(t, stacksIn(t, tmp), dirs, "the first still runs")

	killed.kill()
	require.Eventually(t, func() bool { return gone(says.Pid) }, soon, pollEvery)
	next := startSupervisor(t, "stack:", inTemp(tmp))
	next.ready(t)
	require.NoDirExists(t, dirs[0])
	require.Len(t, stacksIn(t, tmp), 2)
	next.stop(t)
	live.stop(t)
	require.Empty(t, stacksIn(t, tmp))
}

func stacksIn(t *testing.T, tmp string) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(tmp, "countersign-localstack-*", "stack-*"))
	require.NoError(t, err)
	return dirs
}

func TestPrivateTempDirOfSomebodyElseIsRefused(t *testing.T) {
	t.Parallel()
	dir, err := privateTempDir("localstack-test")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	again, err := privateTempDir("localstack-test")
	require.NoError(t, err)
	require.Equal(t, dir, again)
	require.NoError(t, os.Chmod(dir, 0o777))
	_, err = privateTempDir("localstack-test")
	require.ErrorContains(t, err, "not a private directory")
}
