// The anchor repository: finding its git directory, asking for commits, keeping refs of our own.

package bridge

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"countersign/contracts/workflow"
)

// noObject is what update-ref takes for "must not exist".
const noObject = "0000000000000000000000000000000000000000"

// Where the bridge keeps refs of its own.
const (
	baseRefs      = "refs/countersign/base/"
	candidateRefs = "refs/countersign/candidate/"
	evidenceRefs  = "refs/countersign/evidence/"
	// abandonedRefs keep what a worker committed in an attempt that came to nothing.
	abandonedRefs = "refs/countersign/abandoned/"
)

// repository is a workspace's repository, reached through its common git directory so that nothing
// in a worktree can redirect a command.
type repository struct {
	git *gitProgram
	dir string // common git directory, absolute and resolved
}

// openRepository finds the repository whose top level is exactly the workspace.
func openRepository(ctx context.Context, g *gitProgram, workspace string) (*repository, error) {
	discover := func(args ...string) (string, error) {
		out, err := g.run(ctx, gitCall{
			// The operator put the path on the node's list, whoever owns the files.
			args: append([]string{"-c", "safe.directory=" + workspace, "rev-parse", "--path-format=absolute"}, args...),
			dir:  workspace,
			env:  []string{"GIT_CEILING_DIRECTORIES=" + filepath.Dir(workspace)},
		})
		return oneLine(out), err
	}
	common, err := discover("--git-common-dir")
	if err != nil {
		return nil, notRepository(err)
	}
	if common, err = filepath.EvalSymlinks(common); err != nil {
		return nil, fmt.Errorf("git directory: %w", err)
	}
	if common != workspace { // a bare repository is its own git directory
		top, err := discover("--show-toplevel")
		if err != nil {
			return nil, notRepository(err)
		}
		if real, err := filepath.EvalSymlinks(top); err != nil || real != workspace {
			return nil, failf("workspace_refused", "not the top of a repository")
		}
	}
	return &repository{git: g, dir: common}, nil
}

func notRepository(err error) error {
	if _, ok := errors.AsType[*gitError](err); ok {
		return fmt.Errorf("%w: %w", failf("workspace_refused", "not a repository"), err)
	}
	return err
}

func (r *repository) run(ctx context.Context, args ...string) ([]byte, error) {
	return r.git.run(ctx, gitCall{args: args, env: []string{"GIT_DIR=" + r.dir}})
}

// list runs a command with -z and returns its items.
func (r *repository) list(ctx context.Context, args ...string) ([]string, error) {
	var items []string
	_, err := r.git.run(ctx, gitCall{
		args: args, env: []string{"GIT_DIR=" + r.dir},
		each: func(item string) { items = append(items, item) },
	})
	return items, err
}

// commit proves that sha names a commit and nothing else: not a tag, not a ref that looks like one.
func (r *repository) commit(ctx context.Context, sha string) error {
	out, err := r.run(ctx, "rev-parse", "--verify", "--quiet", sha+"^{commit}")
	if _, ok := errors.AsType[*gitError](err); ok {
		return fmt.Errorf("%w: %w", failf("base_missing", "commit %s is not in the repository", sha), err)
	}
	if err != nil {
		return err
	}
	if oneLine(out) != sha {
		return failf("base_missing", "%s is not a commit", sha)
	}
	return nil
}

// checkBranch lets git itself judge the name.
func (r *repository) checkBranch(ctx context.Context, branch string) error {
	if !workflow.BranchName(branch) {
		return failf("branch_invalid", "%q", branch)
	}
	if _, err := r.run(ctx, "check-ref-format", branchRef(branch)); err != nil {
		return fmt.Errorf("%w: %w", failf("branch_invalid", "%q", branch), err)
	}
	return nil
}

func branchRef(branch string) string { return "refs/heads/" + branch }

// pin makes a ref of ours point at a commit, so that nothing collects it.
func (r *repository) pin(ctx context.Context, ref, sha string) error {
	_, err := r.run(ctx, "update-ref", "--no-deref", ref, sha)
	return err
}

// unpin removes a ref of ours.
func (r *repository) unpin(ctx context.Context, ref string) error {
	_, err := r.run(ctx, "update-ref", "--no-deref", "-d", ref)
	return err
}

// ref is what a ref points at, "" when there is none. It does not follow symbolic refs elsewhere.
func (r *repository) ref(ctx context.Context, name string) (string, error) {
	out, err := r.run(ctx, "for-each-ref", "--format=%(objectname) %(symref) %(refname)", name)
	if err != nil {
		return "", err
	}
	for line := range strings.SplitSeq(strings.TrimSpace(string(out)), "\n") {
		parts := strings.Split(line, " ")
		if len(parts) != 3 || parts[2] != name { // a prefix matches what lies below it as well
			continue
		}
		if parts[1] != "" {
			return "", fmt.Errorf("%s is a symbolic ref", name)
		}
		return parts[0], nil
	}
	return "", nil
}

// ancestor reports whether older is an ancestor of newer, or the same.
func (r *repository) ancestor(ctx context.Context, older, newer string) (bool, error) {
	_, err := r.run(ctx, "merge-base", "--is-ancestor", older, newer)
	if e, ok := errors.AsType[*gitError](err); ok && e.status == 1 {
		return false, nil
	}
	return err == nil, err
}
