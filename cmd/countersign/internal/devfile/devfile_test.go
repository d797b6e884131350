// The nearest file wins, damage is an error, and nobody else can read it.

package devfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFindTakesTheNearest(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b")
	require.NoError(t, os.MkdirAll(deep, 0o755))
	outer, inner := filepath.Join(root, DefaultDir), filepath.Join(root, "a", DefaultDir)
	require.NoError(t, os.MkdirAll(outer, 0o700))
	require.NoError(t, os.MkdirAll(inner, 0o700))

	require.NoError(t, File{URL: "outer"}.Write(outer))
	f, dir, err := Find(deep)
	require.NoError(t, err)
	require.Equal(t, "outer", f.URL)
	require.Equal(t, outer, dir)

	require.NoError(t, File{URL: "inner", PIDs: []int{1, 2}}.Write(inner))
	f, dir, err = Find(deep)
	require.NoError(t, err)
	require.Equal(t, File{URL: "inner", PIDs: []int{1, 2}}, f)
	require.Equal(t, inner, dir)
	info, err := os.Stat(filepath.Join(inner, Name))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	require.NoError(t, Remove(inner))
	require.NoError(t, Remove(inner))
	_, err = Read(inner)
	require.ErrorIs(t, err, ErrNone)

	require.NoError(t, os.WriteFile(filepath.Join(inner, Name), []byte("{"), 0o600))
	_, _, err = Find(deep)
	require.ErrorContains(t, err, "damaged")
}
