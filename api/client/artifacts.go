// Calls about artifacts: a project's lineage and the bytes it names.

package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
)

// Lineage is one page of a project's log after a position. A reader goes on until he has as many lines as
// the head counts.
func (c *Client) Lineage(ctx context.Context, projectID string, after int) (workflow.LineagePage, error) {
	return call[workflow.LineagePage](ctx, c, http.MethodGet, "/v1/projects/"+url.PathEscape(projectID)+"/lineage?after="+strconv.Itoa(after), nil)
}

// Artifact opens the artifact that a task was accepted on; CodeNotFound until there is one.
func (c *Client) Artifact(ctx context.Context, taskID string) (io.ReadCloser, error) {
	return c.download(ctx, taskPath(taskID)+"/artifact")
}

// Attachment opens an attachment of a project by its content hash.
func (c *Client) Attachment(ctx context.Context, projectID, contentHash string) (io.ReadCloser, error) {
	return c.download(ctx, "/v1/projects/"+url.PathEscape(projectID)+"/attachments/"+url.PathEscape(contentHash))
}

// Attach records bytes in a project's lineage.
func (c *Client) Attach(ctx context.Context, projectID string, in io.Reader) (workflow.LineageEntry, error) {
	var made workflow.LineageEntry
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/projects/"+url.PathEscape(projectID)+"/attachments", in)
	if err != nil {
		return made, fmt.Errorf("attach: %w", err)
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	resp, err := c.send(req)
	if err != nil {
		return made, err
	}
	defer resp.Body.Close()
	if err := json.UnmarshalRead(resp.Body, &made); err != nil {
		return made, fmt.Errorf("attach: the answer is not what this client knows: %w", err)
	}
	return made, nil
}

// download opens a 2xx answer. The error of a read that is cut short comes from the reader.
func (c *Client) download(ctx context.Context, path string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", path, err)
	}
	resp, err := c.send(req)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}
