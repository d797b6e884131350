// The demo's own node, which no bridge of the user's works for, and which is revoked with its end.

package demo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
)

// nodeName tells the demo's node from the one that the development server has for the user's bridge.
const nodeName = "countersign demo, while it runs"

// node is what the demo keeps of its node, readable by its owner alone, until it is revoked.
type node struct {
	ID    string `json:"node_id"`
	Token string `json:"node_token"`

	path string
}

// node is the one that a demo left here which could not revoke it, or a new one.
func (o Options) node(ctx context.Context, home string) (node, error) {
	n := node{path: filepath.Join(home, "node.json")}
	data, err := os.ReadFile(n.path)
	if err == nil {
		if err := json.Unmarshal(data, &n); err != nil {
			return n, fmt.Errorf("%s: %w", n.path, err)
		}
		left, err := o.Client.Node(ctx, n.ID)
		if err == nil && left.Status == workflow.NodeActive {
			return n, nil
		}
		if err != nil && contracts.CodeOf(err) != contracts.CodeNotFound {
			return n, err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return n, err
	}
	enrolled, err := o.Client.EnrollNode(ctx, workflow.EnrollNode{Name: nodeName, AnchorProjectID: o.Dev.ProjectID})
	if err != nil {
		return n, err
	}
	n.ID, n.Token = enrolled.Node.ID, enrolled.Token
	if data, err = json.Marshal(n); err != nil {
		return n, err
	}
	// Written aside first: half a file would keep every later demo from starting.
	if err := os.WriteFile(n.path+".new", data, 0o600); err != nil {
		return n, err
	}
	return n, os.Rename(n.path+".new", n.path)
}

// retire revokes the node. Where the server cannot be asked any more the file stays, so that the next
// demo takes the node and retires it.
func (o Options) retire(ctx context.Context, n node) {
	ctx, cancel := context.WithTimeout(ctx, giveBack)
	defer cancel()
	revoked, note := workflow.NodeRevoked, "the demo has ended"
	_, err := o.Client.PatchNode(ctx, n.ID, workflow.PatchNode{Status: &revoked, Note: &note})
	if err == nil {
		err = os.Remove(n.path)
	}
	if err != nil {
		o.Log.Warn("the demo's node was not revoked; the next demo does it", "node", n.ID, "error", err)
	}
}
