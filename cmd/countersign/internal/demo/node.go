// The demo's own node, which no bridge of the user's works for.

package demo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
)

// node is what the demo keeps of its node, readable by its owner alone.
type node struct {
	ID    string `json:"node_id"`
	Token string `json:"node_token"`
}

// node is the one that earlier demos of this data directory had, or a new one.
func (o Options) node(ctx context.Context, home string) (node, error) {
	var n node
	path := filepath.Join(home, "node.json")
	data, err := os.ReadFile(path)
	if err == nil {
		if err := json.Unmarshal(data, &n); err != nil {
			return n, fmt.Errorf("%s: %w", path, err)
		}
		return n, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return n, err
	}
	enrolled, err := o.Client.EnrollNode(ctx, workflow.EnrollNode{Name: "demo", AnchorProjectID: o.Dev.ProjectID})
	if err != nil {
		return n, err
	}
	n = node{enrolled.Node.ID, enrolled.Token}
	if data, err = json.Marshal(n); err != nil {
		return n, err
	}
	// Written aside first: half a file would keep every later demo from starting.
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return n, err
	}
	return n, os.Rename(path+".new", path)
}
