// Routes of the nodes: offers, claim, renew, events, stopped.

package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"countersign/contracts"
	"countersign/contracts/workflow"
	"countersign/store"
	"countersign/workflows"
)

// maxWait is how long a node may ask to wait for offers, in seconds.
const maxWait = 30

func (a *API) bridgeRoutes() []Route {
	offers := reading(http.MethodGet, "/bridge/v1/executions", workflow.ScopeBridge,
		[]Param{{Name: "wait", Integer: true, Min: 0, Max: maxWait, Default: 0}}, a.offers)
	offers.limit = maxWait*time.Second + callLimit
	const execution = "/bridge/v1/executions/{id}/"
	return []Route{
		offers,
		writing(http.MethodPost, execution+"claim", workflow.ScopeBridge, http.StatusOK, a.claim),
		writing(http.MethodPost, execution+"renew", workflow.ScopeBridge, http.StatusOK, a.renew),
		writingAs(workflow.DecodeEvent, http.MethodPost, execution+"events", workflow.ScopeBridge, http.StatusOK, a.event),
		writing(http.MethodPost, execution+"stopped", workflow.ScopeBridge, http.StatusOK, a.stopped),
		uploading(http.MethodPut, execution+"artifact", workflow.ScopeBridge, http.StatusOK, a.uploadArtifact),
		downloading(execution+"candidate", workflow.ScopeBridge, a.candidate),
		uploading(http.MethodPost, execution+"attachments", workflow.ScopeBridge, http.StatusCreated, a.attachFor),
		reading(http.MethodGet, "/bridge/v1/tasks/{id}/workflow", workflow.ScopeBridge, historyPage, a.taskWorkflow),
	}
}

// offers answers as soon as there is an offer, or with none after the wait. A poll that is cut loses
// nothing: the offer stands until it is claimed.
func (a *API) offers(c *call) (workflow.OfferList, error) {
	woken, done := a.hub.subscribe(c.who.NodeID)
	defer done()
	end := time.NewTimer(time.Duration(c.query.ints["wait"]) * time.Second)
	defer end.Stop()
	for last := c.query.ints["wait"] == 0; ; {
		offers, err := a.store.Offers(c, c.who.NodeID)
		if err != nil || len(offers) > 0 || last {
			return workflow.OfferList{Executions: offers}, err
		}
		select {
		case <-woken:
		case <-end.C:
			last = true
		case <-a.draining:
			last = true
		case <-c.Done():
			return workflow.OfferList{}, c.Err()
		}
	}
}

// own is the calling node's execution, which it still has the authority for.
func (a *API) own(c *call) (store.Execution, error) {
	e, err := a.store.NodeExecution(c, c.who.NodeID, c.param("id"))
	if err == nil && e.Authority != nil {
		err = e.Authority
	}
	c.gin.Set(keyExecution, e)
	return e, err
}

func (a *API) claim(c *call, body workflow.ClaimRequest) (workflow.ClaimAnswer, error) {
	e, err := a.own(c)
	if err != nil {
		return workflow.ClaimAnswer{}, err
	}
	switch attempt := &e.Attempt; {
	case attempt.Phase.Final():
		return workflow.ClaimAnswer{}, attempt.Terminal()
	case attempt.Claimed() && attempt.ClaimID != body.ClaimID:
		return workflow.ClaimAnswer{}, contracts.Refuse(contracts.CodeAlreadyClaimed, "the execution is claimed under another claim_id")
	case attempt.Expired(e.Now):
		return workflow.ClaimAnswer{}, a.expire(c, e)
	case attempt.Claimed():
		return a.claimed(c, e)
	}
	// Nothing begins whose verdict would have to wait for a signature.
	if err := a.store.SignerReadyFor(c, e.ArtifactKind); err != nil {
		return workflow.ClaimAnswer{}, err
	}
	if e.Paused {
		return workflow.ClaimAnswer{}, contracts.Refuse(contracts.CodeNodePaused, "the node is paused and takes no work")
	}
	out, err := a.send(c, e, workflow.Command{
		Kind: workflow.CommandClaim, ExecutionID: e.Attempt.ExecutionID, ClaimID: body.ClaimID, Actor: c.who.NodeID,
	})
	if err != nil {
		return workflow.ClaimAnswer{}, err
	}
	e.Attempt, e.Now = *out.Step.Active, out.Step.At
	return a.claimed(c, e)
}

