// Dispatch by catalog: what may be read, asked before anything is and again under the locks of the commit.

package store

import (
	"context"
	"errors"
	"fmt"

	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/jackc/pgx/v5"
)

// CatalogDispatch is a dispatch by catalog as its caller sent it.
type CatalogDispatch struct {
	By      Identity
	Request workflow.CatalogRequest
	// RequestSHA256 is the digest of the request's RFC 8785 bytes.
	RequestSHA256 string
}

// CatalogScopes are what the caller's token must carry, at the start and when the contract is frozen.
var CatalogScopes = []workflow.Scope{workflow.ScopeTasksWrite, workflow.ScopeAgentsRead, workflow.ScopeDocumentsRead}

// CatalogPlan is what a dispatch by catalog has to read.
type CatalogPlan struct {
	// Replayed is the revision that the same request made before; nothing is to be read then.
	Replayed *Dispatched
	// Repository is the project's, whose documents they are.
	Repository        string
	Profile, Verifier CatalogIdentity
}

// CatalogIdentity is one pinned version and where its documents are.
type CatalogIdentity struct {
	Version    workflow.Version // as the catalog has it
	Definition workflow.AgentDefinition
	// Sources has for each of Definition.Documents() the index into the request's sources.
	Sources []int
}

// PlanCatalog asks for everything that can be refused without reading a document, in the order of
// docs/api.md. It writes nothing.
func (s *Store) PlanCatalog(ctx context.Context, d CatalogDispatch) (CatalogPlan, error) {
	var plan CatalogPlan
	spec := d.Request.Spec
	err := s.tx(ctx, func(tx pgx.Tx) error {
		// The profiles do not matter here: their accounts are asked for when the contract is frozen.
		bare := spec.Inline(workflow.Profile{}, workflow.Profile{})
		projectID, err := dispatchable(ctx, tx, d.By.User, bare)
		if err != nil {
			return err
		}
		if err := checkWriteContext(ctx, tx, &d.Request.WriteContext, &projectID); err != nil {
			return err
		}
		replayed, err := keyOf(ctx, tx, projectID, spec.IdempotencyKey, d.RequestSHA256)
		if err != nil {
			return err
		}
		if replayed != "" {
			start, err := startOf(ctx, tx, replayed)
			plan.Replayed = &Dispatched{WorkflowID: replayed, Replayed: true, Start: start}
			return err
		}
		if _, _, err := readDispatchTask(ctx, tx, "", bare); err != nil {
			return err
		}
		node, err := lockDispatchNode(ctx, tx, bare, projectID)
		if err != nil {
			return err
		}
		if err := node.refusal(); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, `SELECT repository FROM projects WHERE id = $1`, projectID).Scan(&plan.Repository); err != nil {
			return err
		}
		plan.Profile, plan.Verifier, err = catalogOf(ctx, tx, "", projectID, spec)
		return err
	})
	return plan, err
}

// keyOf finds the revision that a request made before, "" for none.
func keyOf(ctx context.Context, q querier, projectID, key, request string) (string, error) {
	var first, workflowID string
	err := q.QueryRow(ctx, `SELECT request_sha256, workflow_id FROM idempotency WHERE project_id = $1 AND key = $2`, projectID, key).Scan(&first, &workflowID)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	if err == nil && first != request {
		return "", keyTaken()
	}
	return workflowID, err
}

// catalogOf finds both identities; with a lock they stay as they are until the transaction ends.
func catalogOf(ctx context.Context, q querier, lock, projectID string, spec workflow.CatalogSpec) (profile, verifier CatalogIdentity, err error) {
	if profile, err = identityOf(ctx, q, lock, projectID, "$.spec.profile", spec.Profile); err != nil {
		return profile, verifier, err
	}
	if verifier, err = identityOf(ctx, q, lock, projectID, "$.spec.verifier", spec.Verifier); err != nil {
		return profile, verifier, err
	}
	if err = checkSources(ctx, q, lock, projectID, "$.spec.profile", spec.Profile); err != nil {
		return profile, verifier, err
	}
	return profile, verifier, checkSources(ctx, q, lock, projectID, "$.spec.verifier", spec.Verifier)
}

