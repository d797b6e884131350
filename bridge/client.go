// The typed client of the server's bridge routes.

package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
)

const (
	// tryTimeout is how long one try of a call may take: the server answers within 8 s.
	tryTimeout = 15 * time.Second
	// maxAnswer is how much of an answer is read; a detail with a full page of history fits easily.
	maxAnswer = 16 << 20
	// maxWait is the longest long poll the server grants.
	maxWait = 30 * time.Second
)

// errBadAnswer marks a 2xx answer that cannot be read; repeating the call would not help.
var errBadAnswer = errors.New("unreadable answer")

// Client calls the bridge routes with a node's token. A refusal is a *StatusError that wraps the
// server's *contracts.Error. Network errors and 5xx answers are repeated, with the same bytes, until
// the caller's context ends. It is safe for concurrent use.
type Client struct {
	base    *url.URL
	token   string
	http    *http.Client
	backoff backoff
}

// NewClient makes a client of the server at an http or https URL.
func NewClient(server, token string) (*Client, error) {
	base, err := url.Parse(server)
	if err != nil {
		return nil, fmt.Errorf("server address: %w", err)
	}
	if (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" || base.User != nil {
		return nil, fmt.Errorf("server address %q is not an http or https URL without credentials", base.Redacted())
	}
	if token == "" {
		return nil, errors.New("the node's token is missing")
	}
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		transport = &http.Transport{}
	}
	return &Client{
		base:  base,
		token: token,
		http: &http.Client{
			Transport: transport.Clone(),
			// A redirect would carry the token to wherever it points.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		backoff: backoff{first: 100 * time.Millisecond, most: 5 * time.Second},
	}, nil
}

// Close drops the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Offers lists the executions waiting for this node; with none it waits up to wait (30 s at most)
// for one.
func (c *Client) Offers(ctx context.Context, wait time.Duration) ([]workflow.Offer, error) {
	list := workflow.OfferList{}
	err := c.do(ctx, offersCall(wait), &list)
	return list.Executions, err
}

// Claim takes an offer. The same claimID again gives the same lease while it lives.
func (c *Client) Claim(ctx context.Context, executionID, claimID string) (*workflow.ClaimAnswer, error) {
	return fetch[workflow.ClaimAnswer](ctx, c, claimCall(executionID, claimID))
}

// Renew prolongs a lease.
func (c *Client) Renew(ctx context.Context, executionID string, fence workflow.Fence) (*workflow.RenewAnswer, error) {
	return fetch[workflow.RenewAnswer](ctx, c, fenceCall(executionID, "renew", fence))
}

// Event hands in the bytes of a workflow.Event. They are sent as they are at every try, so that the
// server knows a repetition for what it is.
func (c *Client) Event(ctx context.Context, executionID string, body []byte) (*workflow.EventAnswer, error) {
	return fetch[workflow.EventAnswer](ctx, c, call{method: http.MethodPost, path: []string{"executions", executionID, "events"}, body: body})
}

// Stopped gives the node's word that the process tree of an ended execution is gone.
func (c *Client) Stopped(ctx context.Context, executionID string, fence workflow.Fence) (*workflow.StoppedAnswer, error) {
	return fetch[workflow.StoppedAnswer](ctx, c, fenceCall(executionID, "stopped", fence))
}

// TaskWorkflow reads the current revision of a task in one of the node's projects.
func (c *Client) TaskWorkflow(ctx context.Context, taskID string, after, limit int) (*workflow.Detail, error) {
	return fetch[workflow.Detail](ctx, c, call{
		method: http.MethodGet,
		path:   []string{"tasks", taskID, "workflow"},
		query:  url.Values{"after": {strconv.Itoa(after)}, "limit": {strconv.Itoa(limit)}},
	})
}

// call is one request, kept so that it can be sent again unchanged.
type call struct {
	method  string
	path    []string // segments below /bridge/v1
	query   url.Values
	body    []byte
	timeout time.Duration // of one try; 0 means tryTimeout
}

func offersCall(wait time.Duration) call {
	seconds := int(min(max(wait, 0), maxWait) / time.Second)
	return call{
		method:  http.MethodGet,
		path:    []string{"executions"},
		query:   url.Values{"wait": {strconv.Itoa(seconds)}},
		timeout: tryTimeout + time.Duration(seconds)*time.Second,
	}
}

func claimCall(executionID, claimID string) call {
	return post(workflow.ClaimRequest{ClaimID: claimID}, "executions", executionID, "claim")
}

func fenceCall(executionID, verb string, fence workflow.Fence) call {
	return post(fence, "executions", executionID, verb)
}

func post(body any, path ...string) call {
	data, err := json.Marshal(body)
	if err != nil {
		// Only text that is not UTF-8 fails here; the server then refuses the empty body.
		data = nil
	}
	return call{method: http.MethodPost, path: path, body: data}
}

func fetch[T any](ctx context.Context, c *Client, r call) (*T, error) {
	answer := new(T)
	if err := c.do(ctx, r, answer); err != nil {
		return nil, err
	}
	return answer, nil
}

// do tries until there is a final answer or ctx ends.
func (c *Client) do(ctx context.Context, r call, answer any) error {
	return c.backoff.retry(ctx, func() error { return c.try(ctx, r, answer) })
}

// try sends the request once.
func (c *Client) try(ctx context.Context, r call, answer any) error {
	if r.timeout == 0 {
		r.timeout = tryTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	what := r.method + " " + r.path[len(r.path)-1]

	target := c.base.JoinPath(append([]string{"bridge", "v1"}, escape(r.path)...)...)
	target.RawQuery = r.query.Encode()
	req, err := http.NewRequestWithContext(ctx, r.method, target.String(), bytes.NewReader(r.body))
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if r.method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%s: read the answer: %w", what, err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("%s: %w", what, statusError(resp, data))
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return fmt.Errorf("%s: %w: %w", what, errBadAnswer, err)
	}
	return nil
}

// escape keeps an id one path segment, whatever it holds.
func escape(segments []string) []string {
	escaped := make([]string, len(segments))
	for i, s := range segments {
		escaped[i] = url.PathEscape(s)
	}
	return escaped
}
