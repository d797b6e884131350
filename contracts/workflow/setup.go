// What operators set up before a dispatch: instance, projects, members, tokens, nodes.

package workflow

import "time"

// Instance answers GET /v1/instance.
type Instance struct {
	Resource   string `json:"resource"`
	InstanceID string `json:"instance_id"`
	Version    string `json:"version"`
}

// CreateProject is the body of POST /v1/projects. As in every body of this file the write context may
// be absent; one that is given is checked (here its project_id is null).
type CreateProject struct {
	Name         string        `json:"name" validate:"notblank,max=200,text"`
	Repository   string        `json:"repository" validate:"notblank,max=1024,text"`
	WriteContext *WriteContext `json:"write_context,omitzero"`
}

// Project is a project as readers see it.
type Project struct {
	ID         string    `json:"id"`
	Name       string    `json:"name"`
	Repository string    `json:"repository"`
	CreatedAt  time.Time `json:"created_at"`
}

// Role is what a member may do in a project.
type Role string

// The roles, strongest first.
const (
	RoleOwner  Role = "owner"
	RoleAdmin  Role = "admin"
	RoleMember Role = "member"
	RoleViewer Role = "viewer"
)

// PutMember is the body of PUT /v1/projects/{id}/members/{user}.
type PutMember struct {
	Role         Role          `json:"role" validate:"required,oneof=owner admin member viewer"`
	Status       string        `json:"status" validate:"required,oneof=active suspended"`
	WriteContext *WriteContext `json:"write_context,omitzero"`
}

// Member is a user's place in a project.
type Member struct {
	ProjectID string    `json:"project_id"`
	User      string    `json:"user"`
	Role      Role      `json:"role"`
	Status    string    `json:"status"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Scope is one right of a token.
type Scope string

// The scopes. ScopeBridge belongs to nodes, the rest to users.
const (
	ScopeTasksRead      Scope = "tasks:read"
	ScopeTasksWrite     Scope = "tasks:write"
	ScopeAgentsRead     Scope = "agents:read"
	ScopeAgentsWrite    Scope = "agents:write"
	ScopeDocumentsRead  Scope = "documents:read"
	ScopeDocumentsWrite Scope = "documents:write"
	ScopeAdmin          Scope = "admin"
	ScopeBridge         Scope = "bridge"
)

// UserScopes are all the scopes a user's token can have.
var UserScopes = []Scope{ScopeTasksRead, ScopeTasksWrite, ScopeAgentsRead, ScopeAgentsWrite, ScopeDocumentsRead, ScopeDocumentsWrite, ScopeAdmin}

// CreateToken is the body of POST /v1/tokens.
type CreateToken struct {
	User   string  `json:"user" validate:"required,username"`
	Scopes []Scope `json:"scopes" validate:"required,min=1,unique,dive,oneof=tasks:read tasks:write agents:read agents:write documents:read documents:write admin"`
	// ExpiresIn is the token's life in seconds; absent means it does not expire.
	ExpiresIn    *int64        `json:"expires_in,omitzero" validate:"omitempty,min=1,max=315360000"`
	WriteContext *WriteContext `json:"write_context,omitzero"`
}

// TokenCreated shows a token's secret for the only time.
type TokenCreated struct {
	ID        string     `json:"id"`
	User      string     `json:"user,omitzero"`
	NodeID    string     `json:"node_id,omitzero"`
	Scopes    []Scope    `json:"scopes"`
	ExpiresAt *time.Time `json:"expires_at"`
	Token     string     `json:"token"`
}

// RevokeToken is the body of POST /v1/tokens/{id}/revoke.
type RevokeToken struct {
	WriteContext *WriteContext `json:"write_context,omitzero"`
}

// TokenRevoked answers a revocation; repeating it gives the first time again.
type TokenRevoked struct {
	ID        string    `json:"id"`
	RevokedAt time.Time `json:"revoked_at"`
}

// Account is a provider login that exists on a node, for one runtime.
type Account struct {
	AccountID string  `json:"account_id" validate:"required,key128"`
	Runtime   Runtime `json:"runtime" validate:"required,oneof=codex_cli claude_code_cli"`
}

// EnrollNode is the body of POST /v1/nodes; its write context names the anchor project.
type EnrollNode struct {
	Name            string `json:"name" validate:"notblank,max=200,text"`
	AnchorProjectID string `json:"anchor_project_id" validate:"required,max=64,text"`
	// Projects are further projects the node may work for; the anchor is always one of them.
	Projects     []string      `json:"projects,omitzero" validate:"max=100,unique,dive,required,max=64,text"`
	Accounts     []Account     `json:"accounts" validate:"max=100,unique,dive"`
	WriteContext *WriteContext `json:"write_context,omitzero"`
}

// NodeStatus is whether a node may take work.
type NodeStatus string

// The statuses of a node. Revoked is final.
const (
	NodeActive  NodeStatus = "active"
	NodePaused  NodeStatus = "paused"
	NodeRevoked NodeStatus = "revoked"
)

// PatchNode is the body of PATCH /v1/nodes/{id}; absent fields stay.
type PatchNode struct {
	Status       *NodeStatus   `json:"status,omitzero" validate:"omitempty,oneof=active paused revoked"`
	Note         *string       `json:"note,omitzero" validate:"omitempty,max=2000,text"`
	Projects     *[]string     `json:"projects,omitzero" validate:"omitempty,max=100,unique,dive,required,max=64,text"`
	Accounts     *[]Account    `json:"accounts,omitzero" validate:"omitempty,max=100,unique,dive"`
	WriteContext *WriteContext `json:"write_context,omitzero"`
}

// Node is an enrolled bridge as operators see it.
type Node struct {
	ID              string     `json:"id"`
	Name            string     `json:"name"`
	AnchorProjectID string     `json:"anchor_project_id"`
	Projects        []string   `json:"projects"`
	Accounts        []Account  `json:"accounts"`
	Status          NodeStatus `json:"status"`
	Note            string     `json:"note"`
	CreatedAt       time.Time  `json:"created_at"`
	UpdatedAt       time.Time  `json:"updated_at"`
}

// NodeEnrolled is a new node and its token, shown for the only time.
type NodeEnrolled struct {
	Node  Node   `json:"node"`
	Token string `json:"token"`
}
