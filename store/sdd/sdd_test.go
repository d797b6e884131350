// Trees on a real disk.

package sdd

import (
	"encoding/json"
	"fmt"
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

var secret = []byte("operator")

// place writes a file below a workdir.
func place(t testing.TB, workdir, name, data string) {
	t.Helper()
	path := filepath.Join(workdir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(data), 0o644))
}

func specOf(kind artifact.Kind, criteria ...artifact.Criterion) artifact.Spec {
	return artifact.Spec{Kind: kind, OutputPath: "out", Criteria: criteria}
}

// record records data as a task's output.
func record(t testing.TB, workdir, task string, kind artifact.Kind, data string) Recorded {
	t.Helper()
	place(t, workdir, "out", data)
	done, err := Record(t.Context(), Options{Workdir: workdir, Secret: secret}, task, specOf(kind))
	require.NoError(t, err)
	require.NotNil(t, done.Notes)
	return done
}

func attach(t testing.TB, workdir, data string) Recorded {
	t.Helper()
	done, err := Attach(t.Context(), Options{Workdir: workdir, Secret: secret}, strings.NewReader(data))
	require.NoError(t, err)
	return done
}

func check(t testing.TB, workdir, task string) lineage.Result {
	t.Helper()
	result, err := Verify(t.Context(), workdir, task, lineage.Options{Secret: secret})
	require.NoError(t, err)
	return result
}

// state is every file and directory of a tree, with its bytes.
func state(t testing.TB, workdir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(filepath.Join(workdir, directory), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		all[path] = info.Mode().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			all[path] += " " + info.ModTime().String() + " " + string(data)
			return err
		}
		return nil
	}))
	return all
}

func TestRecordAndVerify(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.Contains(t, check(t, dir, "T").Failures[0], "there is no .sdd directory")
	first := record(t, dir, "T", artifact.Dataset, `{"b": 1, "a": 2}`)
	require.True(t, first.Fresh)
	require.Empty(t, first.Notes)
	require.Equal(t, lineage.HashOf([]byte(`{"a":2,"b":1}`)), first.Entry.ContentHash)
	require.Empty(t, check(t, dir, "T").Failures)

	before := state(t, dir)
	again := record(t, dir, "T", artifact.Dataset, `{"a":2,"b":1}`)
	require.False(t, again.Fresh)
	require.Equal(t, first.Entry, again.Entry)
	require.Equal(t, before, state(t, dir), "the same bytes change nothing")

	other := record(t, dir, "T", artifact.Dataset, `{"a":3}`)
	require.True(t, other.Fresh)
	require.Equal(t, first.Entry.Hash(), other.Entry.Parent)
	back := record(t, dir, "T", artifact.Dataset, `{"a":2,"b":1}`)
	require.True(t, back.Fresh, "what was recorded before the last is another entry")
	kind := record(t, dir, "T", artifact.ActionLog, `{"a":2,"b":1}`)
	require.True(t, kind.Fresh, "the same bytes of another kind are another entry")
	a, b := attach(t, dir, "raw"), attach(t, dir, "raw")
	require.True(t, a.Fresh)
	require.False(t, b.Fresh)
	require.Empty(t, check(t, dir, "T").Failures)

	info, err := os.Stat(filepath.Join(dir, directory, lineage.KeyPath))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode())
}

func TestManyTasks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 40 {
		record(t, dir, fmt.Sprint("T-", i%15), artifact.Report, fmt.Sprint(i))
	}
	for i := range 15 {
		require.Empty(t, check(t, dir, fmt.Sprint("T-", i)).Failures)
	}
}

func TestAFailingCriterionRecordsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	place(t, dir, "out", "text")
	good := artifact.Criterion{Type: artifact.HashStable, Value: lineage.HashOf([]byte("text"))}
	bad := artifact.Criterion{Type: artifact.HashStable, Value: lineage.HashOf(nil)}
	done, err := Record(t.Context(), Options{Workdir: dir}, "T", specOf(artifact.Report, good, bad))
	require.ErrorIs(t, err, ErrCriteria)
	require.Equal(t, []bool{true, false}, []bool{done.Results[0].Passed, done.Results[1].Passed})
	require.NoDirExists(t, filepath.Join(dir, directory))

	record(t, dir, "T", artifact.Report, "other")
	before := state(t, dir)
	place(t, dir, "out", "text")
	_, err = Record(t.Context(), Options{Workdir: dir, Secret: secret}, "T", specOf(artifact.Report, bad))
	require.ErrorIs(t, err, ErrCriteria)
	require.Equal(t, before, state(t, dir))
}

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
		"a tree that is a symlink":   {spec: specOf(artifact.Report), want: "no directory of its own", prepare: func(t *testing.T, dir string) { link(t, outside, dir+"/.sdd") }},
		"a tree that is a file":      {spec: specOf(artifact.Report), want: "no directory of its own", prepare: func(t *testing.T, dir string) { place(t, dir, ".sdd", "") }},
		"a directory that is a link": {spec: specOf(artifact.Report), want: "no directory of its own", prepare: func(t *testing.T, dir string) { place(t, dir, ".sdd/b/x", ""); link(t, "b", dir+"/.sdd/artifacts") }},
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

