// Whether a worktree holds exactly what a commit says, whatever its index and exclude files claim.

package bridge

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// dirt is what a worktree holds beside a commit.
type dirt struct {
	modified  []string // tracked, and other bytes, mode or absence
	untracked []string
	ignored   []string // untracked, but a committed .gitignore names them
}

// found is all that makes a worktree dirty.
func (d *dirt) found() []string { return append(slices.Clone(d.modified), d.untracked...) }

// dirt compares the worktree with a commit. The index is read fresh from the commit and the git
// directory is the main one, so assume-unchanged, skip-worktree, info/exclude, showUntrackedFiles and
// a swapped .git file hide nothing.
func (w *worktree) dirt(ctx context.Context, commit string) (*dirt, error) {
	index := filepath.Join(w.scratch, "check.index")
	defer os.Remove(index)
	run := func(args ...string) ([]string, error) {
		var items []string
		_, err := w.repo.git.run(ctx, gitCall{
			args: args, dir: w.Dir,
			env:  []string{"GIT_DIR=" + w.repo.dir, "GIT_WORK_TREE=" + w.Dir, "GIT_INDEX_FILE=" + index},
			each: func(item string) { items = append(items, item) },
		})
		return items, err
	}
	if _, err := run("read-tree", commit); err != nil {
		return nil, err
	}
	// With -q it goes on past what it finds changed; diff-files then says what.
	if _, err := run("update-index", "-q", "--really-refresh"); err != nil {
		return nil, err
	}
	modified, err := run("diff-files", "-z", "--name-only", "--no-ext-diff", "--ignore-submodules=none")
	if err != nil {
		return nil, err
	}
	others, err := run("ls-files", "-z", "--others")
	if err != nil {
		return nil, err
	}
	visible, err := run("ls-files", "-z", "--others", "--exclude-per-directory=.gitignore")
	if err != nil {
		return nil, err
	}
	found := &dirt{modified: modified}
	found.sort(others, visible)
	return found, nil
}

// sort tells ignored files from untracked ones. A .gitignore that nobody committed may not hide
// anything, itself least of all.
func (d *dirt) sort(others, visible []string) {
	shown := map[string]bool{}
	for _, name := range visible {
		shown[name] = true
	}
	foreign := map[string]bool{} // directories with a .gitignore of their own that is not committed
	for _, name := range others {
		if path.Base(name) == ".gitignore" {
			foreign[path.Dir(name)] = true
		}
	}
	hidden := func(name string) bool {
		if len(foreign) == 0 {
			return false
		}
		for dir := path.Dir(strings.TrimSuffix(name, "/")); ; dir = path.Dir(dir) {
			if foreign[dir] {
				return true
			}
			if dir == "." {
				return false
			}
		}
	}
	for _, name := range others {
		if shown[name] || hidden(name) {
			d.untracked = append(d.untracked, name)
		} else {
			d.ignored = append(d.ignored, name)
		}
	}
}
