// Making the place an attempt works in, after checking that the plan may be worked on here at all.

package bridge

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var (
	commitID = regexp.MustCompile(`^[0-9a-f]{40}$`)
	digest   = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// prepare ends with a clean worktree at exactly the plan's base commit.
func (a *attempt) prepare(ctx context.Context) error {
	if err := checkPlan(a.plan); err != nil {
		return err
	}
	var ok bool
	if a.runtime, ok = a.node.runtimes[a.plan.Profile.Runtime]; !ok {
		return failf("runtime_unavailable", "%s", a.plan.Profile.Runtime)
	}
	workspace, err := a.node.workspaces.resolve(a.plan.Workspace)
	if err != nil {
		return err
	}
	produces, err := producesArtifact(a.plan.ArtifactSpec)
	if err != nil {
		return err
	}
	if produces {
		return a.preparePlain(ctx)
	}
	if a.repo, err = openRepository(ctx, a.node.git, workspace); err != nil {
		return err
	}
	base := a.plan.BaseCommit
	if err := a.repo.commit(ctx, base); err != nil {
		return err
	}
	if err := a.repo.checkBranch(ctx, a.plan.Branch); err != nil {
		return err
	}
	if err := a.repo.checkSupported(ctx, base); err != nil {
		return err
	}
	if a.Branch, err = a.repo.readBranch(ctx, a.plan.Branch); err != nil {
		// The result does not need the branch; its own ref holds it.
		a.log.Warn("branch will not be moved", "branch", a.plan.Branch, "error", err)
	}
	if err := a.makeTree(ctx, base); err != nil {
		return err
	}
	if err := a.scratchDirs(); err != nil {
		return err
	}
	a.job = a.newJob(a.tree.Dir)
	return nil
}

// newJob is the attempt as its runtime sees it, in dir.
func (a *attempt) newJob(dir string) Job {
	job := Job{Plan: *a.plan, Attempt: a.round(), Dir: dir, Scratch: a.dir}
	job.Plan.Profile.AllowWorkspaceWrites = a.mayWrite()
	return job
}

// makeTree writes down where the worktree will be, then makes it.
func (a *attempt) makeTree(ctx context.Context, base string) error {
	dir := a.node.root.tree(a.ExecutionID)
	if _, err := os.Lstat(dir); err == nil {
		return fmt.Errorf("%s exists already", dir)
	}
	a.Repository, a.Tree = a.repo.dir, &worktreeMark{Dir: dir}
	if err := a.save(); err != nil {
		return err
	}
	if err := a.repo.pin(ctx, baseRefs+a.ExecutionID, base); err != nil {
		return err
	}
	reason := fmt.Sprintf("countersign:%s:%s", a.node.id, a.ExecutionID)
	tree, err := a.repo.addWorktree(ctx, dir, a.dir, reason, base)
	if err != nil {
		return err
	}
	a.tree, a.Tree = tree, &tree.worktreeMark
	if err := a.save(); err != nil {
		return err
	}
	// Some repositories are dirty by their own attributes right after a checkout. Better to say so
	// now than to blame the agent.
	dirt, err := tree.dirt(ctx, base)
	if err != nil {
		return err
	}
	if found := append(dirt.found(), dirt.ignored...); len(found) > 0 {
		return failf("base_not_clean", "a fresh checkout differs from its commit: %s", listed(found))
	}
	return nil
}

// checkPlan refuses what would make the work, or its report, meaningless.
func checkPlan(p *workflow.Plan) error {
	w := &p.Workflow
	switch {
	case w.Purpose != workflow.PurposeWork && w.Purpose != workflow.PurposeVerify:
		return failf("plan_invalid", "purpose %q", w.Purpose)
	case !commitID.MatchString(p.BaseCommit) || !commitID.MatchString(w.FrozenBaseCommit):
		return failf("plan_invalid", "a base commit is not a full commit id")
	case !digest.MatchString(w.ContractDigest):
		return failf("plan_invalid", "contract digest")
	case len(w.Criteria) == 0:
		return failf("plan_invalid", "no criteria")
	case w.Purpose == workflow.PurposeVerify && w.CandidateHash == nil && (w.CandidateCommit == nil || *w.CandidateCommit != p.BaseCommit):
		return failf("plan_invalid", "a verifier starts at the candidate")
	case w.Purpose == workflow.PurposeVerify && w.WorkerExecutionID == nil:
		return failf("plan_invalid", "a verifier needs the worker's execution")
	}
	produces, err := producesArtifact(p.ArtifactSpec)
	if err == nil && produces != (w.CandidateHash != nil) && w.WorkerExecutionID != nil {
		err = failf("plan_invalid", "the candidate is not what the task produces")
	}
	return err
}

// producesArtifact reports whether the task's deliverable is something else than a commit.
func producesArtifact(spec jsontext.Value) (bool, error) {
	var declared struct {
		Kind string `json:"kind"`
	}
	if len(spec) == 0 || spec.Kind() == 'n' {
		return false, nil
	}
	if err := json.Unmarshal(spec, &declared); err != nil {
		return false, failf("plan_invalid", "artifact_spec")
	}
	return workflow.ArtifactMode(declared.Kind), nil
}

// round counts from 1 which work or verification this is.
func (a *attempt) round() int { return max(a.plan.Workflow.Number, 1) }

// scratchDirs are made for every agent.
func (a *attempt) scratchDirs() error {
	for _, name := range []string{"home", "tmp"} {
		if err := os.MkdirAll(filepath.Join(a.dir, name), 0o700); err != nil {
			return fmt.Errorf("scratch directory: %w", err)
		}
	}
	return nil
}
