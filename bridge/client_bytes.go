// The bridge routes whose body or answer is raw bytes.

package bridge

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
)

// transferTimeout is how long one try of sending or reading bytes may take.
const transferTimeout = 3 * time.Minute

// Upload hands in the deliverable of a running work attempt, read from its beginning at every try.
func (c *Client) Upload(ctx context.Context, executionID string, fence workflow.Fence, content io.ReadSeeker) (*workflow.Upload, error) {
	up := new(workflow.Upload)
	return up, c.send(ctx, http.MethodPut, executionID, "artifact", fence, content, up)
}

// Attach records bytes in the project's lineage while the attempt runs.
func (c *Client) Attach(ctx context.Context, executionID string, fence workflow.Fence, content []byte) (*workflow.LineageEntry, error) {
	entry := new(workflow.LineageEntry)
	return entry, c.send(ctx, http.MethodPost, executionID, "attachments", fence, bytes.NewReader(content), entry)
}

func (c *Client) send(ctx context.Context, method, executionID, verb string, fence workflow.Fence, content io.ReadSeeker, answer any) error {
	size, err := content.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, verb, err)
	}
	return c.backoff.retry(ctx, func() error {
		if _, err := content.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("%s %s: %w", method, verb, err)
		}
		// The transport closes a body that can be closed; this one is needed again.
		body := io.NopCloser(io.LimitReader(content, size))
		return c.transfer(ctx, method, executionID, verb, fence, body, size, func(in io.Reader) error {
			data, err := io.ReadAll(io.LimitReader(in, maxAnswer))
			if err != nil {
				return err
			}
			return json.Unmarshal(data, answer)
		})
	})
}

// Candidate hands the bytes of the artifact to verify or to correct to take, anew at every try.
func (c *Client) Candidate(ctx context.Context, executionID string, fence workflow.Fence, take func(io.Reader) error) error {
	return c.backoff.retry(ctx, func() error {
		return c.transfer(ctx, http.MethodGet, executionID, "candidate", fence, http.NoBody, 0, take)
	})
}

// transfer sends the request once and hands a good answer's body to take.
func (c *Client) transfer(ctx context.Context, method, executionID, verb string, fence workflow.Fence, body io.ReadCloser, size int64, take func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, transferTimeout)
	defer cancel()
	target := c.base.JoinPath(append([]string{"bridge", "v1"}, escape([]string{"executions", executionID, verb})...)...)
	req, err := http.NewRequestWithContext(ctx, method, target.String(), body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, verb, err)
	}
	if req.ContentLength = size; size == 0 {
		req.Body = http.NoBody
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/octet-stream")
	req.Header.Set("X-Lease-Id", fence.LeaseID)
	req.Header.Set("X-Fencing-Token", strconv.FormatInt(fence.FencingToken, 10))
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, verb, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		if err != nil {
			return fmt.Errorf("%s %s: read the answer: %w", method, verb, err)
		}
		return fmt.Errorf("%s %s: %w", method, verb, statusError(resp, data))
	}
	watched := &watchedReader{in: resp.Body}
	err = take(watched)
	switch {
	case watched.err != nil:
		return fmt.Errorf("%s %s: read the answer: %w", method, verb, watched.err)
	case err != nil:
		// The line did its part, so that another try would end in the same way.
		return fmt.Errorf("%s %s: %w: %w", method, verb, errBadAnswer, err)
	}
	return nil
}

// watchedReader remembers an error that came from the line.
type watchedReader struct {
	in  io.Reader
	err error
}

// Read reads. An answer that is cut short of its announced length ends in an error, not in EOF.
func (w *watchedReader) Read(p []byte) (int, error) {
	n, err := w.in.Read(p)
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}
