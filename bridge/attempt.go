// One attempt from its claim to its end.

package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"countersign/contracts/workflow"
)

// errShutdown ends an attempt because its node stops.
var errShutdown = errors.New("bridge_shutdown")

// attempt is one execution under a held lease.
type attempt struct {
	*journal
	node  *Node
	plan  *workflow.Plan
	lease *lease
	log   *slog.Logger
	// release ends the renewals.
	release func()

	runtime Runtime
	repo    *repository
	tree    *worktree
	place   *plain // instead of repo and tree, for an artifact
	job     Job

	// Of a dispatch that the capability contract binds: what the session registered, the look before the
	// call, and whether the server may know that it runs.
	registered Registration
	before     look
	called     bool
}

func (n *Node) newAttempt(j *journal, sent stamp) *attempt {
	log := n.log.With("execution", j.ExecutionID, "workflow", j.Claim.Plan.Workflow.WorkflowID)
	return &attempt{
		journal: j, node: n, log: log,
		plan:  &j.Claim.Plan,
		lease: newLease(n.client, n.clock, log, sent, n.grace, j.Claim),
	}
}

// run does everything between the claim and the next poll. Whatever happens, the process tree is
// dead when it returns, or the error is ErrContainment.
func (a *attempt) run(ctx context.Context) error {
	a.log.Info("claimed", "purpose", a.plan.Workflow.Purpose, "task", a.plan.TaskID)
	var held context.Context
	held, a.release = a.lease.hold(ctx)
	defer a.release()

	terminal, err := a.work(held)
	if err != nil {
		if terminal, err = a.unfinished(held, err); terminal != nil && err == nil {
			a.lastLook(held, terminal)
		}
	}
	return a.settle(ctx, terminal, err)
}

