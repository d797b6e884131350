// Running the git program so that neither the machine nor the repository has a say in how it behaves.

package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	gitTimeout   = 60 * time.Second
	gitOutput    = 8 << 20 // bytes kept of what a command prints; more is an error
	gitLockBound = 5 * time.Second
	gitLockEvery = 50 * time.Millisecond
)

// gitConfig takes the place of what a repository's own configuration may say. Everything that could
// run a program, reach the network or change how files compare is off.
var gitConfig = []string{
	"core.hooksPath=/dev/null",
	"core.fsmonitor=false",
	"core.untrackedCache=false",
	"core.commitGraph=false",
	"core.sparseCheckout=false",
	"core.fileMode=true",
	"core.attributesFile=/dev/null",
	"core.excludesFile=/dev/null",
	"core.pager=cat",
	"core.quotePath=false",
	"gc.auto=0",
	"maintenance.auto=false",
	"protocol.allow=never",
	"protocol.ext.allow=never",
	"credential.helper=",
	"submodule.recurse=false",
	"diff.external=",
	"commit.gpgSign=false",
	"worktree.guessRemote=false",
	"worktree.useRelativePaths=false",
	"checkout.workers=1",
	"advice.detachedHead=false",
}

// gitProgram is the git of this machine.
type gitProgram struct {
	path string
	// patience is how long a lock of another git process is waited for.
	patience time.Duration
}

// findGit looks the program up once and refuses one that lacks what is used here.
func findGit(ctx context.Context) (*gitProgram, error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("find git: %w", err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("find git: %w", err)
	}
	g := &gitProgram{path, gitLockBound}
	out, err := g.run(ctx, gitCall{args: []string{"version"}})
	if err != nil {
		return nil, err
	}
	// 2.36 brought `worktree list -z`.
	m := regexp.MustCompile(`(\d+)\.(\d+)`).FindStringSubmatch(string(out))
	if m == nil {
		return nil, fmt.Errorf("git does not tell its version: %q", out)
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	if major < 2 || (major == 2 && minor < 36) {
		return nil, fmt.Errorf("git %s is too old, 2.36 is needed", m[0])
	}
	return g, nil
}

// gitCall is one command.
type gitCall struct {
	args  []string
	dir   string   // working directory; "" is the file system's root
	env   []string // GIT_DIR and the like
	stdin []byte
	// each, when set, gets the output of a command with -z item by item, however much it is.
	each func(item string)
}

// gitError is a command that ran and failed.
type gitError struct {
	command string
	status  int
	stderr  string
}

func (e *gitError) Error() string {
	return fmt.Sprintf("git %s: exit %d: %s", e.command, e.status, strings.TrimSpace(e.stderr))
}

// lockHeld reports whether the command found a lock file of another git process.
func (e *gitError) lockHeld() bool {
	return strings.Contains(e.stderr, ".lock'") && strings.Contains(e.stderr, "File exists")
}

// run returns standard output. A lock that another process holds is waited for a while; every
// command used here may be repeated.
func (g *gitProgram) run(ctx context.Context, c gitCall) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, gitTimeout, failf("git_timeout", "git %s took more than %v", c.args[0], gitTimeout))
	defer cancel()
	start := time.Now()
	for {
		out, err := g.once(ctx, c)
		e, ok := errors.AsType[*gitError](err)
		if !ok || !e.lockHeld() {
			return out, err
		}
		if time.Since(start) > g.patience || pause(ctx, gitLockEvery) != nil {
			return nil, fmt.Errorf("%w: %w", failf("git_lock_held", "another git process holds a lock of the repository"), err)
		}
	}
}

func (g *gitProgram) once(ctx context.Context, c gitCall) ([]byte, error) {
	args := make([]string, 0, 2*len(gitConfig)+len(c.args))
	for _, setting := range gitConfig {
		args = append(args, "-c", setting)
	}
	cmd := exec.CommandContext(ctx, g.path, append(args, c.args...)...)
	cmd.Dir = c.dir
	if cmd.Dir == "" {
		cmd.Dir = "/"
	}
	cmd.Env = append(gitEnvironment(), c.env...)
	cmd.Stdin = bytes.NewReader(c.stdin)
	out, stderr := &capped{limit: gitOutput}, &capped{limit: 16 << 10}
	cmd.Stdout, cmd.Stderr = out, stderr
	if c.each != nil {
		cmd.Stdout = &splitter{each: c.each}
	}
	// A filter that git started must not outlive it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second

	err := cmd.Run()
	switch exit, ok := errors.AsType[*exec.ExitError](err); {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("git %s: %w", c.args[0], context.Cause(ctx))
	case ok:
		return nil, &gitError{command: c.args[0], status: exit.ExitCode(), stderr: string(stderr.kept)}
	case err != nil:
		return nil, fmt.Errorf("git %s: %w", c.args[0], err)
	case out.over:
		return nil, fmt.Errorf("git %s: more than %d bytes of output", c.args[0], gitOutput)
	}
	return out.kept, nil
}

// gitEnvironment is the whole environment of a git command: no configuration but the repository's,
// no prompt, no editor, no replaced objects, nothing fetched.
func gitEnvironment() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=/nonexistent",
		"LC_ALL=C",
		"TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_ASKPASS=false",
		"SSH_ASKPASS=false",
		"GIT_SSH_COMMAND=false",
		"GIT_EDITOR=false",
		"GIT_PAGER=cat",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_GRAFT_FILE=/dev/null",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_LFS_SKIP_SMUDGE=1",
		"GIT_OPTIONAL_LOCKS=0",
	}
}

// capped keeps the first limit bytes and swallows the rest, so that a flood cannot fill the memory
// and the writer does not block.
type capped struct {
	kept  []byte
	limit int
	over  bool
}

func (c *capped) Write(p []byte) (int, error) {
	room := c.limit - len(c.kept)
	c.over = c.over || len(p) > room
	c.kept = append(c.kept, p[:min(len(p), room)]...)
	return len(p), nil
}

// splitter hands on what stands between NUL bytes.
type splitter struct {
	each func(string)
	rest []byte
}

func (s *splitter) Write(p []byte) (int, error) {
	s.rest = append(s.rest, p...)
	for {
		item, rest, found := bytes.Cut(s.rest, []byte{0})
		if !found {
			return len(p), nil
		}
		s.each(string(item))
		s.rest = rest
	}
}

func oneLine(out []byte) string { return strings.TrimSuffix(string(out), "\n") }
