// What an agent can leave for the one who looks at its directory afterwards.

package bridge

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestObservingEnds: a file that takes hours to be read is given up with the attempt.
func TestObservingEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "huge"))
	require.NoError(t, err)
	defer f.Close()
	if err := f.Truncate(1 << 42); err != nil {
		require.NoError(t, f.Truncate(1<<40)) // what the file system takes
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = observeFiles(ctx, dir)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// TestPipeInTheWorkspacesPlace: nobody waits for its writer.
func TestPipeInTheWorkspacesPlace(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "session")
	require.NoError(t, syscall.Mkfifo(dir, 0o600))
	_, err := observeFiles(t.Context(), dir)
	require.ErrorIs(t, err, syscall.ENOTDIR)
	_, err = (&plain{dir: dir}).openOutput()
	require.ErrorIs(t, err, syscall.ENOTDIR)
}