// work produces the terminal event of a good end. An error is any other end; the process tree is
// dead by then unless it is ErrContainment.
func (a *attempt) work(ctx context.Context) (*workflow.Event, error) {
	if err := a.prepare(ctx); err != nil {
		return nil, err
	}
	if err := a.announce(ctx); err != nil {
		return nil, err
	}
	if err := a.lookBefore(ctx); err != nil {
		return nil, err
	}
	out, err := a.supervise(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.believe(out); err != nil {
		return nil, err
	}
	terminal, err := a.handIn(ctx, out)
	if err != nil {
		return nil, err
	}
	result := ""
	if terminal.ResultCommit != nil {
		result = *terminal.ResultCommit
	}
	return terminal, a.testify(ctx, terminal, result)
}

// handIn makes the terminal event of a session that ended well.
func (a *attempt) handIn(ctx context.Context, out *outcome) (*workflow.Event, error) {
	verifies := a.plan.Workflow.Purpose == workflow.PurposeVerify
	switch {
	case verifies && a.place != nil:
		return a.judgedPlain(ctx, out)
	case verifies:
		return a.judged(ctx, out)
	case a.place != nil:
		return a.produced(ctx, out)
	}
	return a.worked(ctx, out)
}

// unfinished is the terminal event of an end that is not a good one. There is none to send when the
// lease is lost.
func (a *attempt) unfinished(ctx context.Context, err error) (*workflow.Event, error) {
	cause := context.Cause(ctx)
	lost, isLost := errors.AsType[*lostError](cause)
	if !isLost {
		lost, isLost = errors.AsType[*lostError](err)
	}
	switch {
	case errors.Is(err, errNotDispatched):
		return nil, nil
	case errors.Is(err, ErrContainment):
		return ended(workflow.EventFailed, "containment_failed"), err
	case isLost:
		a.log.Warn("execution is no longer ours", "error", lost)
		return nil, nil
	case cause != nil:
		return ended(workflow.EventInterrupted, errShutdown.Error()), nil
	}
	a.log.Warn("attempt failed", "error", err)
	if f, ok := errors.AsType[*failure](err); ok && f.refusal != nil {
		return &workflow.Event{State: workflow.EventFailed, Refusal: f.refusal}, nil
	}
	return ended(workflow.EventFailed, reasonOf(err)), nil
}

func ended(state workflow.EventState, reason string) *workflow.Event {
	return &workflow.Event{State: state, Reason: &reason}
}

// believe is the first half of a proof of success: what the process itself showed.
func (a *attempt) believe(out *outcome) error {
	switch {
	case out.exit.signal != "":
		return failf("provider_killed", "%s", out.exit.signal)
	case !out.exit.known:
		return failf("provider_killed", "how it ended is not known")
	case out.report.Fault != "":
		return failf("provider_error", "%s", clip(out.report.Fault, 500))
	case out.exit.code != 0:
		return failf("provider_exit", "status %d", out.exit.code)
	case out.report.Session == "":
		return failf("provider_no_session", "")
	case !out.report.Ended:
		return failf("provider_no_result", "the process ended without a terminal event")
	case out.report.Answer.Refusal != nil && a.plan.Workflow.Purpose == workflow.PurposeWork:
		return &failure{code: "refused", refusal: out.report.Answer.Refusal}
	}
	return nil
}

// worked seals a worker's result.
func (a *attempt) worked(ctx context.Context, out *outcome) (*workflow.Event, error) {
	in, err := a.tree.inspect(ctx, a.plan.BaseCommit)
	if err != nil {
		return nil, err
	}
	changed := in.head != a.plan.BaseCommit
	mayWrite := a.mayWrite()
	switch {
	case changed && !mayWrite:
		return nil, failf("mutation_forbidden", "the dispatch allows no change")
	case !changed && mayWrite:
		return nil, failf("no_change", "")
	case changed && len(in.files) == 0:
		return nil, failf("no_change", "the commits add up to nothing")
	}
	ev := newEvidence(a.plan, out, time.Now())
	ev.found(in)
	ref := candidateRefs
	if !mayWrite {
		// The candidate is the base itself, so the evidence goes beside it.
		ref = evidenceRefs
	}
	sealed, err := a.seal(ctx, ref, in.head, ev)
	if err != nil {
		return nil, err
	}
	result := in.head
	if changed {
		result, a.Candidate = sealed, sealed
	}
	terminal := a.committed(out, result)
	answered(terminal, out)
	return terminal, nil
}

// answered passes on what a worker says of its result.
func answered(terminal *workflow.Event, out *outcome) {
	answer := out.report.Answer
	if answer.Completion != nil {
		terminal.Completion = answer.Completion
	} else if answer.Summary != "" {
		summary := clip(answer.Summary, 10000)
		terminal.ResultSummary = &summary
	}
}

// judged seals a verifier's verdict.
func (a *attempt) judged(ctx context.Context, out *outcome) (*workflow.Event, error) {
	if err := a.tree.untouched(ctx, a.plan.BaseCommit); err != nil {
		return nil, err
	}
	v, err := verdict(a.plan, out.report.Answer.Results)
	if err != nil {
		return nil, err
	}
	if _, err := a.seal(ctx, evidenceRefs, a.plan.BaseCommit, newEvidence(a.plan, out, time.Now())); err != nil {
		return nil, err
	}
	terminal := a.committed(out, a.plan.BaseCommit)
	terminal.Verdict = v
	return terminal, nil
}

// seal makes the evidence commit on top of parent.
func (a *attempt) seal(ctx context.Context, refs, parent string, ev *evidence) (string, error) {
	content, err := ev.bytes()
	if err != nil {
		return "", fmt.Errorf("evidence: %w", err)
	}
	message := fmt.Sprintf("countersign: evidence of %s %s", ev.Purpose, ev.ExecutionID)
	return a.repo.seal(ctx, a.dir, refs+a.ExecutionID, parent, evidencePath(a.ExecutionID), content, message, ev.EndedAt)
}

// committed is the terminal event of a good end whose result is a commit.
func (a *attempt) committed(out *outcome, result string) *workflow.Event {
	e, clean := a.completed(out), true
	e.ResultCommit, e.CleanWorkspace = &result, &clean
	return e
}

// completed is what the terminal event of every good end says.
func (a *attempt) completed(out *outcome) *workflow.Event {
	zero, file := 0, evidencePath(a.ExecutionID)
	return &workflow.Event{State: workflow.EventCompleted, ProviderSessionID: &out.report.Session, ExitCode: &zero, EvidencePath: &file}
}
