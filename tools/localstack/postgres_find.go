// Where PostgreSQL's server programs are on this machine.

//go:build unix

package localstack

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// serverDirs are the places packages put the server programs in without
// putting them on PATH.
var serverDirs = []string{
	"/usr/lib/postgresql/*/bin",
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
}

// pgBinaries is a directory that holds initdb and postgres.
type pgBinaries struct {
	dir string
	// major version, such as 15.
	major int
}

func (b pgBinaries) path(program string) string { return filepath.Join(b.dir, program) }

var majorVersion = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// findPostgres returns the first usable installation: PATH, then the highest
// version elsewhere. With major other than 0 only that version will do, since
// a cluster can be run by no other.
func findPostgres(ctx context.Context, major int) (pgBinaries, error) {
	b, err := findPostgresIn(ctx, os.Getenv("PATH"), serverDirs, major)
	if err != nil {
		return pgBinaries{}, fmt.Errorf("find PostgreSQL: %w", err)
	}
	return b, nil
}

func findPostgresIn(ctx context.Context, path string, patterns []string, major int) (pgBinaries, error) {
	var found []pgBinaries
	add := func(postgres string) {
		// PATH may hold a link to a program whose siblings are elsewhere.
		real, err := filepath.EvalSymlinks(postgres)
		if err != nil {
			return
		}
		b := pgBinaries{dir: filepath.Dir(real)}
		if _, err := exec.LookPath(b.path("initdb")); err != nil {
			return
		}
		out, err := exec.CommandContext(ctx, b.path("postgres"), "--version").Output()
		if err != nil {
			return
		}
		if m := majorVersion.FindSubmatch(out); m != nil {
			b.major, _ = strconv.Atoi(string(m[1]))
			found = append(found, b)
		}
	}
	for _, dir := range filepath.SplitList(path) {
		// A program of whatever directory this is started in is not wanted.
		if filepath.IsAbs(dir) {
			add(filepath.Join(dir, "postgres"))
		}
	}
	onPath := len(found)
	for _, pattern := range patterns {
		dirs, err := filepath.Glob(pattern)
		if err != nil {
			return pgBinaries{}, err
		}
		for _, dir := range dirs {
			add(filepath.Join(dir, "postgres"))
		}
	}
	slices.SortStableFunc(found[onPath:], func(a, b pgBinaries) int { return cmp.Compare(b.major, a.major) })
	if err := ctx.Err(); err != nil {
		return pgBinaries{}, err
	}
	for _, b := range found {
		if major == 0 || b.major == major {
			return b, nil
		}
	}
	if len(found) > 0 {
		return pgBinaries{}, fmt.Errorf("the cluster was made by PostgreSQL %d, of which only other versions were found (%d in %s): %w",
			major, found[0].major, found[0].dir, ErrNoPostgres)
	}
	return pgBinaries{}, fmt.Errorf("looked at PATH and %s: %w", strings.Join(patterns, ", "), ErrNoPostgres)
}
