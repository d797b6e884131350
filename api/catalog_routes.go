// Routes about the catalog: agents, their versions, sources, and the dispatch that pins them.

package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"countersign/api/documents"
	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/workflow"
	"countersign/store"
)

// resolveLimit is how long reading all documents of a dispatch may take.
const resolveLimit = 30 * time.Second

func (a *API) catalogRoutes() []Route {
	const (
		read, write       = workflow.ScopeAgentsRead, workflow.ScopeAgentsWrite
		readDoc, writeDoc = workflow.ScopeDocumentsRead, workflow.ScopeDocumentsWrite
	)
	dispatch := writing(http.MethodPost, "/v1/workflows/catalog", store.CatalogScopes[0], http.StatusCreated, a.dispatchCatalog)
	dispatch.AlsoScopes = store.CatalogScopes[1:]
	dispatch.Replays = true
	dispatch.limit = resolveLimit + callLimit
	return []Route{
		writing(http.MethodPost, "/v1/agents", write, http.StatusCreated, a.createAgent),
		reading(http.MethodGet, "/v1/agents", read, []Param{{Name: "project_id", Required: true}}, a.agents),
		reading(http.MethodGet, "/v1/agents/{id}", read, nil, a.agent),
		writing(http.MethodPost, "/v1/agents/{id}/versions", write, http.StatusCreated, a.addAgentVersion),
		writing(http.MethodPatch, "/v1/agents/{id}/versions/{version}", write, http.StatusOK, a.patchAgentVersion),
		writing(http.MethodPost, "/v1/projects/{id}/sources", writeDoc, http.StatusCreated, a.addSource),
		reading(http.MethodGet, "/v1/projects/{id}/sources", readDoc, nil, a.sources),
		writing(http.MethodPost, "/v1/projects/{id}/sources/{source_id}/revoke", writeDoc, http.StatusOK, a.revokeSource),
		dispatch,
	}
}

func (a *API) createAgent(c *call, body workflow.CreateAgent) (workflow.Agent, error) {
	return a.store.CreateAgent(c, c.who.User, body)
}

func (a *API) agents(c *call) (workflow.AgentList, error) {
	return a.store.Agents(c, c.who.User, c.query.text["project_id"])
}

func (a *API) agent(c *call) (workflow.Agent, error) {
	return a.store.Agent(c, c.who.User, c.param("id"))
}

func (a *API) addAgentVersion(c *call, body workflow.AddAgentVersion) (workflow.AgentVersion, error) {
	return a.store.AddAgentVersion(c, c.who.User, c.param("id"), body)
}

func (a *API) patchAgentVersion(c *call, body workflow.PatchAgentVersion) (workflow.AgentVersion, error) {
	return a.store.PatchAgentVersion(c, c.who.User, c.param("id"), c.param("version"), body)
}

func (a *API) addSource(c *call, body workflow.AddSource) (workflow.Source, error) {
	return a.store.AddSource(c, c.who.User, c.param("id"), body)
}

func (a *API) sources(c *call) (workflow.SourceList, error) {
	return a.store.Sources(c, c.who.User, c.param("id"))
}

func (a *API) revokeSource(c *call, body workflow.RevokeSource) (workflow.Source, error) {
	return a.store.RevokeSource(c, c.who.User, c.param("id"), c.param("source_id"), body)
}

// dispatchCatalog asks what may be read, reads it, and freezes it when it still may be. A replay reads
// nothing.
func (a *API) dispatchCatalog(c *call, body workflow.CatalogRequest) (workflow.Detail, error) {
	request, err := canonjson.Canonical(c.raw)
	if err != nil {
		return workflow.Detail{}, err
	}
	asked := store.CatalogDispatch{By: c.who, Request: body, RequestSHA256: canonjson.Digest(request)}
	plan, err := a.store.PlanCatalog(c, asked)
	if err != nil {
		return workflow.Detail{}, err
	}
	if plan.Replayed != nil {
		return a.dispatched(c, *plan.Replayed)
	}
	resolved, err := a.resolve(c, plan, body.Spec)
	if err != nil {
		return workflow.Detail{}, err
	}
	inline := workflow.DispatchRequest{Spec: body.Spec.Inline(resolved.profile, resolved.verifier), WriteContext: body.WriteContext}
	if err := workflow.Validate(&inline); err != nil {
		return workflow.Detail{}, err
	}
	d, err := a.store.Dispatch(c, store.Dispatch{
		User: c.who.User, Request: inline, RequestSHA256: asked.RequestSHA256, Lease: a.lease, Deadline: a.deadline,
		NeedsSigner: true, Catalog: &asked, Sources: &resolved.sources,
	})
	if err != nil {
		return workflow.Detail{}, err
	}
	return a.dispatched(c, d)
}

