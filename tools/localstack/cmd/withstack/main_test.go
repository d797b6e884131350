// The command's exit, its environment, its signals, and what is left.

package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	out := filepath.Join(tmp, "out")
	log := slog.New(slog.DiscardHandler)

	code, err := run(log, []string{"sh", "-c", `env > "$0"; exit 7`, out})
	require.NoError(t, err)
	require.Equal(t, 7, code)
	env, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Contains(t, string(env), "COUNTERSIGN_TEST_DATABASE_URL=postgres://postgres:")
	require.Contains(t, string(env), "COUNTERSIGN_TEST_TEMPORAL=127.0.0.1:")

	// A signal to this process is the command's to answer.
	type result struct {
		code int
		err  error
	}
	ended := make(chan result, 1)
	go func() {
		code, err := run(log, []string{"sh", "-c", `trap "exit 9" TERM; echo ready > "$0"; while :; do sleep 0.01; done`, out})
		ended <- result{code, err}
	}()
	require.Eventually(t, func() bool {
		b, err := os.ReadFile(out)
		return err == nil && string(b) == "ready\n"
	}, time.Minute, time.Millisecond)
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
	require.Equal(t, result{code: 9}, <-ended)

	code, err = run(log, []string{"sh", "-c", `kill -KILL $$`})
	require.NoError(t, err)
	require.Equal(t, 137, code)

	_, err = run(log, []string{"/no/such/command"})
	require.ErrorIs(t, err, os.ErrNotExist)

	left, err := filepath.Glob(filepath.Join(tmp, "countersign-localstack-*", "stack-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}
