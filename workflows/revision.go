// The revision workflow: one loop that takes commands in order and commits each as a step.

package workflows

import (
	"errors"
	"slices"
	"time"

	"countersign/activities"
	contract "countersign/contracts/workflow"
	"countersign/store"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Input is what a revision workflow starts with; everything else is in PostgreSQL.
type Input struct {
	WorkflowID string `json:"workflow_id"`
}

// closeGrace is how long a final revision waits for its last attempt's activity: a workflow that
// closes with a buffered completion fails its task and loses the update that made it final.
const closeGrace = 3 * time.Second

// RevisionWorkflow runs one frozen revision to its end. Commands come as updates, time-outs and
// cancellations; one loop decides them in order. It ends once the revision is final, every caller
// has its answer and the last attempt's activity is closed.
func RevisionWorkflow(ctx workflow.Context, in Input) error {
	r := &revision{id: in.WorkflowID, cancelled: ctx}
	// A commit that has begun is never cancelled, and a cancellation is a command like any other.
	r.ctx, _ = workflow.NewDisconnectedContext(ctx)
	if err := r.setup(); err != nil {
		return err
	}
	if err := r.adopt(); err != nil {
		return r.giveUp(err)
	}
	return r.run()
}

// revision is one run of the workflow.
type revision struct {
	ctx       workflow.Context // disconnected
	cancelled workflow.Context // ends when Temporal is asked to cancel
	id        string
	state     contract.State
	queue     []*request
	// armed is the activity that stands for the live attempt in this run, "" when none was armed yet.
	armed string
	// open counts the attempt activities whose end this run has not seen.
	open int
	// closing is set once the revision is final, graceOver when it has waited long enough for them.
	closing, graceOver bool
}

// request is a command and its caller's answer.
type request struct {
	command contract.Command
	catchUp bool
	done    bool
	outcome store.Outcome
	err     error
}

func (r *revision) setup() error {
	if err := workflow.SetQueryHandler(r.ctx, QueryLive, func() (contract.Live, error) { return r.live(), nil }); err != nil {
		return err
	}
	for _, name := range []string{UpdateClaim, UpdateEvent, UpdateControl, UpdateSettle, UpdateBlock} {
		err := workflow.SetUpdateHandlerWithOptions(r.ctx, name, r.submit, workflow.UpdateHandlerOptions{
			Validator: func(_ workflow.Context, c contract.Command) error {
				if updateOf(c.Kind) != name {
					return temporal.NewApplicationError("the update "+name+" does not carry "+string(c.Kind), "invalid")
				}
				return nil
			},
		})
		if err != nil {
			return err
		}
	}
	err := workflow.SetUpdateHandler(r.ctx, UpdateCatchUp, func(ctx workflow.Context) (store.Outcome, error) {
		return r.await(ctx, &request{catchUp: true})
	})
	if err != nil {
		return err
	}
	workflow.Go(r.cancelled, func(ctx workflow.Context) {
		ctx.Done().Receive(ctx, nil)
		r.queue = append(r.queue, &request{command: contract.Command{Kind: contract.CommandCancel, Actor: ActorTemporalUI}})
	})
	return nil
}

// submit queues a caller's command and waits for its answer.
func (r *revision) submit(ctx workflow.Context, c contract.Command) (store.Outcome, error) {
	return r.await(ctx, &request{command: c})
}

func (r *revision) await(ctx workflow.Context, q *request) (store.Outcome, error) {
	// Also a caller's wait outlives a cancellation: its command is decided in its turn.
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	r.queue = append(r.queue, q)
	if err := workflow.Await(ctx, func() bool { return q.done }); err != nil {
		return store.Outcome{}, err
	}
	return q.outcome, q.err
}

// adopt reads the history that is there already: the dispatch, and whatever an earlier run or the
// API committed. One started late or reset arms or closes by itself.
func (r *revision) adopt() error {
	var a store.Adopted
	in := activities.AdoptInput{WorkflowID: r.id, RunID: workflow.GetInfo(r.ctx).WorkflowExecution.RunID}
	if err := r.do(activities.NameAdopt, in, &a); err != nil {
		return err
	}
	r.state = a.State
	r.fold(a.Steps)
	return nil
}

// run is the loop. It goes on answering after the final step until nobody waits.
func (r *revision) run() error {
	for {
		r.closeWhenFinal()
		if err := workflow.Await(r.ctx, func() bool { return len(r.queue) > 0 || r.finished() }); err != nil {
			return err
		}
		if len(r.queue) == 0 {
			break
		}
		q := r.queue[0]
		r.queue = r.queue[1:]
		if q.outcome, q.err = r.serve(q); q.err != nil {
			r.queue = append(r.queue, q)
			return r.giveUp(q.err)
		}
		q.done = true
	}
	if r.cancelled.Err() != nil && r.state.Phase == contract.PhaseCancelled {
		return temporal.NewCanceledError()
	}
	return nil
}

// giveUp fails the run with an error that no repetition mends, after everybody who waits was told.
func (r *revision) giveUp(err error) error {
	told := func() bool {
		for _, q := range r.queue {
			q.err, q.done = err, true
		}
		return workflow.AllHandlersFinished(r.ctx)
	}
	if waitErr := workflow.Await(r.ctx, told); waitErr != nil {
		return waitErr
	}
	return err
}

// finished reports whether the workflow may close.
func (r *revision) finished() bool {
	return r.state.Phase.Final() && (r.open == 0 || r.graceOver) && workflow.AllHandlersFinished(r.ctx)
}

// closeWhenFinal starts the grace period once the revision is final and an activity is still open.
func (r *revision) closeWhenFinal() {
	if !r.state.Phase.Final() || r.open == 0 || r.closing {
		return
	}
	r.closing = true
	workflow.Go(r.ctx, func(ctx workflow.Context) {
		_ = workflow.Sleep(ctx, closeGrace) // fails for a cancelled context only, which this is not
		r.graceOver = true
	})
}

// serve decides one request. What history has beyond this run's state is folded in first: no refusal
// comes from memory alone, Commit decides on the rows.
func (r *revision) serve(q *request) (store.Outcome, error) {
	if q.catchUp {
		return store.Outcome{}, r.catchUp()
	}
	for {
		var out store.Outcome
		in := activities.CommitInput{WorkflowID: r.id, N: r.state.Sequence + 1, Command: q.command}
		if err := r.do(activities.NameCommit, in, &out); err != nil {
			return out, err
		}
		switch {
		case out.Behind != nil:
			r.fold(out.Behind)
		case out.Step == nil:
			return out, nil
		case out.Step.First == r.state.Sequence+1:
			r.apply(*out.Step)
			return out, nil
		case out.Step.First <= r.state.Sequence:
			return out, nil // an old command again: its recorded answer
		default:
			if err := r.catchUp(); err != nil {
				return out, err
			}
		}
	}
}

// catchUp folds in what was recorded without this run.
func (r *revision) catchUp() error {
	var steps []contract.Step
	if err := r.do(activities.NameSteps, activities.StepsInput{WorkflowID: r.id, From: r.state.Sequence + 1}, &steps); err != nil {
		return err
	}
	r.fold(steps)
	return nil
}

// fold applies steps that another committed. A live attempt that this run has no activity for is
// settled: the database's clock says whether it is over or armed again, and for how long.
func (r *revision) fold(steps []contract.Step) {
	for _, step := range steps {
		r.state = contract.Apply(r.state, step)
	}
	if a := r.state.Active; a.Live() && a.ActivityID != r.armed {
		r.queue = slices.Insert(r.queue, 0, r.settlement(a.ExecutionID, a.ActivityID))
	}
	r.show()
}

func (r *revision) settlement(executionID, activityID string) *request {
	return &request{command: contract.Command{
		Kind: contract.CommandSettle, ExecutionID: executionID, ActivityID: activityID, Actor: actorTemporal,
	}}
}

// apply takes a step that this run committed and does what follows from it.
func (r *revision) apply(step contract.Step) {
	r.state = contract.Apply(r.state, step)
	if step.Has(contract.EntryClaimed) || step.Has(contract.EntryRearmed) {
		r.arm(step)
	}
	r.show()
}

// arm schedules the activity that stands for the live attempt: its heartbeat time-out is the lease,
// its time-out the deadline, a second later each, for the database's clock decides and Temporal only
// wakes. It runs once and only times out or is completed by id.
func (r *revision) arm(step contract.Step) {
	a := step.Active
	r.armed = a.ActivityID
	name := activities.NameWork
	if a.Purpose == contract.PurposeVerify {
		name = activities.NameVerify
	}
	deadline := a.DeadlineAt.Sub(step.At) + time.Second
	ctx := workflow.WithActivityOptions(r.ctx, workflow.ActivityOptions{
		ActivityID:             a.ActivityID,
		HeartbeatTimeout:       a.LeaseExpiresAt.Sub(step.At) + time.Second,
		StartToCloseTimeout:    deadline,
		ScheduleToCloseTimeout: deadline,
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:                string(a.Purpose) + " attempt " + itoa(a.Number),
	})
	future := workflow.ExecuteActivity(ctx, name, activities.AttemptInput{
		ExecutionID: a.ExecutionID, NodeID: r.state.NodeID, Number: a.Number, FencingToken: a.FencingToken,
	})
	r.open++
	executionID, activityID := a.ExecutionID, a.ActivityID
	workflow.Go(r.ctx, func(ctx workflow.Context) {
		err := future.Get(ctx, nil)
		r.open--
		if err != nil {
			r.queue = append(r.queue, r.settlement(executionID, activityID))
		}
	})
}

// localBudget is how long a commit may take inside a workflow task; one that takes longer, as when
// PostgreSQL is away, becomes an ordinary activity that retries in view of the UI.
const localBudget = 2 * time.Second

// do runs an activity locally first, for that is several times cheaper, and ordinarily when that
// fails. Both run the same function, which may be repeated at will.
func (r *revision) do(name string, in, out any) error {
	local := workflow.WithLocalActivityOptions(r.ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: localBudget,
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	err := workflow.ExecuteLocalActivity(local, name, in).Get(local, out)
	if err == nil || lasting(err) {
		return err
	}
	ordinary := workflow.WithActivityOptions(r.ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 200 * time.Millisecond, MaximumInterval: 2 * time.Second,
			NonRetryableErrorTypes: activities.NonRetryable,
		},
	})
	return workflow.ExecuteActivity(ordinary, name, in).Get(ordinary, out)
}

func lasting(err error) bool {
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && slices.Contains(activities.NonRetryable, app.Type())
}
