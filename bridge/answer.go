// What the server says when it does not say yes.

package bridge

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
)

// StatusError is an answer other than 2xx. It wraps the server's *contracts.Error.
type StatusError struct {
	// Status is the HTTP status.
	Status int
	// Reason says why an execution is over, where the refusal tells it.
	Reason workflow.Reason
	// RetryAfter is how long the server asks to wait; zero when it does not.
	RetryAfter time.Duration
	// Refusal is the code, path and detail of the problem.
	Refusal *contracts.Error
}

// Error joins the status and the refusal.
func (e *StatusError) Error() string { return fmt.Sprintf("HTTP %d: %v", e.Status, e.Refusal) }

// Unwrap is the refusal.
func (e *StatusError) Unwrap() error { return e.Refusal }

// transient reports whether the same call may succeed later.
func (e *StatusError) transient() bool {
	return e.Status >= 500 || e.Status == http.StatusTooManyRequests || e.Status == http.StatusRequestTimeout
}

// problem is the part of an RFC 9457 document that matters here.
type problem struct {
	Code   contracts.Code  `json:"code"`
	Path   string          `json:"path"`
	Detail string          `json:"detail"`
	Reason workflow.Reason `json:"reason"`
}

func statusError(resp *http.Response, body []byte) *StatusError {
	e := &StatusError{Status: resp.StatusCode, RetryAfter: retryAfter(resp.Header)}
	var p problem
	if err := json.Unmarshal(body, &p); err != nil || p.Code == "" {
		// A proxy in between answers in its own words.
		p = problem{Code: codeOfStatus(resp.StatusCode), Detail: "answer without problem details"}
	}
	e.Reason = p.Reason
	e.Refusal = &contracts.Error{Code: p.Code, Path: p.Path, Detail: p.Detail}
	return e
}

func codeOfStatus(status int) contracts.Code {
	switch {
	case status == http.StatusUnauthorized:
		return contracts.CodeUnauthenticated
	case status == http.StatusForbidden:
		return contracts.CodeForbidden
	case status == http.StatusNotFound:
		return contracts.CodeNotFound
	case status == http.StatusTooManyRequests:
		return contracts.CodeRateLimited
	case status >= 500:
		return contracts.CodeUnavailable
	}
	return contracts.CodeInternal
}

// retryAfter reads the seconds form; the server sends no dates.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, int(maxRetryAfter/time.Second))) * time.Second
}
