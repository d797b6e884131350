// Problem details (RFC 9457): the one table from codes to statuses, and what a refusal looks like.

package api

import (
	"context"
	"errors"
	"net/http"

	"countersign/contracts"
	"countersign/store"

	"github.com/go-json-experiment/json/jsontext"
)

// problem is the body of every answer that is no success.
type problem struct {
	Type   string         `json:"type"`
	Title  string         `json:"title"`
	Status int            `json:"status"`
	Detail string         `json:"detail"`
	Code   contracts.Code `json:"code"`
	Path   string         `json:"path,omitzero"`
	Reason string         `json:"reason,omitzero"`
	// Contract is the version of the contract that a payload violated.
	Contract string `json:"contract,omitzero"`
	// Outcome is what the capability contract says of a worker dispatch that was refused.
	Outcome jsontext.Value `json:"outcome,omitzero"`
}

// problemTypes is what a problem's type begins with; the code follows.
const problemTypes = "https://countersign.dev/problems/"

// statusTitle is what a code means in HTTP.
type statusTitle struct {
	status int
	title  string
}

// problems has every code there is.
var problems = map[contracts.Code]statusTitle{
	contracts.CodeMalformedJSON:       {http.StatusBadRequest, "The body is no JSON"},
	contracts.CodeUnauthenticated:     {http.StatusUnauthorized, "Who is calling is not known"},
	contracts.CodeForbidden:           {http.StatusForbidden, "The caller may not do this"},
	contracts.CodeNotFound:            {http.StatusNotFound, "There is no such thing"},
	contracts.CodeMethodNotAllowed:    {http.StatusMethodNotAllowed, "The route has no such method"},
	contracts.CodeTooLarge:            {http.StatusRequestEntityTooLarge, "The body is too large"},
	contracts.CodeUnsupportedMedia:    {http.StatusUnsupportedMediaType, "The body must be application/json"},
	contracts.CodeInvalid:             {http.StatusUnprocessableEntity, "The request is not valid"},
	contracts.CodeContractViolation:   {http.StatusUnprocessableEntity, "The payload violates its contract"},
	contracts.CodeArtifactRejected:    {http.StatusUnprocessableEntity, "The bytes are no artifact"},
	contracts.CodeRateLimited:         {http.StatusTooManyRequests, "Too many calls"},
	contracts.CodeUnavailable:         {http.StatusServiceUnavailable, "Not available at the moment"},
	contracts.CodeInternal:            {http.StatusInternalServerError, "The server failed"},
	contracts.CodeAlreadyExists:       {http.StatusConflict, "It exists already"},
	contracts.CodeLastOwner:           {http.StatusConflict, "The last owner stays"},
	contracts.CodeWriteContext:        {http.StatusConflict, "The write was meant for another place"},
	contracts.CodeIdempotencyConflict: {http.StatusConflict, "The idempotency key stands for another request"},
	contracts.CodeVersionConflict:     {http.StatusConflict, "The task has another version"},
	contracts.CodeTaskDone:            {http.StatusConflict, "The task is final"},
	contracts.CodeWorkflowActive:      {http.StatusConflict, "The task has an active revision"},
	contracts.CodeWorkflowTerminal:    {http.StatusConflict, "The revision is final"},
	contracts.CodeWorkflowSuperseded:  {http.StatusConflict, "The revision is not the current one"},
	contracts.CodeManagedByWorkflow:   {http.StatusConflict, "The task's revision decides this"},
	contracts.CodeArtifactMode:        {http.StatusConflict, "The task completes by its artifact"},
	contracts.CodeAlreadyTerminal:     {http.StatusConflict, "The task is final"},
	contracts.CodeNodeRevoked:         {http.StatusConflict, "The node is revoked"},
	contracts.CodeNodePaused:          {http.StatusConflict, "The node is paused"},
	contracts.CodeAccountNotAllowed:   {http.StatusConflict, "The node lacks the account"},
	contracts.CodeNodeBusy:            {http.StatusConflict, "The node is busy"},
	contracts.CodeAlreadyClaimed:      {http.StatusConflict, "The execution is claimed already"},
	contracts.CodeFenced:              {http.StatusConflict, "The lease is not the caller's"},
	contracts.CodeLeaseExpired:        {http.StatusConflict, "The lease is over"},
	contracts.CodeDeadlineExceeded:    {http.StatusConflict, "The attempt's time is over"},
	contracts.CodeLeaseActive:         {http.StatusConflict, "The lease is not over yet"},
	contracts.CodeNothingToReconcile:  {http.StatusConflict, "There is nothing to reconcile"},
	contracts.CodeExecutionTerminal:   {http.StatusConflict, "The attempt has ended"},
	contracts.CodeSequenceConflict:    {http.StatusConflict, "The sequence stands for another event"},
	contracts.CodeSequenceGap:         {http.StatusConflict, "An event is missing before this one"},
	contracts.CodeStateConflict:       {http.StatusConflict, "The event does not fit the attempt's state"},
	contracts.CodeSessionMismatch:     {http.StatusConflict, "The provider session is another one"},
	contracts.CodeSessionReused:       {http.StatusConflict, "The provider session was seen before"},
	contracts.CodeFollowUpConflict:    {http.StatusConflict, "A follow-up's id is taken"},
	contracts.CodeAgentUnavailable:    {http.StatusConflict, "The agent cannot be dispatched"},
	contracts.CodeSourceRefused:       {http.StatusConflict, "A source cannot be used"},
	contracts.CodeDispatchRefused:     {http.StatusConflict, "The worker may not be dispatched"},
	contracts.CodeDispatchNotEligible: {http.StatusConflict, "The worker may not be called yet"},
	contracts.CodeNotRunning:          {http.StatusConflict, "The workflow does not run"},
}

// problemOf is what a client may see of an error. Anything but a refusal is internal, without detail.
func problemOf(err error) problem {
	shown := contracts.Error{Code: contracts.CodeInternal}
	if refusal, ok := errors.AsType[*contracts.Error](err); ok {
		shown = *refusal
	} else if errors.Is(err, store.ErrNotMigrated) || errors.Is(err, context.DeadlineExceeded) {
		shown = *contracts.Refuse(contracts.CodeUnavailable, "the server is not ready; repeat the same call")
	}
	known, ok := problems[shown.Code]
	if !ok {
		shown = contracts.Error{Code: contracts.CodeInternal}
		known = problems[contracts.CodeInternal]
	}
	return problem{
		Type: problemTypes + string(shown.Code), Title: known.title, Status: known.status,
		Detail: shown.Detail, Code: shown.Code, Path: shown.Path, Reason: shown.Reason, Contract: shown.Contract, Outcome: shown.Outcome,
	}
}
