// The node: polls for offers, claims one, runs it to its end, and polls again.

// Package bridge is the daemon on the machine where the repositories are. It runs one attempt at a
// time under a fenced lease, in a worktree and a process tree of its own, and reports only what it
// has proven. It knows the server by HTTP and the contracts alone.
package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/google/uuid"
)

const (
	// minFree is how much disk space a node wants before it claims.
	minFree = 256 << 20
	// keptAttempts is how many ended attempts leave their logs behind.
	keptAttempts = 20
)

// ErrContainment says that a process of an attempt could not be killed. The node claims nothing more
// until a person has seen to it.
var ErrContainment = errors.New("a process of an attempt could not be stopped")

// Options configure a node.
type Options struct {
	// Server is the server's URL, Token the node's token.
	Server, Token string
	// NodeID stands in logs and in the reason of worktree locks.
	NodeID string
	// Root is the bridge's own directory, outside every workspace; one bridge runs on it at a time.
	Root string
	// Workspaces are the absolute paths of the repositories this node works for.
	Workspaces []string
	// Version is the program's, which capability reports name; "" means a development build.
	Version string
	// Log takes what the node has to tell; nil means slog.Default.
	Log *slog.Logger
	// Executable is the program that answers to the hidden subcommands (see RunHidden); "" means the
	// running one.
	Executable string

	// For tests: other clocks, less patience.
	clock clock
	grace time.Duration
	late  time.Duration
	wait  time.Duration
	space func() (uint64, error)
}

// Node is a configured bridge.
type Node struct {
	client     *Client
	root       root
	workspaces workspaces
	runtimes   map[workflow.Runtime]Runtime
	executable string
	id         string
	token      string
	log        *slog.Logger
	clock      clock
	grace      time.Duration
	late       time.Duration
	wait       time.Duration
	space      func() (uint64, error)
	git        *gitProgram
}

// New checks the options and makes a node that has done nothing yet.
func New(opts Options) (*Node, error) {
	client, err := NewClient(opts.Server, opts.Token)
	if err != nil {
		return nil, err
	}
	r, err := openRoot(opts.Root)
	if err != nil {
		return nil, err
	}
	allowed, err := resolveWorkspaces(opts.Workspaces, r)
	if err != nil {
		return nil, err
	}
	n := &Node{
		client: client, root: r, workspaces: allowed,
		executable: opts.Executable, id: opts.NodeID, token: opts.Token, log: opts.Log,
		clock: opts.clock, grace: opts.grace, late: opts.late, wait: opts.wait, space: opts.space,
	}
	if n.executable == "" {
		if n.executable, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find the running program: %w", err)
		}
	}
	if !filepath.IsAbs(n.executable) {
		return nil, fmt.Errorf("executable %q is not an absolute path", n.executable)
	}
	if n.id == "" {
		n.id = "node"
	}
	if n.log == nil {
		n.log = slog.Default()
	}
	n.log = n.log.With("node", n.id)
	if n.clock == nil {
		n.clock = newSystemClock()
	}
	if n.grace == 0 {
		n.grace = stopGrace
	}
	if n.late == 0 {
		n.late = lateBound
	}
	if n.wait == 0 {
		n.wait = 25 * time.Second
	}
	if n.space == nil {
		n.space = r.free
	}
	n.runtimes = map[workflow.Runtime]Runtime{}
	for _, rt := range []Runtime{synthetic{n.executable, hostVersion(opts.Version)}} {
		n.runtimes[rt.Name()] = rt
	}
	return n, nil
}

// hostVersion is a program's version as session identities may name it.
func hostVersion(version string) string {
	if version = strings.Trim(version, "()"); version == "" {
		return "devel"
	}
	return version
}

// Run works until ctx ends, which is no error: an attempt in progress is stopped and reported as
// interrupted first. It fails when the root is in use, when the server does not know the token from
// the start, and with ErrContainment.
func (n *Node) Run(ctx context.Context) error {
	defer n.client.Close()
	unlock, err := n.root.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if n.git, err = findGit(ctx); err != nil {
		return n.ending(ctx, err)
	}
	for _, workspace := range n.workspaces {
		if _, err := openRepository(ctx, n.git, workspace); err != nil && ctx.Err() == nil {
			n.log.Warn("workspace is not a Git repository that can be worked on: only artifact tasks can run there", "workspace", workspace, "error", err)
		}
	}
	if err := n.recover(ctx); err != nil {
		return n.ending(ctx, err)
	}
	n.log.Info("node is ready", "workspaces", []string(n.workspaces), "root", string(n.root))
	return n.ending(ctx, n.serve(ctx))
}

