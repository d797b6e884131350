// The demo project, node and tokens: made once a directory, the same at every start.

package devstack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"countersign/cmd/countersign/internal/devfile"
	"countersign/contracts"
	"countersign/contracts/workflow"
	"countersign/store"

	"github.com/go-json-experiment/json"
)

// operator is the user that a development server's operator is.
const operator = "dev"

// identity is what a directory's clients are called. It is kept apart from dev.json, which is only
// there while the server runs.
type identity struct {
	OperatorToken string `json:"operator_token"`
	ProjectID     string `json:"project_id"`
	NodeID        string `json:"node_id"`
	NodeToken     string `json:"node_token"`
}

// ensureIdentity reads the identity and makes what is missing in it, or no longer good: tokens may
// have been revoked, the database may be a new one. It is saved after each thing made.
func ensureIdentity(ctx context.Context, st *store.Store, dir string) (identity, error) {
	path := filepath.Join(dir, "identity.json")
	id, err := readIdentity(path)
	if err != nil {
		return id, err
	}
	for _, ensure := range []func(context.Context, *store.Store, *identity) (bool, error){ensureOperator, ensureProject, ensureNode} {
		made, err := ensure(ctx, st, &id)
		if err == nil && made {
			err = devfile.WriteJSON(path, id)
		}
		if err != nil {
			return id, fmt.Errorf("demo project, node and tokens: %w", err)
		}
	}
	return id, nil
}

func readIdentity(path string) (identity, error) {
	var id identity
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return id, nil
	}
	if err != nil {
		return id, err
	}
	if err := json.Unmarshal(data, &id); err != nil {
		return id, fmt.Errorf("%s is damaged; remove it to have new tokens made: %w", path, err)
	}
	return id, nil
}

func ensureOperator(ctx context.Context, st *store.Store, id *identity) (made bool, err error) {
	if good, err := tokenGood(ctx, st, id.OperatorToken, func(who store.Identity) bool { return who.User == operator }); good || err != nil {
		return false, err
	}
	token, err := st.BootstrapAdmin(ctx, operator)
	if contracts.CodeOf(err) == contracts.CodeAlreadyExists {
		// The file was lost but the database was not; who holds the database may do as admins do.
		owner := store.Identity{User: operator, Scopes: []workflow.Scope{workflow.ScopeAdmin}}
		token, err = st.CreateToken(ctx, owner, workflow.CreateToken{User: operator, Scopes: workflow.UserScopes})
	}
	id.OperatorToken = token.Token
	return true, err
}

func ensureProject(ctx context.Context, st *store.Store, id *identity) (made bool, err error) {
	if id.ProjectID != "" {
		if _, err := st.Project(ctx, operator, id.ProjectID); err == nil || contracts.CodeOf(err) != contracts.CodeNotFound {
			return false, err
		}
	}
	p, err := st.CreateProject(ctx, operator, workflow.CreateProject{Name: "demo", Repository: "https://example.com/demo.git"})
	id.ProjectID, id.NodeID, id.NodeToken = p.ID, "", ""
	return true, err
}

func ensureNode(ctx context.Context, st *store.Store, id *identity) (made bool, err error) {
	if good, err := tokenGood(ctx, st, id.NodeToken, func(who store.Identity) bool { return who.NodeID == id.NodeID }); good || err != nil {
		return false, err
	}
	n, err := st.EnrollNode(ctx, operator, workflow.EnrollNode{Name: "demo", AnchorProjectID: id.ProjectID, Accounts: []workflow.Account{}})
	id.NodeID, id.NodeToken = n.Node.ID, n.Token
	return true, err
}

func tokenGood(ctx context.Context, st *store.Store, secret string, whose func(store.Identity) bool) (bool, error) {
	if secret == "" {
		return false, nil
	}
	who, err := st.Authenticate(ctx, secret)
	if contracts.CodeOf(err) == contracts.CodeUnauthenticated {
		return false, nil
	}
	return err == nil && whose(who), err
}