// claimed is the answer to a claim whose lease lives.
func (a *API) claimed(c *call, e store.Execution) (workflow.ClaimAnswer, error) {
	plan, lease, err := a.store.Plan(c, e.Attempt.ExecutionID)
	if err != nil {
		return workflow.ClaimAnswer{}, err
	}
	return workflow.ClaimAnswer{
		ExecutionID: e.Attempt.ExecutionID, LeaseID: e.Attempt.LeaseID, FencingToken: e.Attempt.FencingToken,
		LeaseSeconds: lease.Seconds(), LeaseExpiresAt: e.Attempt.LeaseExpiresAt, DeadlineAt: e.Attempt.DeadlineAt,
		ServerTime: e.Now, Plan: plan,
	}, nil
}

// renew tells Temporal first, so that its watch never ends before the row's lease, then moves the row.
func (a *API) renew(c *call, held workflow.Fence) (workflow.RenewAnswer, error) {
	for wait := 50 * time.Millisecond; ; wait *= 2 {
		e, err := a.own(c)
		if err != nil {
			return workflow.RenewAnswer{}, err
		}
		if refusal := e.Attempt.HeldOff(held); refusal != nil {
			return workflow.RenewAnswer{}, refusal
		}
		if e.Attempt.Expired(e.Now) {
			return workflow.RenewAnswer{}, a.expire(c, e)
		}
		err = a.gateway.Heartbeat(c, e.WorkflowID, e.Attempt.ActivityID)
		if err == nil {
			r, renewed, err := a.store.Renew(c, e.Attempt.ExecutionID, held)
			if err != nil {
				return workflow.RenewAnswer{}, err
			}
			if renewed {
				return workflow.RenewAnswer{LeaseExpiresAt: r.LeaseExpiresAt, DeadlineAt: r.DeadlineAt, ServerTime: r.Now}, nil
			}
			continue // it ended or expired in between: read again and say which
		}
		if !errors.Is(err, workflows.ErrClosed) {
			return workflow.RenewAnswer{}, err
		}
		// The row lives and its activity does not: not started yet, or lost with its run.
		if err := a.gateway.CatchUp(c, e.WorkflowID); err != nil {
			return workflow.RenewAnswer{}, a.closed(err)
		}
		select {
		case <-c.Done():
			return workflow.RenewAnswer{}, a.closed(err)
		case <-time.After(wait):
		}
	}
}

// expire records the expiry that a call ran into, and is that call's refusal. Should it not be
// recorded now, the sweeper does it.
func (a *API) expire(c *call, e store.Execution) error {
	_, err := a.gateway.DoOrCommit(c, e.WorkflowID, workflow.Command{
		Kind: workflow.CommandExpire, ExecutionID: e.Attempt.ExecutionID, ActivityID: e.Attempt.ActivityID, Actor: c.who.NodeID,
	})
	if err != nil {
		a.log.Warn("an expiry is left to the sweeper", "workflow", e.WorkflowID, "execution", e.Attempt.ExecutionID, "error", err)
	}
	return e.Attempt.ExpiryRefusal()
}

