// How a refusal of the server looks to a Go caller.

package client

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"countersign/contracts"

	"github.com/go-json-experiment/json"
)

// Refusal is an answer other than 2xx. errors.As finds the *contracts.Error in it.
type Refusal struct {
	Status     int             // the HTTP status
	RequestID  string          // the X-Request-Id to find the call in the server's log
	RetryAfter time.Duration   // how long the server asks to wait; 0 when it does not say
	Err        contracts.Error // code, path and detail
}

// Error is the refusal in one line.
func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap gives the *contracts.Error.
func (r *Refusal) Unwrap() error { return &r.Err }

// refusal reads a problem document; whatever stands between client and server may answer otherwise.
func refusal(resp *http.Response, body []byte) error {
	r := &Refusal{Status: resp.StatusCode, RequestID: resp.Header.Get("X-Request-Id")}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		r.RetryAfter = time.Duration(seconds) * time.Second
	}
	if json.Unmarshal(body, &r.Err) != nil || r.Err.Code == "" {
		r.Err = contracts.Error{Code: codeOfStatus(resp.StatusCode), Detail: fmt.Sprintf("the server answered %s", resp.Status)}
	}
	return r
}

func codeOfStatus(status int) contracts.Code {
	switch status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return contracts.CodeUnavailable
	case http.StatusTooManyRequests:
		return contracts.CodeRateLimited
	}
	return contracts.CodeInternal
}
