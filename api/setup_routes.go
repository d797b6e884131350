// Routes that set things up: instance, projects, members, tokens, nodes.

package api

import (
	"net/http"

	"countersign/contracts/workflow"
)

func (a *API) setupRoutes() []Route {
	instance := reading(http.MethodGet, "/v1/instance", "", nil, a.instance)
	health := reading(http.MethodGet, "/healthz", "", nil, a.healthz)
	instance.Public, health.Public = true, true
	revoke := writing(http.MethodPost, "/v1/tokens/{id}/revoke", "", http.StatusOK, a.revokeToken)
	revoke.BodyOptional = true
	return []Route{
		health,
		instance,
		writing(http.MethodPost, "/v1/projects", workflow.ScopeTasksWrite, http.StatusCreated, a.createProject),
		reading(http.MethodGet, "/v1/projects", workflow.ScopeTasksRead, nil, a.projects),
		reading(http.MethodGet, "/v1/projects/{id}", workflow.ScopeTasksRead, nil, a.project),
		reading(http.MethodGet, "/v1/projects/{id}/members", workflow.ScopeTasksRead, nil, a.members),
		writing(http.MethodPut, "/v1/projects/{id}/members/{user}", workflow.ScopeTasksWrite, http.StatusOK, a.putMember),
		writing(http.MethodPost, "/v1/tokens", "", http.StatusCreated, a.createToken),
		revoke,
		writing(http.MethodPost, "/v1/nodes", workflow.ScopeTasksWrite, http.StatusCreated, a.enrollNode),
		reading(http.MethodGet, "/v1/nodes", workflow.ScopeTasksRead, nil, a.nodes),
		reading(http.MethodGet, "/v1/nodes/{id}", workflow.ScopeTasksRead, nil, a.node),
		writing(http.MethodPatch, "/v1/nodes/{id}", workflow.ScopeTasksWrite, http.StatusOK, a.patchNode),
	}
}

func (a *API) instance(c *call) (workflow.Instance, error) {
	i, err := a.store.Instance(c)
	i.Version = a.version
	return i, err
}

func (a *API) createProject(c *call, body workflow.CreateProject) (workflow.Project, error) {
	return a.store.CreateProject(c, c.who.User, body)
}

func (a *API) projects(c *call) (workflow.ProjectList, error) { return a.store.Projects(c, c.who.User) }

func (a *API) project(c *call) (workflow.Project, error) {
	return a.store.Project(c, c.who.User, c.param("id"))
}

func (a *API) members(c *call) (workflow.MemberList, error) {
	return a.store.Members(c, c.who.User, c.param("id"))
}

func (a *API) putMember(c *call, body workflow.PutMember) (workflow.Member, error) {
	return a.store.PutMember(c, c.who.User, c.param("id"), c.param("user"), body)
}

func (a *API) createToken(c *call, body workflow.CreateToken) (workflow.TokenCreated, error) {
	return a.store.CreateToken(c, c.who, body)
}

func (a *API) revokeToken(c *call, body workflow.RevokeToken) (workflow.TokenRevoked, error) {
	return a.store.RevokeToken(c, c.who, c.param("id"), body)
}

func (a *API) enrollNode(c *call, body workflow.EnrollNode) (workflow.NodeEnrolled, error) {
	return a.store.EnrollNode(c, c.who.User, body)
}

func (a *API) nodes(c *call) (workflow.NodeList, error) { return a.store.Nodes(c, c.who.User) }

func (a *API) node(c *call) (workflow.Node, error) { return a.store.Node(c, c.who.User, c.param("id")) }

func (a *API) patchNode(c *call, body workflow.PatchNode) (workflow.Node, error) {
	return a.store.PatchNode(c, c.who.User, c.param("id"), body)
}