// identityOf finds a pinned version that may be dispatched, and the sources of its references. Locking
// the agent is enough: its versions change under that lock only.
func identityOf(ctx context.Context, q querier, lock, projectID, at string, p workflow.CatalogProfile) (CatalogIdentity, error) {
	refuse := func(code contracts.Code, member, format string, args ...any) error {
		return &contracts.Error{Code: code, Path: at + "." + member, Detail: fmt.Sprintf(format, args...)}
	}
	var id CatalogIdentity
	err := q.QueryRow(ctx, `SELECT id FROM agents WHERE id = $1 AND project_id = $2`+lock, p.AgentID, projectID).Scan(new(string))
	if errors.Is(err, pgx.ErrNoRows) {
		return id, refuse(contracts.CodeNotFound, "agent_id", "no such agent")
	}
	if err != nil {
		return id, err
	}
	rows, err := q.Query(ctx, `SELECT `+versionColumns+`, (SELECT l.status FROM agent_versions l WHERE l.agent_id = $1 ORDER BY l.ordinal DESC LIMIT 1)
		FROM agent_versions WHERE agent_id = $1 AND name = $2`, p.AgentID, p.Version.Text())
	if err != nil {
		return id, err
	}
	var latest workflow.AgentStatus
	v, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (workflow.AgentVersion, error) {
		return scanVersion(withLast{row, &latest})
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return id, refuse(contracts.CodeNotFound, "version", "the agent has no such version")
	case err != nil:
		return id, err
	case latest == workflow.AgentDeprecated:
		return id, refuse(contracts.CodeAgentUnavailable, "agent_id", "the agent's latest version is deprecated, which disables the agent")
	case v.Status == workflow.AgentDeprecated:
		return id, refuse(contracts.CodeAgentUnavailable, "version", "this version is deprecated")
	}
	id.Version, id.Definition = v.Version, v.AgentDefinition
	id.Sources, err = p.Match(at, v.AgentDefinition)
	return id, err
}

// checkSources asks whether every source is an unrevoked one of the project, for just that path.
func checkSources(ctx context.Context, q querier, lock, projectID, at string, p workflow.CatalogProfile) error {
	ids := make([]string, len(p.Sources))
	for i, s := range p.Sources {
		ids[i] = s.SourceID
	}
	type source struct {
		ID, Path string
		Revoked  bool
	}
	rows, err := q.Query(ctx, `SELECT id, path, revoked_at IS NOT NULL FROM sources WHERE id = ANY ($1) AND project_id = $2 ORDER BY id`+lock, ids, projectID)
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[source])
	if err != nil {
		return err
	}
	known := map[string]source{}
	for _, s := range found {
		known[s.ID] = s
	}
	for i, s := range p.Sources {
		own, ok := known[s.SourceID]
		at := workflow.SourceAt(at, i, "source_id")
		switch {
		case !ok:
			return workflow.RefuseSource(workflow.SourceForeign, at, "the task's project has no such source")
		case own.Revoked:
			return workflow.RefuseSource(workflow.SourceRevoked, at, "the source is revoked")
		case own.Path != s.Ref:
			return workflow.RefuseSource(workflow.SourceMismatched, at, "the source is the document %q, not the reference", own.Path)
		}
	}
	return nil
}

// lockToken asks again for the caller's token and its scopes, which stay until the transaction ends.
func lockToken(ctx context.Context, tx pgx.Tx, by Identity, scopes []workflow.Scope) error {
	var held Identity
	err := tx.QueryRow(ctx, `SELECT scopes FROM tokens WHERE id = $1 AND revoked_at IS NULL
		AND (expires_at IS NULL OR expires_at > clock_timestamp()) FOR SHARE`, by.TokenID).Scan(&held.Scopes)
	if errors.Is(err, pgx.ErrNoRows) {
		return contracts.Refuse(contracts.CodeUnauthenticated, "the token is expired or revoked")
	}
	if err != nil {
		return err
	}
	for _, scope := range scopes {
		if !held.Has(scope) {
			return contracts.Refuse(contracts.CodeForbidden, "the token lacks the scope %s", scope)
		}
	}
	return nil
}

// lockCatalog asks once more for what PlanCatalog asked for, under locks. What is refused after the
// task and the node comes back as a value, so that all refusals keep their order.
func lockCatalog(ctx context.Context, tx pgx.Tx, c *CatalogDispatch, projectID string) (refusal, err error) {
	if c == nil {
		return nil, nil
	}
	if err := lockToken(ctx, tx, c.By, CatalogScopes); err != nil {
		return nil, err
	}
	_, _, err = catalogOf(ctx, tx, " FOR SHARE", projectID, c.Request.Spec)
	if contracts.CodeOf(err) != "" {
		return err, nil
	}
	return nil, err
}
