// What a scan reads, and what it only names.

package backlogdir_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"countersign/cmd/countersign/internal/backlogdir"

	"github.com/stretchr/testify/require"
)

// write makes files below dir.
func write(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, name := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte("in "+filepath.Base(name)), 0o600))
	}
}

// visited is "path: content" or "path! reason" for each visit.
func visited(t *testing.T, dir string, limit int64) []string {
	t.Helper()
	var lines []string
	require.NoError(t, backlogdir.Each(t.Context(), dir, limit, func(path string, data []byte, err error) {
		if err != nil {
			require.Empty(t, data)
			lines = append(lines, path+"! "+err.Error())
		} else {
			lines = append(lines, path+": "+string(data))
		}
	}))
	return lines
}

func TestOnlyWhatIsInside(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dir := filepath.Join(parent, "backlog")
	write(t, parent, "outside.md", "elsewhere/far.md")
	write(t, dir, "b.md", "a.MD", "sub/deep/c.md", "notes.txt", "md", ".hidden.md", ".git/x.md", "long.md")
	require.NoError(t, os.Symlink("../outside.md", filepath.Join(dir, "link.md")))
	require.NoError(t, os.Symlink("b.md", filepath.Join(dir, "inner.md")))
	require.NoError(t, os.Symlink("gone", filepath.Join(dir, "dangling.md")))
	require.NoError(t, os.Symlink("../elsewhere", filepath.Join(dir, "linked")))
	require.NoError(t, os.Symlink("..", filepath.Join(dir, "sub", "up")))
	require.NoError(t, os.Symlink("../elsewhere", filepath.Join(dir, "dir.md")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "long.md"), []byte(strings.Repeat("x", 100)), 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe.md"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder.md"), 0o700))
	const link = "! is a symbolic link, which is not followed"
	require.Equal(t, []string{
		"a.MD: in a.MD", "b.md: in b.md", "dangling.md" + link, "dir.md" + link, "inner.md" + link, "link.md" + link,
		"long.md: " + strings.Repeat("x", 11), "pipe.md! is not a regular file", "sub/deep/c.md: in c.md",
	}, visited(t, dir, 10))

	// The directory itself may be a link: that is what was asked for.
	require.NoError(t, os.Symlink("backlog", filepath.Join(parent, "named")))
	require.Equal(t, visited(t, dir, 10), visited(t, filepath.Join(parent, "named"), 10))
}

func TestNamesThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "b\xff.md", "z.md")
	write(t, dir, "d\xff/x.md")
	require.Equal(t, []string{"b\ufffd.md! the name is not UTF-8", "d\ufffd/! the name is not UTF-8", "z.md: in z.md"}, visited(t, dir, 10))
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	dir := t.TempDir()
	write(t, dir, "a.md", "shut/x.md", "z.md")
	require.NoError(t, os.Chmod(filepath.Join(dir, "a.md"), 0))
	require.NoError(t, os.Chmod(filepath.Join(dir, "shut"), 0))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "shut"), 0o700) })
	require.Equal(t, []string{"a.md! permission denied", "shut/! permission denied", "z.md: in z.md"}, visited(t, dir, 10))
}

func TestNoDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "a.md")
	never := func(string, []byte, error) { t.Error("visited") }
	require.ErrorIs(t, backlogdir.Each(t.Context(), filepath.Join(dir, "missing"), 10, never), os.ErrNotExist)
	require.ErrorContains(t, backlogdir.Each(t.Context(), filepath.Join(dir, "a.md"), 10, never), "not a directory")
	require.Empty(t, visited(t, t.TempDir(), 10))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, backlogdir.Each(ctx, dir, 10, never), context.Canceled)
}
