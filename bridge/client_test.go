// The client: what it sends, what it makes of answers, when it tries again.

package bridge

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/stretchr/testify/require"
)

func newTestClient(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	t.Parallel()
	server := httptest.NewServer(h)
	c, err := NewClient(server.URL, testToken)
	require.NoError(t, err)
	c.backoff = backoff{first: time.Millisecond, most: 5 * time.Millisecond}
	t.Cleanup(func() {
		c.Close()
		server.Close()
	})
	return c
}

func TestClientRoutes(t *testing.T) {
	type seen struct{ method, uri, body, auth, kind string }
	var last seen
	c := newTestClient(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		last = seen{r.Method, r.URL.RequestURI(), string(body), r.Header.Get("Authorization"), r.Header.Get("Content-Type")}
		_, _ = io.WriteString(w, `{"history":[],"executions":[{"execution_id":"e1"}],"sequence":1,"later_field":true}`)
	})
	ctx := t.Context()
	fence := workflow.Fence{LeaseID: "l", FencingToken: 7}
	auth := "Bearer " + testToken
	const kind = "application/json"

	offers, err := c.Offers(ctx, 45*time.Second)
	require.NoError(t, err)
	require.Equal(t, "e1", offers[0].ExecutionID)
	require.Equal(t, seen{"GET", "/bridge/v1/executions?wait=30", "", auth, ""}, last)
	_, err = c.Claim(ctx, "a/b", "c1")
	require.NoError(t, err)
	require.Equal(t, seen{"POST", "/bridge/v1/executions/a%2Fb/claim", `{"claim_id":"c1"}`, auth, kind}, last)
	_, err = c.Renew(ctx, "e1", fence)
	require.NoError(t, err)
	require.Equal(t, seen{"POST", "/bridge/v1/executions/e1/renew", `{"lease_id":"l","fencing_token":7}`, auth, kind}, last)
	_, err = c.Event(ctx, "e1", []byte(`{"any": "bytes"}`))
	require.NoError(t, err)
	require.Equal(t, seen{"POST", "/bridge/v1/executions/e1/events", `{"any": "bytes"}`, auth, kind}, last)
	_, err = c.Stopped(ctx, "e1", fence)
	require.NoError(t, err)
	require.Equal(t, seen{"POST", "/bridge/v1/executions/e1/stopped", `{"lease_id":"l","fencing_token":7}`, auth, kind}, last)
	_, err = c.TaskWorkflow(ctx, "t1", 3, 20)
	require.NoError(t, err)
	require.Equal(t, seen{"GET", "/bridge/v1/tasks/t1/workflow?after=3&limit=20", "", auth, ""}, last)
}

func TestClientRefusal(t *testing.T) {
	var calls atomic.Int32
	c := newTestClient(t, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"type":"about:blank","status":409,"code":"execution_terminal","detail":"It is over.","path":"$.sequence","reason":"cancelled"}`)
	})
	_, err := c.Renew(t.Context(), "e1", workflow.Fence{})
	refusal, ok := errors.AsType[*contracts.Error](err)
	require.True(t, ok)
	require.Equal(t, contracts.Error{Code: contracts.CodeExecutionTerminal, Path: "$.sequence", Detail: "It is over."}, *refusal)
	status, ok := errors.AsType[*StatusError](err)
	require.True(t, ok)
	require.Equal(t, http.StatusConflict, status.Status)
	require.Equal(t, workflow.ReasonCancelled, status.Reason)
	require.EqualValues(t, 1, calls.Load(), "a refusal is final")
}

func TestClientTriesAgain(t *testing.T) {
	var bodies []string
	c := newTestClient(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		switch len(bodies) {
		case 1:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, "<html>")
		case 3:
			panic(http.ErrAbortHandler) // the connection breaks
		case 4:
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"sequence":`) // the answer breaks
		default:
			_, _ = io.WriteString(w, `{"sequence":1}`)
		}
	})
	answer, err := c.Event(t.Context(), "e1", []byte(`{"x":  1}`))
	require.NoError(t, err)
	require.Equal(t, 1, answer.Sequence)
	require.Len(t, bodies, 5)
	for _, b := range bodies {
		require.Equal(t, `{"x":  1}`, b)
	}
}

func TestClientGivesUp(t *testing.T) {
	c := newTestClient(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "20")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"code":"unavailable","detail":"later"}`)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begun := time.Now()
	_, err := c.Claim(ctx, "e1", "c1")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, contracts.CodeUnavailable, contracts.CodeOf(err))
	require.Less(t, time.Since(begun), 10*time.Second)
}

func TestClientKeepsItsToken(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("followed a redirect") }))
	t.Cleanup(other.Close)
	c := newTestClient(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	_, err := c.Claim(t.Context(), "e1", "c1")
	status, ok := errors.AsType[*StatusError](err)
	require.True(t, ok)
	require.Equal(t, http.StatusTemporaryRedirect, status.Status)
	require.NotContains(t, err.Error(), testToken)
}

func TestClientUnreadableAnswer(t *testing.T) {
	var calls atomic.Int32
	c := newTestClient(t, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		_, _ = io.WriteString(w, `{"sequence":"one"}`)
	})
	_, err := c.Event(t.Context(), "e1", nil)
	require.ErrorIs(t, err, errBadAnswer)
	require.EqualValues(t, 1, calls.Load())
}

func TestNewClientRefuses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "localhost:8080", "ftp://host", "http://", "http://user:secret@host", ":%"} {
		_, err := NewClient(address, "x")
		require.Error(t, err, address)
		require.NotContains(t, err.Error(), "secret")
	}
	_, err := NewClient("http://host", "")
	require.Error(t, err)
}