// ending makes the end of ctx a good one.
func (n *Node) ending(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, ErrContainment) {
		n.log.Info("node has stopped")
		return nil
	}
	return err
}

// serve is the loop of a node. Failures in a row slow it down.
func (n *Node) serve(ctx context.Context) error {
	slow := backoff{first: 200 * time.Millisecond, most: 5 * time.Second}
	failures, polled := 0, false
	for ctx.Err() == nil {
		err := n.turn(ctx, &polled)
		switch {
		case err == nil:
			failures = 0
			continue
		case errors.Is(err, ErrContainment):
			return err
		case !polled && (contracts.CodeOf(err) == contracts.CodeUnauthenticated || contracts.CodeOf(err) == contracts.CodeForbidden):
			return fmt.Errorf("the server does not accept this node's token: %w", err)
		case ctx.Err() == nil:
			n.log.Warn("cannot work now", "error", err)
		}
		_ = pause(ctx, slow.wait(failures, asked(err)))
		failures++
	}
	return ctx.Err()
}

// turn polls once and runs what it finds.
func (n *Node) turn(ctx context.Context, polled *bool) error {
	if free, err := n.space(); err != nil {
		return err
	} else if free < minFree {
		return fmt.Errorf("only %d MiB of disk space are left, %d are needed to claim", free>>20, minFree>>20)
	}
	// One try: the loop around this one says in the log that the server is away.
	var list workflow.OfferList
	if err := n.client.try(ctx, offersCall(n.wait), &list); err != nil {
		return fmt.Errorf("poll: %w", err)
	}
	*polled = true
	if len(list.Executions) == 0 {
		return nil
	}
	offer := slices.MinFunc(list.Executions, func(a, b workflow.Offer) int { return a.OfferedAt.Compare(b.OfferedAt) })
	if !executionID.MatchString(offer.ExecutionID) {
		return fmt.Errorf("offer with an impossible execution id %q", offer.ExecutionID)
	}
	j, err := begin(n.root, offer.ExecutionID, uuid.NewString())
	if err != nil {
		return err
	}
	return n.claim(ctx, j)
}

// claim takes the offer of a journal that has just been begun, and runs the attempt.
func (n *Node) claim(ctx context.Context, j *journal) error {
	var (
		sent   stamp
		answer workflow.ClaimAnswer
	)
	err := n.client.backoff.retry(ctx, func() error {
		sent = now(n.clock)
		return n.client.try(ctx, claimCall(j.ExecutionID, j.ClaimID), &answer)
	})
	if err != nil && transient(err) {
		// The claim may have taken effect. The next start asks again with the same id.
		return fmt.Errorf("claim: %w", err)
	}
	if err == nil {
		err = usableClaim(j.ExecutionID, &answer)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("claim: %w", err), j.forget())
	}
	j.Claim = &answer
	if err := j.to(stepWorkspace); err != nil {
		return err
	}
	return n.newAttempt(j, sent).run(ctx)
}

// usableClaim refuses an answer that could not even be reported on.
func usableClaim(execution string, c *workflow.ClaimAnswer) error {
	switch {
	case c.ExecutionID != execution || c.Plan.ExecutionID != execution:
		return fmt.Errorf("the answer is about execution %q", c.ExecutionID)
	case c.LeaseID == "" || c.FencingToken < 1:
		return errors.New("the answer has no lease")
	case c.LeaseSeconds <= 0 || !c.LeaseExpiresAt.After(c.ServerTime):
		return errors.New("the lease is over already")
	}
	return nil
}

// prune removes the oldest records of ended attempts.
func (n *Node) prune() error {
	all, err := journals(n.root)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(j *journal) bool { return j.Step != stepDone })
	for _, j := range all[:max(0, len(all)-keptAttempts)] {
		if err := j.forget(); err != nil {
			return err
		}
	}
	return nil
}
