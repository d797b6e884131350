// The worktree of one attempt: made at an exact commit, recognised afterwards, removed whatever it holds.

package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// worktreeMark is what the journal keeps of a worktree.
type worktreeMark struct {
	Dir string `json:"dir"`
	// Admin is the worktree's own directory below the common git directory.
	Admin string `json:"admin"`
	// Pointers are the contents of the files that tie the two together and to the repository.
	Pointers map[string][]byte `json:"pointers"`
}

// worktree is a linked worktree with a detached HEAD.
type worktree struct {
	repo *repository
	worktreeMark
	// scratch is a directory outside the worktree for index files of our own.
	scratch string
}

// addWorktree checks out commit in a new directory. The caller has written dir down before.
func (r *repository) addWorktree(ctx context.Context, dir, scratch, reason, commit string) (*worktree, error) {
	if _, err := r.run(ctx, "worktree", "add", "--quiet", "--detach", "--lock", "--reason", reason, dir, commit); err != nil {
		return nil, fmt.Errorf("add worktree: %w", err)
	}
	pointer, err := os.ReadFile(filepath.Join(dir, ".git"))
	if err != nil {
		return nil, fmt.Errorf("new worktree: %w", err)
	}
	admin, ok := strings.CutPrefix(strings.TrimSpace(string(pointer)), "gitdir: ")
	if !ok {
		return nil, fmt.Errorf("new worktree: unexpected .git file %q", pointer)
	}
	if admin, err = filepath.EvalSymlinks(admin); err != nil {
		return nil, fmt.Errorf("new worktree: %w", err)
	}
	if filepath.Dir(admin) != filepath.Join(r.dir, "worktrees") {
		return nil, fmt.Errorf("new worktree: admin directory %s is not of repository %s", admin, r.dir)
	}
	w := &worktree{repo: r, scratch: scratch, worktreeMark: worktreeMark{Dir: dir, Admin: admin}}
	if w.Pointers, err = w.pointers(); err != nil {
		return nil, err
	}
	if head, err := w.head(ctx); err != nil {
		return nil, err
	} else if head != commit {
		return nil, fmt.Errorf("new worktree is at %s instead of %s", head, commit)
	}
	return w, nil
}

// pointers reads the files that decide which repository and which rules a git command in the
// worktree would use.
func (w *worktree) pointers() (map[string][]byte, error) {
	found := map[string][]byte{}
	for _, path := range []string{
		filepath.Join(w.Dir, ".git"),
		filepath.Join(w.Admin, "gitdir"),
		filepath.Join(w.Admin, "commondir"),
		filepath.Join(w.Admin, "config.worktree"),
		filepath.Join(w.repo.dir, "info", "attributes"),
	} {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("worktree pointer: %w", err)
		}
		if !info.Mode().IsRegular() {
			found[path] = []byte("not a file: " + info.Mode().Type().String())
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("worktree pointer: %w", err)
		}
		found[path] = data
	}
	return found, nil
}

// intact fails when a pointer is not what it was, or the directory is not one any more.
func (w *worktree) intact() error {
	info, err := os.Lstat(w.Dir)
	if err == nil && !info.IsDir() {
		return failf("workspace_tampered", "the worktree is not a directory any more")
	}
	found, err := w.pointers()
	if err != nil {
		return fmt.Errorf("%w: %w", failf("workspace_tampered", "the worktree's git files cannot be read"), err)
	}
	same := len(found) == len(w.Pointers)
	for path, data := range w.Pointers {
		same = same && bytes.Equal(found[path], data)
	}
	if !same {
		return failf("workspace_tampered", "the worktree's git files were changed")
	}
	return nil
}

// head resolves HEAD by reading it, without running git inside the worktree.
func (w *worktree) head(ctx context.Context) (string, error) {
	data, err := os.ReadFile(filepath.Join(w.Admin, "HEAD"))
	if err != nil {
		return "", fmt.Errorf("read HEAD: %w", err)
	}
	text := strings.TrimSpace(string(data))
	ref, symbolic := strings.CutPrefix(text, "ref: ")
	if !symbolic {
		if !commitID.MatchString(text) {
			return "", failf("workspace_tampered", "HEAD is not a commit")
		}
		return text, nil
	}
	if !strings.HasPrefix(ref, "refs/heads/") {
		return "", failf("workspace_tampered", "HEAD points outside the branches")
	}
	sha, err := w.repo.ref(ctx, ref)
	if err != nil {
		return "", err
	}
	if sha == "" {
		return "", failf("workspace_tampered", "HEAD points at a branch without a commit")
	}
	return sha, nil
}

// unfinished lists git operations that were left in the middle.
func (w *worktree) unfinished() []string {
	var found []string
	for _, name := range []string{
		"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG",
		"rebase-merge", "rebase-apply", "sequencer",
	} {
		if _, err := os.Lstat(filepath.Join(w.Admin, name)); err == nil {
			found = append(found, name)
		}
	}
	return found
}

// remove takes the worktree away, read-only files included. Commits that no ref of ours holds yet
// must have been pinned before.
func (w *worktree) remove(ctx context.Context) error {
	makeWritable(w.Dir)
	// Of a worktree that was tampered with, git might remove what it points at.
	if w.Admin == "" || w.intact() == nil {
		if _, err := w.repo.run(ctx, "worktree", "remove", "--force", "--force", w.Dir); ctx.Err() != nil {
			return err
		}
	}
	if err := os.RemoveAll(w.Dir); err != nil {
		return fmt.Errorf("remove worktree: %w", err)
	}
	if w.Admin == "" {
		return nil
	}
	if err := os.RemoveAll(w.Admin); err != nil {
		return fmt.Errorf("remove worktree's git directory: %w", err)
	}
	return nil
}

// makeWritable lets directories be emptied. What cannot be changed shows when it cannot be removed.
func makeWritable(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d == nil || !d.IsDir() {
			return nil
		}
		if err != nil {
			return fs.SkipDir
		}
		_ = os.Chmod(path, 0o700)
		return nil
	})
}