// resolved is what a dispatch by catalog was made of.
type resolved struct {
	profile, verifier workflow.Profile
	sources           workflow.ContractSources
}

// resolve reads all documents of both profiles and writes the profiles out.
func (a *API) resolve(ctx context.Context, plan store.CatalogPlan, spec workflow.CatalogSpec) (resolved, error) {
	var out resolved
	parts := []struct {
		at       string
		named    workflow.CatalogProfile
		identity store.CatalogIdentity
		profile  *workflow.Profile
		sources  *workflow.ContractIdentity
	}{
		{"$.spec.profile", spec.Profile, plan.Profile, &out.profile, &out.sources.Profile},
		{"$.spec.verifier", spec.Verifier, plan.Verifier, &out.verifier, &out.sources.Verifier},
	}
	var (
		places []documents.Place
		paths  []string // where the request names each place
	)
	for _, p := range parts {
		for _, i := range p.identity.Sources {
			places = append(places, documents.Place{Commit: p.named.Sources[i].CommitSHA, Path: p.named.Sources[i].Ref})
			paths = append(paths, workflow.SourceAt(p.at, i, "commit_sha"))
		}
	}
	contents, err := a.read(ctx, plan.Repository, places, paths)
	if err != nil {
		return out, err
	}
	for _, p := range parts {
		own := contents[:len(p.identity.Sources)]
		contents = contents[len(own):]
		*p.profile = workflow.MakeProfile(p.named, p.identity.Version, p.identity.Definition, own)
		if size, err := p.profile.Size(); err != nil || size > workflow.MaxProfileBytes {
			return out, errors.Join(workflow.RefuseSource(workflow.SourceOversized, p.at, "the profile made of the documents has %d bytes, the limit is %d (60 KiB)", size, workflow.MaxProfileBytes), err)
		}
		*p.sources = frozenIdentity(plan.Repository, p.named, p.identity, own)
	}
	return out, nil
}

func frozenIdentity(repository string, named workflow.CatalogProfile, identity store.CatalogIdentity, contents []string) workflow.ContractIdentity {
	out := workflow.ContractIdentity{AgentID: named.AgentID, Version: identity.Version, Provider: identity.Definition.Provider}
	for i, d := range identity.Definition.Documents() {
		from := named.Sources[identity.Sources[i]]
		out.Documents = append(out.Documents, workflow.ContractDocument{
			Kind: d.Kind, SkillID: d.Skill.ID, SourceID: from.SourceID, Repository: repository,
			Commit: from.CommitSHA, Path: d.Ref, SHA256: canonjson.Digest([]byte(contents[i])),
		})
	}
	return out
}

// read reads documents within resolveLimit and turns what is wrong with one into its refusal.
func (a *API) read(ctx context.Context, repository string, places []documents.Place, paths []string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, resolveLimit)
	defer cancel()
	contents, err := a.documents.Read(ctx, repository, places, workflow.MaxProfileBytes)
	if fault, ok := errors.AsType[*documents.Fault](err); ok {
		return nil, workflow.RefuseSource(fault.Reason, paths[fault.Index], "%s", fault.Detail)
	}
	if err != nil {
		return nil, errors.Join(contracts.Refuse(contracts.CodeUnavailable, "the documents could not be read within %v; repeat the same call", resolveLimit), err)
	}
	return contents, nil
}
