// What a worker changed in its repository, as git tells it.

package bridge

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// gitEffects compares the attempt's base with its result: what is committed, and what lies beside it in
// the worktree. candidate is the sealed commit; "" is for an attempt that has none, whose result is
// wherever its worktree stands.
func (a *attempt) gitEffects(ctx context.Context, candidate string) (result string, committed, beside []effect, err error) {
	if result, err = a.resultOf(ctx, candidate); err != nil {
		return "", nil, nil, err
	}
	if committed, err = a.repo.effects(ctx, a.plan.BaseCommit, result); err != nil {
		return "", nil, nil, err
	}
	dirt, err := a.tree.dirt(ctx, result)
	if err != nil {
		return "", nil, nil, err
	}
	for _, name := range dirt.modified {
		kind := effectWrite
		if _, err := os.Lstat(filepath.Join(a.tree.Dir, filepath.FromSlash(name))); os.IsNotExist(err) {
			kind = effectDelete
		}
		beside = append(beside, effect{name, kind})
	}
	created := dirt.untracked
	if !a.mayWrite() {
		// Who may change nothing leaves nothing at all; what others leave ignored is no part of any result.
		created = append(created, dirt.ignored...)
	}
	for _, name := range created {
		beside = append(beside, effect{strings.TrimSuffix(name, "/"), effectCreate})
	}
	return result, committed, beside, nil
}

// resultOf is what the worker itself handed in: the candidate's parent when the candidate is the bridge's
// evidence commit, which touches its one file only.
func (a *attempt) resultOf(ctx context.Context, candidate string) (string, error) {
	if candidate == "" {
		if err := a.tree.intact(); err != nil {
			return "", err
		}
		return a.tree.head(ctx)
	}
	if candidate == a.plan.BaseCommit {
		return candidate, nil
	}
	out, err := a.repo.run(ctx, "rev-parse", "--verify", "--quiet", candidate+"^{commit}^")
	if err != nil {
		return "", err
	}
	parent := oneLine(out)
	sealed, err := a.repo.effects(ctx, parent, candidate)
	if err != nil {
		return "", err
	}
	if len(sealed) == 1 && sealed[0] == (effect{evidencePath(a.ExecutionID), effectCreate}) {
		return parent, nil
	}
	return candidate, nil
}

// effects lists what differs between two commits. A rename is the deletion of one path and the creation
// of another; another mode or type is a write.
func (r *repository) effects(ctx context.Context, from, to string) ([]effect, error) {
	items, err := r.list(ctx, "diff-tree", "-r", "-z", "--no-renames", "--name-status", from, to)
	if err != nil {
		return nil, err
	}
	found := []effect{}
	for i := 0; i+1 < len(items); i += 2 {
		kind := effectWrite
		switch items[i] {
		case "A":
			kind = effectCreate
		case "D":
			kind = effectDelete
		}
		found = append(found, effect{items[i+1], kind})
	}
	return found, nil
}
