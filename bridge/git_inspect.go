// What a worker left behind: accepted only when it is a clean, whole, honest continuation of its base.

package bridge

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
)

// evidenceDir is where evidence lies in a repository; only the bridge writes there.
const evidenceDir = ".countersign"

// inspection is what was found in a worktree after its process tree had died.
type inspection struct {
	head    string
	commits int      // of the worker
	files   []string // that differ from the base
	ignored int      // files that .gitignore keeps out of the candidate
}

// inspect proves that the worktree is a result, in the order in which a lie would matter: first
// that git may be believed, then what it says.
func (w *worktree) inspect(ctx context.Context, base string) (*inspection, error) {
	if err := w.intact(); err != nil {
		return nil, err
	}
	if ops := w.unfinished(); len(ops) > 0 {
		return nil, failf("operation_in_progress", "%s", listed(ops))
	}
	head, err := w.head(ctx)
	if err != nil {
		return nil, err
	}
	in := &inspection{head: head}
	dirt, err := w.dirt(ctx, head)
	if err != nil {
		return nil, err
	}
	if found := dirt.found(); len(found) > 0 {
		return nil, failf("dirty_workspace", "%s", listed(found))
	}
	in.ignored = len(dirt.ignored)
	if head == base {
		return in, nil
	}
	if err := w.repo.checkResult(ctx, base, head); err != nil {
		return nil, err
	}
	return in, in.describe(ctx, w.repo, base)
}

// checkResult proves that head continues base and touches nothing that is not a worker's.
func (r *repository) checkResult(ctx context.Context, base, head string) error {
	if err := r.commit(ctx, head); err != nil {
		return err
	}
	descends, err := r.ancestor(ctx, base, head)
	if err != nil {
		return err
	}
	if !descends {
		return failf("not_a_descendant", "the result %s does not continue %s", head, base)
	}
	// Walks every new tree and blob, so a result with missing objects is found here.
	if _, err := r.run(ctx, "rev-list", "--objects", "--quiet", head, "^"+base); err != nil {
		if _, ok := errors.AsType[*gitError](err); ok {
			return fmt.Errorf("%w: %w", failf("candidate_incomplete", "objects of %s are missing", head), err)
		}
		return err
	}
	touched, err := r.git.run(ctx, gitCall{
		args: []string{"rev-list", "--full-history", "--max-count=1", head, "^" + base, "--", evidenceDir},
		// A file system may take .Countersign for the same directory.
		env: []string{"GIT_DIR=" + r.dir, "GIT_ICASE_PATHSPECS=1"},
	})
	if err != nil {
		return err
	}
	if sha := oneLine(touched); sha != "" {
		return failf("evidence_path_touched", "commit %s changes %s/", sha, evidenceDir)
	}
	return r.checkSupported(ctx, head)
}

// checkSupported refuses trees whose files are not all in the repository: submodules, and files that
// Git LFS keeps elsewhere.
func (r *repository) checkSupported(ctx context.Context, commit string) error {
	var submodule string
	attributes := map[string]bool{}
	_, err := r.git.run(ctx, gitCall{
		args: []string{"ls-tree", "-r", "-z", "--full-tree", commit},
		env:  []string{"GIT_DIR=" + r.dir},
		each: func(entry string) {
			meta, name, _ := strings.Cut(entry, "\t")
			info := strings.Fields(meta) // mode, type, object
			switch {
			case len(info) != 3:
			case info[1] == "commit":
				submodule = name
			case path.Base(name) == ".gitattributes":
				attributes[info[2]] = true
			}
		},
	})
	if err != nil {
		return err
	}
	if submodule != "" {
		return failf("submodules_unsupported", "%s is a submodule", submodule)
	}
	for object := range attributes {
		text, err := r.run(ctx, "cat-file", "blob", object)
		if err != nil {
			return err
		}
		if strings.Contains(string(text), "filter=lfs") {
			return failf("lfs_unsupported", "the tree keeps files in Git LFS")
		}
	}
	return nil
}

// describe fills in what the evidence tells of the result.
func (in *inspection) describe(ctx context.Context, r *repository, base string) error {
	out, err := r.run(ctx, "rev-list", "--count", in.head, "^"+base)
	if err != nil {
		return err
	}
	if _, err := fmt.Sscan(oneLine(out), &in.commits); err != nil {
		return fmt.Errorf("count commits: %w", err)
	}
	in.files, err = r.changed(ctx, base, in.head)
	return err
}

// changed lists the paths that differ between two commits.
func (r *repository) changed(ctx context.Context, from, to string) ([]string, error) {
	return r.list(ctx, "diff-tree", "-r", "-z", "--no-renames", "--name-only", from, to)
}

// untouched proves that a verifier left every byte as it was.
func (w *worktree) untouched(ctx context.Context, commit string) error {
	if err := w.intact(); err != nil {
		return err
	}
	head, err := w.head(ctx)
	if err != nil {
		return err
	}
	if head != commit {
		return failf("workspace_modified", "HEAD moved to %s", head)
	}
	dirt, err := w.dirt(ctx, commit)
	if err != nil {
		return err
	}
	if found := append(dirt.found(), dirt.ignored...); len(found) > 0 {
		return failf("workspace_modified", "%s", listed(found))
	}
	return nil
}
