// Calls about the catalog: agents, their versions, sources, and the dispatch that pins them.

package client

import (
	"context"
	"net/http"
	"net/url"

	"countersign/contracts/workflow"
)

func agentPath(agentID string) string { return "/v1/agents/" + url.PathEscape(agentID) }

func sourcesPath(projectID string) string {
	return "/v1/projects/" + url.PathEscape(projectID) + "/sources"
}

// CreateAgent makes an agent without versions.
func (c *Client) CreateAgent(ctx context.Context, a workflow.CreateAgent) (workflow.Agent, error) {
	if err := c.bind(ctx, &a.WriteContext, a.ProjectID); err != nil {
		return workflow.Agent{}, err
	}
	return call[workflow.Agent](ctx, c, http.MethodPost, "/v1/agents", a)
}

// Agents lists a project's agents with their versions.
func (c *Client) Agents(ctx context.Context, projectID string) ([]workflow.Agent, error) {
	answer, err := call[workflow.AgentList](ctx, c, http.MethodGet, "/v1/agents?project_id="+url.QueryEscape(projectID), nil)
	return answer.Agents, err
}

// Agent is one agent with its versions.
func (c *Client) Agent(ctx context.Context, agentID string) (workflow.Agent, error) {
	return call[workflow.Agent](ctx, c, http.MethodGet, agentPath(agentID), nil)
}

// AddAgentVersion adds a version, which becomes the latest. No write context is filled in, for the
// project is the agent's to know.
func (c *Client) AddAgentVersion(ctx context.Context, agentID string, v workflow.AddAgentVersion) (workflow.AgentVersion, error) {
	return call[workflow.AgentVersion](ctx, c, http.MethodPost, agentPath(agentID)+"/versions", v)
}

// PatchAgentVersion changes a version's status; the version is named as text.
func (c *Client) PatchAgentVersion(ctx context.Context, agentID, version string, p workflow.PatchAgentVersion) (workflow.AgentVersion, error) {
	return call[workflow.AgentVersion](ctx, c, http.MethodPatch, agentPath(agentID)+"/versions/"+url.PathEscape(version), p)
}

// AddSource allows a document of a project's repository.
func (c *Client) AddSource(ctx context.Context, projectID string, s workflow.AddSource) (workflow.Source, error) {
	if err := c.bind(ctx, &s.WriteContext, projectID); err != nil {
		return workflow.Source{}, err
	}
	return call[workflow.Source](ctx, c, http.MethodPost, sourcesPath(projectID), s)
}

// Sources lists a project's sources, revoked ones included.
func (c *Client) Sources(ctx context.Context, projectID string) ([]workflow.Source, error) {
	answer, err := call[workflow.SourceList](ctx, c, http.MethodGet, sourcesPath(projectID), nil)
	return answer.Sources, err
}

// RevokeSource stops new dispatches from a source; repeating it changes nothing.
func (c *Client) RevokeSource(ctx context.Context, projectID, sourceID string) (workflow.Source, error) {
	var body workflow.RevokeSource
	if err := c.bind(ctx, &body.WriteContext, projectID); err != nil {
		return workflow.Source{}, err
	}
	return call[workflow.Source](ctx, c, http.MethodPost, sourcesPath(projectID)+"/"+url.PathEscape(sourceID)+"/revoke", body)
}

// DispatchCatalog is Dispatch with pinned agent versions in place of inline profiles.
func (c *Client) DispatchCatalog(ctx context.Context, projectID string, r workflow.CatalogRequest) (workflow.Detail, error) {
	if err := c.bindTask(ctx, &r.WriteContext, projectID, r.Spec.TaskID); err != nil {
		return workflow.Detail{}, err
	}
	return call[workflow.Detail](ctx, c, http.MethodPost, "/v1/workflows/catalog", r)
}