func TestFormatV1IsReadAndNotWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var base struct {
		Secret string            `json:"operator_secret"`
		Files  map[string]string `json:"files"`
	}
	data, err := os.ReadFile("../../testdata/vectors/verify_v1_base.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &base))
	for name, data := range base.Files {
		place(t, dir, name, data)
	}
	result, err := Verify(t.Context(), dir, "RPT-1", lineage.Options{Secret: []byte(base.Secret)})
	require.NoError(t, err)
	require.Empty(t, result.Failures)
	before := state(t, dir)
	place(t, dir, "out", "text")
	_, err = Record(t.Context(), Options{Workdir: dir}, "T", specOf(artifact.Report))
	require.ErrorContains(t, err, "format v 1")
	require.ErrorContains(t, err, "artifact export")
	require.Equal(t, before, state(t, dir))
}

func TestReadOnlyTreesVerify(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	record(t, dir, "T", artifact.Report, "text")
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return nil
		}
		return os.Chmod(path, 0o444)
	}))
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			t.Cleanup(func() { os.Chmod(path, 0o755) })
			defer os.Chmod(path, 0o555)
		}
		return err
	}))
	before := state(t, dir)
	require.Empty(t, check(t, dir, "T").Failures)
	require.Equal(t, before, state(t, dir))
}

// TestVerifyWaitsForNothing: files that would block a reader are named instead.
func TestVerifyWaitsForNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{lineage.LogPath, lineage.HeadPath, lineage.CardPath, lineage.ReceiptPath("T"), "artifacts/T/artifact.bin"} {
		for what, put := range map[string]func(string) error{
			"a pipe":      func(path string) error { return syscall.Mkfifo(path, 0o644) },
			"a directory": func(path string) error { return os.Mkdir(path, 0o755) },
			"a link out":  func(path string) error { return os.Symlink("/dev/zero", path) },
		} {
			dir := t.TempDir()
			record(t, dir, "T", artifact.Report, "text")
			path := filepath.Join(dir, directory, name)
			require.NoError(t, os.Remove(path))
			require.NoError(t, put(path))
			result := check(t, dir, "T")
			require.False(t, result.OK)
			want := name
			if name == lineage.CardPath && what == "a directory" {
				want = "no card" // it is one that could have cards in it
			}
			require.Contains(t, strings.Join(result.Failures, "\n"), want, what)
		}
	}
}

func TestWhatIsLostIsRestored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	record(t, dir, "T", artifact.Report, "text")
	record(t, dir, "U", artifact.Report, "more")
	whole := state(t, dir)
	for _, name := range []string{"artifacts/T/artifact.bin", lineage.ReceiptPath("T")} {
		for _, damage := range []func(string) error{os.Remove, func(path string) error { return os.WriteFile(path, []byte("{}"), 0o644) }} {
			require.NoError(t, damage(filepath.Join(dir, directory, name)))
			require.False(t, check(t, dir, "T").OK)
			done := record(t, dir, "T", artifact.Report, "text")
			require.False(t, done.Fresh)
			require.Len(t, done.Notes, 1)
			require.Contains(t, done.Notes[0], "mended")
			require.Empty(t, check(t, dir, "T").Failures)
		}
	}
	require.Len(t, state(t, dir), len(whole))
}

func TestSecretsAreSaid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	place(t, dir, "out", "text")
	_, err := Record(t.Context(), Options{Workdir: dir}, "A", specOf(artifact.Report))
	require.NoError(t, err)
	done := record(t, dir, "B", artifact.Report, "text")
	require.Contains(t, strings.Join(done.Notes, "\n"), "without a secret")
	require.Contains(t, strings.Join(check(t, dir, "B").Failures, "\n"), "line 1, which belongs to task A and not to task B: recorded without a secret")
	result, err := Verify(t.Context(), dir, "B", lineage.Options{})
	require.NoError(t, err)
	require.True(t, result.OK)
	require.NotEmpty(t, result.Notes)
}
