// What is not recorded, and which paths are not followed.

package sdd

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"countersign/contracts"
	"countersign/contracts/artifact"
	"countersign/contracts/lineage"

	"github.com/stretchr/testify/require"
)

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	place(t, outside, "secret", "text")
	for name, c := range map[string]struct {
		task    string
		spec    artifact.Spec
		prepare func(t *testing.T, dir string)
		code    contracts.Code
		want    string
	}{
		"a task id that is a path":   {task: "../T", spec: specOf(artifact.Report), code: contracts.CodeInvalid, want: "task_id"},
		"the key's directory":        {task: "identity", spec: specOf(artifact.Report), code: contracts.CodeInvalid, want: "task_id"},
		"code_diff":                  {spec: artifact.Spec{Kind: artifact.CodeDiff}, code: contracts.CodeInvalid, want: "code_diff"},
		"no output":                  {spec: artifact.Spec{Kind: artifact.Report, OutputPath: "nothing"}, code: artifact.CodeMissing, want: "wrote no output at nothing"},
		"no directory":               {spec: artifact.Spec{Kind: artifact.Report, OutputPath: "out/x"}, code: artifact.CodeMissing, want: "wrote no output"},
		"nothing canonical":          {spec: specOf(artifact.OpsResult), code: artifact.CodeRejected, want: "line 1"},
		"a directory":                {spec: artifact.Spec{Kind: artifact.Report, OutputPath: "d"}, code: contracts.CodeInvalid, want: "no regular file", prepare: func(t *testing.T, dir string) { place(t, dir, "d/x", "") }},
		"a named pipe":               {spec: artifact.Spec{Kind: artifact.Report, OutputPath: "p"}, code: contracts.CodeInvalid, want: "no regular file", prepare: func(t *testing.T, dir string) { require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "p"), 0o644)) }},
		"a symlink out":              {spec: artifact.Spec{Kind: artifact.Report, OutputPath: "l"}, code: contracts.CodeInvalid, want: "leads out", prepare: func(t *testing.T, dir string) { link(t, outside+"/secret", dir+"/l") }},
		"a symlinked parent out":     {spec: artifact.Spec{Kind: artifact.Report, OutputPath: "l/secret"}, code: contracts.CodeInvalid, want: "leads out", prepare: func(t *testing.T, dir string) { link(t, outside, dir+"/l") }},
		"a symlink into the records": {spec: artifact.Spec{Kind: artifact.Report, OutputPath: "l"}, code: contracts.CodeInvalid, want: ".sdd", prepare: func(t *testing.T, dir string) { place(t, dir, ".sdd/x", ""); link(t, ".sdd/x", dir+"/l") }},
		"a path in the records":      {spec: artifact.Spec{Kind: artifact.Report, OutputPath: ".sdd/x"}, code: contracts.CodeInvalid, want: ".sdd"},
		"a dangling symlink":         {spec: artifact.Spec{Kind: artifact.Report, OutputPath: "l"}, code: artifact.CodeMissing, want: "wrote no output", prepare: func(t *testing.T, dir string) { link(t, "nothing", dir+"/l") }},
		"a tree that is a symlink":   {spec: specOf(artifact.Report), code: contracts.CodeInvalid, want: "no directory of its own", prepare: func(t *testing.T, dir string) { link(t, outside, dir+"/.sdd") }},
		"a tree that is a file":      {spec: specOf(artifact.Report), code: contracts.CodeInvalid, want: "no directory of its own", prepare: func(t *testing.T, dir string) { place(t, dir, ".sdd", "") }},
		"a directory that is a link": {spec: specOf(artifact.Report), code: contracts.CodeInvalid, want: "no directory of its own", prepare: func(t *testing.T, dir string) { place(t, dir, ".sdd/b/x", ""); link(t, "b", dir+"/.sdd/artifacts") }},
		"a key that others can read": {spec: specOf(artifact.Report), code: contracts.CodeInvalid, want: "others than its owner", prepare: func(t *testing.T, dir string) { place(t, dir, ".sdd/"+lineage.KeyPath, "") }},
		"a key that is none": {spec: specOf(artifact.Report), code: contracts.CodeInvalid, want: "not one PKCS#8", prepare: func(t *testing.T, dir string) {
			place(t, dir, ".sdd/"+lineage.KeyPath, "x")
			chmod(t, dir, lineage.KeyPath, 0o600)
		}},
		"the key lost":                {spec: specOf(artifact.Report), code: contracts.CodeInvalid, want: "signing key", prepare: lose(lineage.KeyPath)},
		"the card lost":               {spec: specOf(artifact.Report), code: contracts.CodeInvalid, want: "card", prepare: lose(lineage.CardPath)},
		"the head lost":               {spec: specOf(artifact.Report), code: contracts.CodeInvalid, want: "head.json is missing", prepare: lose(lineage.HeadPath)},
		"the log lost":                {spec: specOf(artifact.Report), code: contracts.CodeInvalid, want: "log has no entries", prepare: lose(lineage.LogPath)},
		"another key than the card's": {spec: specOf(artifact.Report), code: contracts.CodeInvalid, want: "not on the card", prepare: swap(lineage.KeyPath)},
		"another head":                {spec: specOf(artifact.Report), code: contracts.CodeInvalid, want: "head.json", prepare: swap(lineage.HeadPath)},
		"a head of other lines":       {spec: specOf(artifact.Report), code: contracts.CodeInvalid, want: "head.json", prepare: swap(lineage.LogPath)},
		"another secret than the last": {spec: specOf(artifact.Report), code: contracts.CodeInvalid, want: "another operator secret", prepare: func(t *testing.T, dir string) {
			_, err := Attach(t.Context(), Options{Workdir: dir, Secret: []byte("other")}, strings.NewReader("x"))
			require.NoError(t, err)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			place(t, dir, "out", "text")
			if c.prepare != nil {
				c.prepare(t, dir)
			}
			if c.task == "" {
				c.task = "T"
			}
			_, err := Record(t.Context(), Options{Workdir: dir, Secret: secret}, c.task, c.spec)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, c.code, contracts.CodeOf(err), "%v", err)
		})
	}
}

