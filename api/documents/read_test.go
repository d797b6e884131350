// Reading from real repositories, and trees that are none.

package documents

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("git", args...)
	c.Dir = dir
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@t",
		"GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@t",
	}
	out, err := c.CombinedOutput()
	require.NoError(t, err, "git %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

func TestReadFromBareAndPackedMirrors(t *testing.T) {
	t.Parallel()
	work, bare := t.TempDir(), t.TempDir()
	git(t, work, "init", "--quiet")
	places := []Place{}
	for i := range 35 {
		path := fmt.Sprintf("a/b%d/ö %d.md", i%3, i)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(work, path)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(work, path), fmt.Appendf(nil, "document %d\r\n", i), 0o600))
		places = append(places, Place{Path: path})
	}
	git(t, work, "add", "--all")
	git(t, work, "commit", "--quiet", "--message", "m")
	for i := range places {
		places[i].Commit = git(t, work, "rev-parse", "HEAD")
	}
	git(t, work, "gc", "--quiet")
	git(t, bare, "clone", "--quiet", "--bare", work, "x.git")
	m, err := Open(map[string]string{"work": work, "bare": filepath.Join(bare, "x.git"), "none": bare})
	require.NoError(t, err)
	for _, repository := range []string{"work", "bare"} {
		got, err := m.Read(t.Context(), repository, places, 100)
		require.NoError(t, err)
		for i, content := range got {
			require.Equal(t, fmt.Sprintf("document %d\r\n", i), content)
		}
	}
	var fault *Fault
	_, err = m.Read(t.Context(), "bare", places, 11)
	require.ErrorAs(t, err, &fault)
	require.Equal(t, "oversized", string(fault.Reason))
	_, err = m.Read(t.Context(), "elsewhere", places, 100)
	require.ErrorAs(t, err, &fault)
	require.Equal(t, "no_mirror", string(fault.Reason))
	_, err = m.Read(t.Context(), "none", places, 100)
	require.ErrorContains(t, err, "cannot be read")
}

// A git that does not answer is stopped when the time is over.
func TestReadEndsInTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	slow := filepath.Join(dir, "git")
	require.NoError(t, os.WriteFile(slow, []byte("#!/bin/sh\nexec sleep 60\n"), 0o700)) //nolint:gosec // it is run
	m := &Mirrors{git: slow, paths: map[string]string{"r": dir}}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := m.Read(ctx, "r", []Place{{Commit: strings.Repeat("a", 40), Path: "p"}}, 100)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(start), 30*time.Second)
}

func TestMirrorsAreAbsolute(t *testing.T) {
	t.Parallel()
	_, err := Open(map[string]string{"r": "relative"})
	require.ErrorContains(t, err, "relative")
	m, err := Open(nil)
	require.NoError(t, err)
	_, err = m.Read(t.Context(), "r", []Place{{}}, 1)
	require.Error(t, err)
}

func FuzzParseTree(f *testing.F) {
	f.Add([]byte("100644 a\x0001234567890123456789"))
	f.Add([]byte("40000 b\x0001234567890123456789100644 a"))
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, ok := parseTree(data)
		size := 0
		for _, e := range entries {
			size += len(e.mode) + len(e.name) + len(" \x00") + len(e.id)/2
		}
		if ok {
			require.Equal(t, len(data), size)
		}
	})
}