func (a *API) event(c *call, body workflow.Event) (workflow.EventAnswer, error) {
	e, err := a.own(c)
	if err != nil {
		return workflow.EventAnswer{}, err
	}
	digest, stored, err := workflow.StoredEvent(c.raw, body)
	if err != nil {
		return workflow.EventAnswer{}, err
	}
	command := workflow.Command{
		Kind: workflow.CommandEvent, ExecutionID: e.Attempt.ExecutionID, Sequence: body.Sequence, BodySHA256: digest, Actor: c.who.NodeID,
	}
	recorded, found, err := a.store.Recorded(c, e.WorkflowID, command)
	if err != nil {
		return workflow.EventAnswer{}, err
	}
	if found {
		return a.eventAnswer(c, command, store.Outcome{Step: &recorded}, nil)
	}
	if refusal := e.Attempt.HeldOff(body.Fence); refusal != nil {
		return workflow.EventAnswer{}, refusal
	}
	// An expired lease goes on to the machine, which records it under this call.
	if !e.Attempt.Expired(e.Now) {
		if refusal := e.Attempt.Refuses(&body); refusal != nil {
			return workflow.EventAnswer{}, refusal
		}
	}
	if err := a.store.StageEvent(c, digest, stored); err != nil {
		return workflow.EventAnswer{}, err
	}
	out, err := a.send(c, e, command)
	return a.eventAnswer(c, command, out, err)
}

// eventAnswer is what a recorded event answers. The path of a violation is in the database only.
func (a *API) eventAnswer(c *call, command workflow.Command, out store.Outcome, err error) (workflow.EventAnswer, error) {
	err = outcome(out, err)
	if contracts.CodeOf(err) == contracts.CodeContractViolation {
		err = a.store.EventRefusal(c, command.ExecutionID, command.Sequence)
	}
	if err != nil {
		return workflow.EventAnswer{}, err
	}
	return *out.Step.Answer.Event, nil
}

// send has the revision's workflow decide a node's command. The error is a refusal, or unavailable
// when the outcome is not known.
func (a *API) send(c *call, e store.Execution, command workflow.Command) (store.Outcome, error) {
	if e.Updates >= store.MaxUpdates {
		return store.Outcome{}, contracts.Refuse(contracts.CodeRateLimited, "an execution is asked about at most %d times", store.MaxUpdates)
	}
	out, err := a.gateway.Do(c, e.WorkflowID, command)
	if err == nil {
		// Counted once it has cost something; that it is not counted costs little.
		if countErr := a.store.CountUpdate(context.WithoutCancel(c), e.Attempt.ExecutionID); countErr != nil {
			a.log.Warn("an update was not counted", "execution", e.Attempt.ExecutionID, "error", countErr)
		}
	}
	if errors.Is(err, workflows.ErrClosed) || errors.Is(err, workflows.ErrExhausted) {
		// It ended while the call was on its way; the rows say how. An event that was recorded before
		// has its answer; a claim's lease is dead, whoever got it.
		if recorded, found, readErr := a.store.Recorded(c, e.WorkflowID, command); readErr == nil && found && command.Kind == workflow.CommandEvent {
			return store.Outcome{Step: &recorded}, nil
		}
		now, readErr := a.store.NodeExecution(c, c.who.NodeID, e.Attempt.ExecutionID)
		if readErr == nil && now.Attempt.Phase.Final() {
			return out, now.Attempt.Terminal()
		}
		return out, a.closed(err)
	}
	a.unknown(c, e.WorkflowID, err)
	return out, outcome(out, err)
}

// closed hides from a node that its revision's workflow is gone while the rows say it is not: the
// sweeper will block it.
func (a *API) closed(cause error) error {
	if contracts.CodeOf(cause) != "" {
		return cause
	}
	return errors.Join(contracts.Refuse(contracts.CodeUnavailable, "the revision's workflow does not answer; repeat the same call"), cause)
}

// stopped takes the node's word that nothing of an ended attempt runs any more.
func (a *API) stopped(c *call, held workflow.Fence) (workflow.StoppedAnswer, error) {
	e, err := a.store.NodeExecution(c, c.who.NodeID, c.param("id"))
	if err != nil {
		return workflow.StoppedAnswer{}, err
	}
	if refusal := e.Attempt.HeldOff(held); refusal != nil && refusal.Code == contracts.CodeFenced {
		return workflow.StoppedAnswer{}, refusal
	}
	at, err := a.store.MarkStopped(c, e.Attempt.ExecutionID)
	return workflow.StoppedAnswer{ExecutionID: e.Attempt.ExecutionID, NodeStoppedAt: at}, err
}
