// The evidence commit: made from objects alone, without a worktree, an index of others or a hook.

package bridge

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"
)

// evidencePath is where an execution's evidence lies in the commit that carries it.
func evidencePath(execution string) string {
	return path.Join(evidenceDir, "evidence", execution+".json")
}

// seal makes a commit on top of parent that adds one file, and pins it under ref.
func (r *repository) seal(ctx context.Context, scratch, ref, parent, file string, content []byte, message string, at time.Time) (string, error) {
	index := filepath.Join(scratch, "seal.index")
	defer os.Remove(index)
	date := fmt.Sprintf("%d +0000", at.Unix())
	env := []string{
		"GIT_DIR=" + r.dir, "GIT_INDEX_FILE=" + index,
		"GIT_AUTHOR_NAME=countersign bridge", "GIT_AUTHOR_EMAIL=bridge@countersign.invalid", "GIT_AUTHOR_DATE=" + date,
		"GIT_COMMITTER_NAME=countersign bridge", "GIT_COMMITTER_EMAIL=bridge@countersign.invalid", "GIT_COMMITTER_DATE=" + date,
	}
	run := func(stdin []byte, args ...string) (string, error) {
		out, err := r.git.run(ctx, gitCall{args: args, env: env, stdin: stdin})
		return oneLine(out), err
	}
	blob, err := run(content, "hash-object", "-w", "--no-filters", "--stdin")
	if err != nil {
		return "", err
	}
	if _, err := run(nil, "read-tree", parent); err != nil {
		return "", err
	}
	if _, err := run(nil, "update-index", "--add", "--cacheinfo", "100644,"+blob+","+file); err != nil {
		return "", fmt.Errorf("%w: %w", failf("evidence_path_touched", "%s cannot be added", file), err)
	}
	tree, err := run(nil, "write-tree")
	if err != nil {
		return "", err
	}
	commit, err := run([]byte(message+"\n"), "commit-tree", tree, "-p", parent, "-F", "-")
	if err != nil {
		return "", err
	}
	return commit, r.pin(ctx, ref, commit)
}
