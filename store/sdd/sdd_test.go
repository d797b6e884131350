// Trees on a real disk.

package sdd

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

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

// TestTwoInstalls: other keys, another secret, another time; the same artifact, the same entry.
func TestTwoInstalls(t *testing.T) {
	t.Parallel()
	one, other := t.TempDir(), t.TempDir()
	install := func(dir, secret, data string) lineage.Entry {
		place(t, dir, "out", data)
		done, err := Record(t.Context(), Options{Workdir: dir, Secret: []byte(secret)}, "T", specOf(artifact.Dataset))
		require.NoError(t, err)
		return done.Entry
	}
	a, b := install(one, "", `{"a":1}`), install(other, "secret", "{ \"a\": 1.0 }\r\n")
	require.Equal(t, a.ContentHash, b.ContentHash)
	require.Equal(t, a.Hash(), b.Hash())
	keyOf := func(dir string) string {
		data, err := os.ReadFile(filepath.Join(dir, directory, lineage.KeyPath))
		require.NoError(t, err)
		return string(data)
	}
	require.NotEqual(t, keyOf(one), keyOf(other))
	c := install(one, "", `{"a":2}`)
	require.NotEqual(t, a.ContentHash, c.ContentHash)
	require.NotEqual(t, a.Hash(), c.Hash())
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
	for _, name := range []string{
		lineage.LogPath, lineage.HeadPath, lineage.CardPath, lineage.ReceiptPath("T"), "artifacts/T/artifact.bin",
		"lineage", "lineage/signatures", "artifacts/T",
	} {
		for what, put := range map[string]func(string) error{
			"a pipe":      func(path string) error { return syscall.Mkfifo(path, 0o644) },
			"a directory": func(path string) error { return os.Mkdir(path, 0o755) },
			"a link out":  func(path string) error { return os.Symlink("/dev/zero", path) },
		} {
			dir := t.TempDir()
			record(t, dir, "T", artifact.Report, "text")
			path := filepath.Join(dir, directory, name)
			require.NoError(t, os.RemoveAll(path))
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

// TestAChangedKey: the new key in its place, the old one's public half on the card as one that signed before.
func TestAChangedKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	record(t, dir, "A", artifact.Report, "a")
	at := filepath.Join(dir, directory, lineage.KeyPath)
	old, err := os.ReadFile(at)
	require.NoError(t, err)
	before, err := lineage.ParseKey(old)
	require.NoError(t, err)
	_, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	pem, err := lineage.EncodeKey(key)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(at, pem, 0o600))
	card, err := lineage.NewCard(lineage.Signer{Key: key}.Public(), lineage.Signer{Key: before}.Public()).Encode()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, directory, lineage.CardPath), card, 0o644))
	record(t, dir, "B", artifact.Report, "b")
	for _, task := range []string{"A", "B"} {
		require.Empty(t, check(t, dir, task).Failures)
	}
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

// An export that is given up takes away the directories it made, and nothing of anybody else's.
func TestADiscardedExportLeavesNothing(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	inner := filepath.Join(top, "a", "b")
	e, err := NewExport(inner)
	require.NoError(t, err)
	require.NoError(t, e.Discard())
	require.NoDirExists(t, filepath.Join(top, "a"))
	require.DirExists(t, top)

	e, err = NewExport(inner)
	require.NoError(t, err)
	place(t, top, "a/mine", "x")
	require.NoError(t, e.Discard())
	require.NoDirExists(t, inner)
	require.FileExists(t, filepath.Join(top, "a", "mine"))

	e, err = NewExport(top)
	require.NoError(t, err)
	require.NoError(t, e.Discard())
	require.DirExists(t, top)
}