func link(t *testing.T, target, path string) { require.NoError(t, os.Symlink(target, path)) }

func chmod(t *testing.T, dir, name string, mode fs.FileMode) {
	require.NoError(t, os.Chmod(filepath.Join(dir, directory, name), mode))
}

// lose takes a file away from a tree with two entries.
func lose(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		record(t, dir, "A", artifact.Report, "a")
		record(t, dir, "B", artifact.Report, "b")
		place(t, dir, "out", "text")
		require.NoError(t, os.Remove(filepath.Join(dir, directory, name)))
	}
}

// swap puts another tree's file in its place.
func swap(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		other := t.TempDir()
		record(t, other, "A", artifact.Report, "other")
		record(t, dir, "A", artifact.Report, "a")
		place(t, dir, "out", "text")
		data, err := os.ReadFile(filepath.Join(other, directory, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, directory, name), data, 0o600))
	}
}

func TestSymlinksInsideAreFollowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	place(t, dir, "real/file", "text")
	link(t, "real", dir+"/l")
	link(t, "l/file", dir+"/out")
	done, err := Record(t.Context(), Options{Workdir: dir}, "T", specOf(artifact.Report))
	require.NoError(t, err)
	require.Equal(t, lineage.HashOf([]byte("text")), done.Entry.ContentHash)
	// The workdir itself may be reached through one.
	link(t, dir, dir+"/self")
	_, err = Record(t.Context(), Options{Workdir: dir + "/self"}, "T", specOf(artifact.Report))
	require.NoError(t, err)
}

// TestASwappedPathIsNotFollowed: what was a directory when it was checked is a symlink when it is opened.
func TestASwappedPathIsNotFollowed(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	place(t, outside, "file", "secret")
	place(t, dir, "d/file", "text")
	f, err := openPlain(dir, "d/file")
	require.NoError(t, err)
	f.Close()
	require.NoError(t, os.RemoveAll(dir+"/d"))
	link(t, outside, dir+"/d")
	_, err = openPlain(dir, "d/file")
	require.Error(t, err)
	link(t, outside+"/file", dir+"/file")
	_, err = openPlain(dir, "file")
	require.Error(t, err)
}
