// Clearing up after an attempt, in the same way whether it ended or its bridge died.

package bridge

import (
	"context"
	"errors"
	"os"
)

// removeTree pins what would be lost, then removes the worktree and the base pin.
func (a *attempt) removeTree(ctx context.Context) error {
	if err := a.removePlain(a.node.root); err != nil {
		return err
	}
	if a.Tree == nil {
		return nil
	}
	repo := &repository{git: a.node.git, dir: a.Repository}
	tree := &worktree{repo: repo, worktreeMark: *a.Tree, scratch: a.dir}
	a.keepCommits(ctx, tree)
	if err := tree.remove(ctx); err != nil {
		return err
	}
	if err := repo.unpin(ctx, baseRefs+a.ExecutionID); err != nil {
		a.log.Warn("cannot remove the base's pin", "error", err)
	}
	return nil
}

// keepCommits pins what a worker committed in an attempt that came to nothing. What cannot be
// resolved is no commit worth keeping.
func (a *attempt) keepCommits(ctx context.Context, tree *worktree) {
	if a.Candidate != "" || tree.Admin == "" || !a.plan.Profile.AllowWorkspaceWrites {
		return
	}
	head, err := tree.head(ctx)
	if err != nil || head == a.plan.BaseCommit || tree.repo.commit(ctx, head) != nil {
		return
	}
	if err := tree.repo.pin(ctx, abandonedRefs+a.ExecutionID, head); err != nil {
		a.log.Warn("cannot keep the attempt's commits", "commit", head, "error", err)
		return
	}
	a.log.Info("the attempt's commits are kept", "commit", head, "ref", abandonedRefs+a.ExecutionID)
}

// dropScratch leaves only the record and the logs.
func (a *attempt) dropScratch() error {
	return errors.Join(os.RemoveAll(a.path("home")), os.RemoveAll(a.path("tmp")))
}
