// Git: exact commits in, clean candidates out, whatever an agent did in between.

package bridge

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// checkout is a worktree of a real repository and an agent in it, without a process.
type checkout struct {
	*repo
	opened *repository
	tree   *worktree
	agent  *agent
}

func testGit(t *testing.T) *gitProgram {
	t.Helper()
	g, err := findGit(t.Context())
	require.NoError(t, err)
	return g
}

func newCheckout(t *testing.T) *checkout {
	t.Helper()
	r := newRepo(t)
	opened, err := openRepository(t.Context(), testGit(t), r.dir)
	require.NoError(t, err)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	tree, err := opened.addWorktree(t.Context(), filepath.Join(dir, "exec-1"), dir, "countersign:node:exec-1", r.base)
	require.NoError(t, err)
	return &checkout{repo: r, opened: opened, tree: tree, agent: &agent{dir: tree.Dir}}
}

func (c *checkout) play(steps ...scriptStep) {
	c.t.Helper()
	require.NoError(c.t, c.agent.play(steps))
}

func TestWorktree(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	require.Contains(t, c.git("worktree", "list", "--porcelain"), "locked countersign:node:exec-1")
	data, err := os.ReadFile(filepath.Join(c.tree.Dir, "README.md"))
	require.NoError(t, err)
	require.Equal(t, "# Example\n", string(data))
	in, err := c.tree.inspect(t.Context(), c.base)
	require.NoError(t, err)
	require.Equal(t, &inspection{head: c.base}, in)

	c.play(dirty("read_only"))
	require.NoError(t, c.tree.remove(t.Context()))
	require.NoDirExists(t, c.tree.Dir)
	require.Equal(t, c.dir, strings.Fields(c.git("worktree", "list"))[0])
	require.NotContains(t, c.git("worktree", "list"), "exec-1")
}

func TestInspect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps  []scriptStep
		reason string
	}{
		"untracked":         {[]scriptStep{dirty("open")}, "dirty_workspace: left-over.txt"},
		"modified":          {[]scriptStep{edit("README.md", "changed")}, "dirty_workspace: README.md"},
		"deleted":           {[]scriptStep{{Delete: new("src/a.txt")}}, "dirty_workspace: src/a.txt"},
		"mode":              {[]scriptStep{dirty("mode")}, "dirty_workspace: README.md"},
		"assume-unchanged":  {[]scriptStep{dirty("assume_unchanged")}, "dirty_workspace: README.md"},
		"skip-worktree":     {[]scriptStep{dirty("skip_worktree")}, "dirty_workspace: README.md"},
		"info/exclude":      {[]scriptStep{dirty("info_exclude")}, "dirty_workspace: left-over.txt"},
		"untracked hidden":  {[]scriptStep{dirty("untracked_off")}, "dirty_workspace: left-over.txt"},
		"own .gitignore":    {[]scriptStep{dirty("own_gitignore")}, "dirty_workspace: hidden/.gitignore"},
		"swapped .git":      {[]scriptStep{dirty("git_file")}, "workspace_tampered"},
		"symbolic link":     {[]scriptStep{dirty("linked")}, "workspace_tampered: the worktree is not a directory"},
		"info/attributes":   {[]scriptStep{dirty("info_attributes")}, "workspace_tampered"},
		"beside a commit":   {[]scriptStep{edit("b.txt", "b"), commit("Add b"), dirty("open")}, "dirty_workspace"},
		"orphan":            {[]scriptStep{dirty("orphan")}, "not_a_descendant"},
		"rebase":            {[]scriptStep{dirty("rebase")}, "operation_in_progress: rebase-merge"},
		"evidence":          {[]scriptStep{edit(".countersign/evidence/x.json", "{}"), commit("Cheat")}, "evidence_path_touched"},
		"evidence, case":    {[]scriptStep{edit(".CounterSign/x", "{}"), commit("Cheat")}, "evidence_path_touched"},
		"evidence and back": {[]scriptStep{edit(".countersign/x", "{}"), commit("Cheat"), {Delete: new(".countersign")}, commit("Hide")}, "evidence_path_touched"},
		"lfs":               {[]scriptStep{edit(".gitattributes", "*.bin filter=lfs\n"), commit("Use LFS")}, "lfs_unsupported"},
		"submodule":         {[]scriptStep{dirty("submodule")}, "submodules_unsupported: sub"},
		"missing object":    {[]scriptStep{edit("b.txt", "lost"), commit("Add b"), dirty("lose_blob")}, "candidate_incomplete"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			co := newCheckout(t)
			co.play(c.steps...)
			_, err := co.tree.inspect(t.Context(), co.base)
			require.ErrorContains(t, err, c.reason)
			_, isFailure := err.(*failure)
			require.True(t, isFailure || strings.Contains(err.Error(), "git "), "a failure with a reason: %v", err)
			require.NoError(t, co.tree.remove(t.Context()))
			require.NotContains(t, co.git("worktree", "list"), "exec-1")
			if name == "symbolic link" {
				require.Contains(t, co.git("worktree", "list"), "operators-own")
				require.FileExists(t, filepath.Join(filepath.Dir(co.dir), "operators-own", "README.md"))
			}
		})
	}
}

