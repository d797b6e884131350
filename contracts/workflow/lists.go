// Answers of the setup routes that list things.

package workflow

// ProjectList answers GET /v1/projects: the projects the caller is an active member of, by name.
type ProjectList struct {
	Projects []Project `json:"projects"`
}

// MemberList answers GET /v1/projects/{id}/members: all members, suspended ones included, by name.
type MemberList struct {
	Members []Member `json:"members"`
}

// NodeList answers GET /v1/nodes: the nodes of the projects the caller is an active member of, by name.
type NodeList struct {
	Nodes []Node `json:"nodes"`
}
