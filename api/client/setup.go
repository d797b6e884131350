// Calls that set things up: instance, projects, members, tokens, nodes.

package client

import (
	"context"
	"net/http"
	"net/url"

	"countersign/contracts/workflow"
)

// Instance asks who the server is; it needs no token.
func (c *Client) Instance(ctx context.Context) (workflow.Instance, error) {
	return call[workflow.Instance](ctx, c, http.MethodGet, "/v1/instance", nil)
}

// CreateProject makes a project whose owner is the caller. A nil write context is filled in, as in
// all calls of this file but PatchNode.
func (c *Client) CreateProject(ctx context.Context, p workflow.CreateProject) (workflow.Project, error) {
	if err := c.bind(ctx, &p.WriteContext, ""); err != nil {
		return workflow.Project{}, err
	}
	return call[workflow.Project](ctx, c, http.MethodPost, "/v1/projects", p)
}

// Projects lists the caller's projects.
func (c *Client) Projects(ctx context.Context) ([]workflow.Project, error) {
	answer, err := call[workflow.ProjectList](ctx, c, http.MethodGet, "/v1/projects", nil)
	return answer.Projects, err
}

// Project is one of the caller's projects.
func (c *Client) Project(ctx context.Context, projectID string) (workflow.Project, error) {
	return call[workflow.Project](ctx, c, http.MethodGet, "/v1/projects/"+url.PathEscape(projectID), nil)
}

// Members lists a project's members.
func (c *Client) Members(ctx context.Context, projectID string) ([]workflow.Member, error) {
	answer, err := call[workflow.MemberList](ctx, c, http.MethodGet, "/v1/projects/"+url.PathEscape(projectID)+"/members", nil)
	return answer.Members, err
}

// PutMember gives a user a place in a project or changes it.
func (c *Client) PutMember(ctx context.Context, projectID, user string, m workflow.PutMember) (workflow.Member, error) {
	if err := c.bind(ctx, &m.WriteContext, projectID); err != nil {
		return workflow.Member{}, err
	}
	path := "/v1/projects/" + url.PathEscape(projectID) + "/members/" + url.PathEscape(user)
	return call[workflow.Member](ctx, c, http.MethodPut, path, m)
}

// CreateToken makes a token; its secret is in this answer only.
func (c *Client) CreateToken(ctx context.Context, t workflow.CreateToken) (workflow.TokenCreated, error) {
	if err := c.bind(ctx, &t.WriteContext, ""); err != nil {
		return workflow.TokenCreated{}, err
	}
	return call[workflow.TokenCreated](ctx, c, http.MethodPost, "/v1/tokens", t)
}

// RevokeToken ends a token at once; repeating it changes nothing.
func (c *Client) RevokeToken(ctx context.Context, tokenID string) (workflow.TokenRevoked, error) {
	var body workflow.RevokeToken
	if err := c.bind(ctx, &body.WriteContext, ""); err != nil {
		return workflow.TokenRevoked{}, err
	}
	return call[workflow.TokenRevoked](ctx, c, http.MethodPost, "/v1/tokens/"+url.PathEscape(tokenID)+"/revoke", body)
}

// EnrollNode makes a node and its token; the secret is in this answer only.
func (c *Client) EnrollNode(ctx context.Context, n workflow.EnrollNode) (workflow.NodeEnrolled, error) {
	if err := c.bind(ctx, &n.WriteContext, n.AnchorProjectID); err != nil {
		return workflow.NodeEnrolled{}, err
	}
	return call[workflow.NodeEnrolled](ctx, c, http.MethodPost, "/v1/nodes", n)
}

// Nodes lists the nodes of the caller's projects.
func (c *Client) Nodes(ctx context.Context) ([]workflow.Node, error) {
	answer, err := call[workflow.NodeList](ctx, c, http.MethodGet, "/v1/nodes", nil)
	return answer.Nodes, err
}

// Node is one node of the caller's projects.
func (c *Client) Node(ctx context.Context, nodeID string) (workflow.Node, error) {
	return call[workflow.Node](ctx, c, http.MethodGet, "/v1/nodes/"+url.PathEscape(nodeID), nil)
}

// PatchNode changes the fields that are given; no write context is filled in, for the anchor project
// is the node's to know.
func (c *Client) PatchNode(ctx context.Context, nodeID string, p workflow.PatchNode) (workflow.Node, error) {
	return call[workflow.Node](ctx, c, http.MethodPatch, "/v1/nodes/"+url.PathEscape(nodeID), p)
}
