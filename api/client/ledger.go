// Calls about what was recorded of a task, and what waits for a person.

package client

import (
	"context"
	"fmt"
	"net/http"

	"countersign/contracts/workflow"
)

// Ledger is a page of a task's ledger after a sequence; limit 0 takes the server's default.
func (c *Client) Ledger(ctx context.Context, taskID string, after, limit int) (workflow.Ledger, error) {
	path := fmt.Sprintf("%s/ledger?after=%d", taskPath(taskID), after)
	if limit != 0 {
		path += fmt.Sprintf("&limit=%d", limit)
	}
	return call[workflow.Ledger](ctx, c, http.MethodGet, path, nil)
}

// VerifiedLedger reads a task's whole ledger and verifies it here. The fault is nil when it is sound.
func (c *Client) VerifiedLedger(ctx context.Context, taskID string) (workflow.Ledger, *workflow.LedgerFault, error) {
	var whole workflow.Ledger
	for {
		page, err := c.Ledger(ctx, taskID, len(whole.Entries), 100)
		if err != nil {
			return whole, nil, err
		}
		whole.Count, whole.Head = page.Count, page.Head
		if len(page.Entries) == 0 {
			return whole, workflow.VerifyLedger(taskID, whole.Entries, whole.Count, whole.Head), nil
		}
		whole.Entries = append(whole.Entries, page.Entries...)
	}
}

// Inbox is what waits for a person in the caller's projects; limit 0 takes the server's default.
func (c *Client) Inbox(ctx context.Context, limit int) (workflow.Inbox, error) {
	path := "/v1/inbox"
	if limit != 0 {
		path += fmt.Sprintf("?limit=%d", limit)
	}
	return call[workflow.Inbox](ctx, c, http.MethodGet, path, nil)
}
