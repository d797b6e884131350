// The operators' side of the HTTP contract: connection, write contexts and the one call all methods share.

// Package client is a typed client of the operators' routes. A refusal is a *Refusal that unwraps to
// the server's *contracts.Error; a server that cannot be reached is ErrUnreachable. Nothing is
// repeated by itself: a caller repeats after CodeUnavailable or ErrUnreachable, with the same arguments.
package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
)

const (
	// callTimeout is above the server's own limit for its slowest operator call.
	callTimeout = 45 * time.Second
	// maxAnswer bounds what is read of an answer.
	maxAnswer = 64 << 20
)

// ErrUnreachable says that no answer came: the call may or may not have taken effect.
var ErrUnreachable = errors.New("the server cannot be reached")

// Client is safe for concurrent use.
type Client struct {
	base  string
	token string
	http  *http.Client

	mu       sync.Mutex
	instance *workflow.Instance // once known, for write contexts
}

// New makes a client of the server at url ("http://127.0.0.1:8080"). The token may be empty for
// Instance only.
func New(url, token string) *Client {
	return &Client{
		base:  strings.TrimRight(url, "/"),
		token: token,
		http: &http.Client{
			Timeout: callTimeout,
			// The API never redirects; whoever does must not be handed the token.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// WriteContext binds a write to the server's instance, asked once, and to a project; "" is for
// instance-level writes.
func (c *Client) WriteContext(ctx context.Context, projectID string) (workflow.WriteContext, error) {
	instance, err := c.cachedInstance(ctx)
	if err != nil {
		return workflow.WriteContext{}, err
	}
	wc := workflow.WriteContext{Resource: instance.Resource, InstanceID: instance.InstanceID}
	if projectID != "" {
		wc.ProjectID = &projectID
	}
	return wc, nil
}

func (c *Client) cachedInstance(ctx context.Context) (workflow.Instance, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.instance != nil {
		return *c.instance, nil
	}
	instance, err := c.Instance(ctx)
	if err == nil {
		c.instance = &instance
	}
	return instance, err
}

// bind fills in an optional write context that the caller left out.
func (c *Client) bind(ctx context.Context, wc **workflow.WriteContext, projectID string) error {
	if *wc != nil {
		return nil
	}
	made, err := c.WriteContext(ctx, projectID)
	*wc = &made
	return err
}

// bindTask fills in a write context that the caller left zero; "" as project asks for the task's.
func (c *Client) bindTask(ctx context.Context, wc *workflow.WriteContext, projectID, taskID string) error {
	if *wc != (workflow.WriteContext{}) {
		return nil
	}
	if projectID == "" {
		task, err := c.Task(ctx, taskID)
		if err != nil {
			return err
		}
		projectID = task.ProjectID
	}
	made, err := c.WriteContext(ctx, projectID)
	*wc = made
	return err
}

// call sends body (nil for none) and decodes a 2xx answer. Unknown fields of an answer are passed
// over, for a server may be newer than its client.
func call[T any](ctx context.Context, c *Client, method, path string, body any) (answer T, err error) {
	data, err := c.exchange(ctx, method, path, body)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return answer, fmt.Errorf("%s %s: the answer is not what this client knows: %w", method, path, err)
	}
	return answer, nil
}

// exchange does one HTTP call and returns the body of a 2xx answer.
func (c *Client) exchange(ctx context.Context, method, path string, body any) ([]byte, error) {
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, path, err)
		}
		content = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	resp, err := c.send(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, unreachable(ctx, err)
	}
	return data, nil
}

// send does one HTTP call and returns a 2xx answer, whose body is the caller's to close.
func (c *Client) send(req *http.Request) (*http.Response, error) {
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, unreachable(req.Context(), err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, unreachable(req.Context(), err)
	}
	return nil, refusal(resp, data)
}

// unreachable keeps the caller's own cancellation apart from a server that is away.
func unreachable(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil {
		return cause
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}
