// Moving the branch of a dispatch: last of all, and only when nobody else could be hurt.

package bridge

import (
	"context"
	"fmt"
	"strings"
)

// branchMark is a branch as it was before the attempt.
type branchMark struct {
	Name string `json:"name"`
	// Old is the commit it pointed at, "" when it did not exist.
	Old string `json:"old"`
}

// readBranch notes where a branch stands.
func (r *repository) readBranch(ctx context.Context, name string) (*branchMark, error) {
	old, err := r.ref(ctx, branchRef(name))
	if err != nil {
		return nil, err
	}
	return &branchMark{Name: name, Old: old}, nil
}

// advance moves a branch forward to a commit, if it is where it was and no worktree has it checked
// out: moving it under a worktree would make every file there look changed.
func (r *repository) advance(ctx context.Context, b *branchMark, to string) error {
	if b.Old == to {
		return nil
	}
	if b.Old != "" {
		forward, err := r.ancestor(ctx, b.Old, to)
		if err != nil {
			return err
		}
		if !forward {
			return fmt.Errorf("branch %s has commits of its own", b.Name)
		}
	}
	entries, err := r.list(ctx, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return err
	}
	place := ""
	for _, line := range entries {
		if dir, ok := strings.CutPrefix(line, "worktree "); ok {
			place = dir
		}
		if line == "branch "+branchRef(b.Name) {
			return fmt.Errorf("branch %s is checked out in %s", b.Name, place)
		}
	}
	expected := b.Old
	if expected == "" {
		expected = noObject
	}
	if _, err := r.run(ctx, "update-ref", "--no-deref", "-m", "countersign: candidate", branchRef(b.Name), to, expected); err != nil {
		return fmt.Errorf("branch %s was moved meanwhile, or its name is taken: %w", b.Name, err)
	}
	return nil
}