func TestInspectResult(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.play(edit("b.txt", "b"), commit("Add b"), scriptStep{Delete: new("src/a.txt")}, commit("Drop a"), dirty("ignored"), dirty("on_branch"))
	in, err := c.tree.inspect(t.Context(), c.base)
	require.NoError(t, err)
	require.Equal(t, 2, in.commits)
	require.Equal(t, []string{"b.txt", "src/a.txt"}, in.files)
	require.Equal(t, 1, in.ignored)
	require.ErrorContains(t, c.tree.untouched(t.Context(), in.head), "workspace_modified: ignored.log")
	require.ErrorContains(t, c.tree.untouched(t.Context(), c.base), "workspace_modified: HEAD moved")
}

func TestSeal(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.play(edit("b.txt", "b"), commit("Add b"))
	head := c.agentHead()
	sealed, err := c.opened.seal(t.Context(), t.TempDir(), candidateRefs+"exec-1", head, evidencePath("exec-1"), []byte("{}\n"), "Evidence", time.Unix(1700000000, 0))
	require.NoError(t, err)
	require.Equal(t, sealed, c.git("rev-parse", candidateRefs+"exec-1"))
	require.Equal(t, head, c.git("rev-parse", sealed+"^"))
	require.Equal(t, ".countersign/evidence/exec-1.json", c.git("diff", "--name-only", head, sealed))
	require.Equal(t, "countersign bridge <bridge@countersign.invalid> 1700000000", c.git("show", "-s", "--format=%cn <%ce> %ct", sealed))
	_, err = c.opened.seal(t.Context(), t.TempDir(), candidateRefs+"exec-2", head, "b.txt/x.json", nil, "Evidence", time.Now())
	require.ErrorContains(t, err, "evidence_path_touched")
}

func (c *checkout) agentHead() string {
	c.t.Helper()
	head, err := c.tree.head(c.t.Context())
	require.NoError(c.t, err)
	return head
}

func TestCommit(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	opened, err := openRepository(t.Context(), testGit(t), r.dir)
	require.NoError(t, err)
	require.NoError(t, opened.commit(t.Context(), r.base))

	missing := strings.Repeat("b", 40)
	require.ErrorContains(t, opened.commit(t.Context(), missing), "base_missing")
	r.git("tag", "--annotate", "--message", "x", "v1")
	require.ErrorContains(t, opened.commit(t.Context(), r.git("rev-parse", "v1")), "is not a commit")
	require.ErrorContains(t, opened.commit(t.Context(), r.git("rev-parse", "HEAD^{tree}")), "base_missing")
	r.git("update-ref", "refs/heads/"+missing, r.base)
	require.ErrorContains(t, opened.commit(t.Context(), missing), "base_missing", "a ref that looks like a commit is none")
}

func TestOpenRepository(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	g := testGit(t)
	_, err := openRepository(t.Context(), g, filepath.Join(r.dir, "src"))
	require.ErrorContains(t, err, "workspace_refused", "not a directory inside a repository")
	_, err = openRepository(t.Context(), g, filepath.Dir(r.dir))
	require.ErrorContains(t, err, "workspace_refused")

	bare := filepath.Join(filepath.Dir(r.dir), "bare.git")
	r.git("clone", "--quiet", "--bare", ".", bare)
	opened, err := openRepository(t.Context(), g, bare)
	require.NoError(t, err)
	require.Equal(t, bare, opened.dir)
	linked := filepath.Join(filepath.Dir(r.dir), "linked")
	r.git("worktree", "add", "--quiet", "--detach", linked)
	opened, err = openRepository(t.Context(), g, linked)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(r.dir, ".git"), opened.dir)
}

func TestWorkspaces(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, name := range []string{"allowed", "other", "root"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(filepath.Join(dir, "allowed"), link))
	out := filepath.Join(dir, "allowed", "out")
	require.NoError(t, os.Symlink(filepath.Join(dir, "other"), out))

	list, err := resolveWorkspaces([]string{link}, root(filepath.Join(dir, "root")))
	require.NoError(t, err)
	for _, good := range []string{link, filepath.Join(dir, "allowed")} {
		real, err := list.resolve(good)
		require.NoError(t, err)
		require.Equal(t, filepath.Join(dir, "allowed"), real)
	}
	for _, bad := range []string{out, filepath.Join(dir, "other"), filepath.Join(dir, "nowhere"), "allowed", link + "/", link + "/../other", "/", ""} {
		_, err := list.resolve(bad)
		require.ErrorContains(t, err, "workspace_refused", bad)
	}
	for _, bad := range [][]string{nil, {"relative"}, {filepath.Join(dir, "nowhere")}, {dir}, {filepath.Join(dir, "root")}} {
		_, err := resolveWorkspaces(bad, root(filepath.Join(dir, "root")))
		require.Error(t, err, bad)
	}
}

func TestAdvance(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := newRepo(t)
	opened, err := openRepository(ctx, testGit(t), r.dir)
	require.NoError(t, err)
	r.git("checkout", "--quiet", "--detach")
	r.write("next.txt", "x")
	next := r.commit("Next")
	tip := func(name string) string { return r.git("rev-parse", "refs/heads/"+name) }

	read := func(name string) *branchMark {
		b, err := opened.readBranch(ctx, name)
		require.NoError(t, err)
		return b
	}
	fresh := read("fresh")
	require.NoError(t, opened.advance(ctx, fresh, next))
	require.Equal(t, next, tip("fresh"))
	require.ErrorContains(t, opened.advance(ctx, fresh, r.base), "was moved", "it exists by now")

	main := read("main")
	require.NoError(t, opened.advance(ctx, main, next))
	require.NoError(t, opened.advance(ctx, read("main"), next), "it is there already")

	r.git("branch", "moving", r.base)
	moving := read("moving")
	r.write("other.txt", "x")
	r.git("branch", "--force", "moving", r.commit("Other"))
	require.ErrorContains(t, opened.advance(ctx, moving, next), "was moved")
	require.ErrorContains(t, opened.advance(ctx, read("moving"), next), "commits of its own")

	r.git("checkout", "--quiet", "-b", "busy", r.base)
	require.ErrorContains(t, opened.advance(ctx, read("busy"), next), "checked out in "+r.dir)
	require.Equal(t, r.base, tip("busy"))

	require.Error(t, opened.advance(ctx, read("fresh/below"), next), "a file is in the directory's place")
	r.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
	_, err = opened.readBranch(ctx, "alias")
	require.ErrorContains(t, err, "symbolic")

	for _, bad := range []string{"-x", "a..b", "a b", "a.lock", "@", "a/", "refs/heads/\x01"} {
		require.ErrorContains(t, opened.checkBranch(ctx, bad), "branch_invalid", bad)
	}
	require.NoError(t, opened.checkBranch(ctx, "feature/ünicode-1"))
}

func TestLockHeld(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	g := testGit(t)
	g.patience = 300 * time.Millisecond
	opened, err := openRepository(t.Context(), g, r.dir)
	require.NoError(t, err)
	dir := filepath.Join(r.dir, ".git", "refs", "countersign", "base")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	lock := filepath.Join(dir, "e1.lock")
	require.NoError(t, os.WriteFile(lock, nil, 0o600))
	require.ErrorContains(t, opened.pin(t.Context(), baseRefs+"e1", r.base), "git_lock_held")

	g.patience = waitBound
	time.AfterFunc(100*time.Millisecond, func() { os.Remove(lock) })
	require.NoError(t, opened.pin(t.Context(), baseRefs+"e1", r.base), "a lock that is let go is waited for")
	require.Equal(t, r.base, r.git("rev-parse", baseRefs+"e1"))
}

func TestGitIsKilledWithItsChildren(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.git("config", "filter.slow.smudge", "sleep 1000")
	r.write(".gitattributes", "slow.txt filter=slow\n")
	r.write("slow.txt", "x")
	base := r.commit("Slow")
	opened, err := openRepository(t.Context(), testGit(t), r.dir)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = opened.addWorktree(ctx, filepath.Join(t.TempDir(), "e1"), t.TempDir(), "x", base)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestGitOutputIsBounded(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("large.txt", strings.Repeat("x", gitOutput+1))
	commit := r.commit("Large")
	opened, err := openRepository(t.Context(), testGit(t), r.dir)
	require.NoError(t, err)
	_, err = opened.run(t.Context(), "cat-file", "blob", commit+":large.txt")
	require.ErrorContains(t, err, "bytes of output")
}
