// The names of the operations: what OpenAPI, its page and generated clients call each route.

package api

import "countersign/contracts/workflow"

// Tags group the operations by who calls them.
const (
	tagOperators = "operators"
	tagNodes     = "nodes"
	tagServer    = "server"
)

func tagOf(r Route) string {
	switch {
	case r.Public:
		return tagServer
	case r.Scope == workflow.ScopeBridge:
		return tagNodes
	}
	return tagOperators
}

// named is an operation's id and what it does in one sentence.
type named struct{ id, summary string }

// operations has every route, by method and path.
var operations = map[string]named{
	"GET /healthz":      {"health", "Say that the process lives."},
	"GET /readyz":       {"readiness", "Say whether PostgreSQL, its schema, Temporal and a worker are there."},
	"GET /metrics":      {"metrics", "Read the metrics."},
	"GET /openapi.json": {"describe", "Read this description."},
	"GET /docs":         {"page", "Read this description as a page."},
	"POST /mcp":         {"mcp", "Use the operators' tools over the Model Context Protocol."},
	"GET /v1/instance":  {"instance", "Read which server this is, for write contexts."},
	"GET /v1/keys":      {"listKeys", "List the public keys that receipts were signed with."},

	"POST /v1/projects":                    {"createProject", "Make a project; the caller becomes its owner."},
	"GET /v1/projects":                     {"listProjects", "List the caller's projects."},
	"GET /v1/projects/{id}":                {"getProject", "Read a project."},
	"GET /v1/projects/{id}/members":        {"listMembers", "List a project's members, suspended ones included."},
	"PUT /v1/projects/{id}/members/{user}": {"putMember", "Give a user a place in a project, or change it."},
	"POST /v1/tokens":                      {"createToken", "Make a user's token; the secret is shown this once."},
	"POST /v1/tokens/{id}/revoke":          {"revokeToken", "End a token at once."},
	"POST /v1/nodes":                       {"enrollNode", "Make a node and its token, shown this once."},
	"GET /v1/nodes":                        {"listNodes", "List the nodes of the caller's projects."},
	"GET /v1/nodes/{id}":                   {"getNode", "Read a node."},
	"PATCH /v1/nodes/{id}":                 {"patchNode", "Pause, resume, revoke or change a node."},

	"POST /v1/tasks":                                   {"createTask", "Make a task."},
	"GET /v1/tasks":                                    {"listTasks", "List a project's tasks, newest first."},
	"GET /v1/tasks/{id}":                               {"getTask", "Read a task with the compact view of its revision."},
	"PATCH /v1/tasks/{id}":                             {"patchTask", "Edit or cancel a task."},
	"POST /v1/tasks/{id}/complete":                     {"completeTask", "Complete a task that has no revision."},
	"GET /v1/tasks/{id}/receipt":                       {"getReceipt", "Read a task's acceptance receipt."},
	"GET /v1/tasks/{id}/ledger":                        {"getLedger", "Read a task's ledger."},
	"POST /v1/projects/{id}/attachments":               {"attach", "Record bytes in a project's lineage, for reports to anchor figures to."},
	"GET /v1/projects/{id}/attachments/{content_hash}": {"downloadAttachment", "Read an attachment's bytes."},
	"GET /v1/projects/{id}/lineage":                    {"getLineage", "Read a project's lineage: lines, sidecars, head and card."},
	"GET /v1/tasks/{id}/artifact":                      {"downloadArtifact", "Read the artifact that a task was accepted on."},
	"GET /v1/inbox":                                    {"getInbox", "List what waits for a person, oldest first."},

	"POST /v1/workflows":                   {"dispatch", "Freeze a spec into a revision and offer it to its node."},
	"GET /v1/tasks/{id}/workflow":          {"getTaskWorkflow", "Read a task's current revision."},
	"GET /v1/workflows/{id}":               {"getWorkflow", "Read any revision."},
	"POST /v1/tasks/{id}/workflow/control": {"controlWorkflow", "Cancel a revision, or settle one whose lease is over."},
	"GET /v1/workflows/{id}/live":          {"getLive", "Ask the Temporal workflow itself for the state."},

	"POST /v1/agents":                                   {"createAgent", "Make an agent of the catalog."},
	"GET /v1/agents":                                    {"listAgents", "List a project's agents with their versions."},
	"GET /v1/agents/{id}":                               {"getAgent", "Read an agent with its versions."},
	"POST /v1/agents/{id}/versions":                     {"addAgentVersion", "Add a version, which becomes the latest."},
	"PATCH /v1/agents/{id}/versions/{version}":          {"patchAgentVersion", "Deprecate a version, or make it active again."},
	"POST /v1/projects/{id}/sources":                    {"addSource", "Allow a document of the project's repository."},
	"GET /v1/projects/{id}/sources":                     {"listSources", "List a project's sources, revoked ones included."},
	"POST /v1/projects/{id}/sources/{source_id}/revoke": {"revokeSource", "Stop new dispatches from a source."},
	"POST /v1/workflows/catalog":                        {"dispatchCatalog", "Freeze pinned agent versions into a revision and offer it to its node."},

	"POST /v1/worker-dispatch/evaluate": {"evaluateWorkerDispatch", "Judge a worker dispatch by the capability contract; nothing is dispatched or written, and a value of another type than described reads as absent."},

	"GET /bridge/v1/executions":                   {"pollOffers", "Ask for offers, and wait for one."},
	"POST /bridge/v1/executions/{id}/claim":       {"claim", "Take an offer: a lease and a plan."},
	"POST /bridge/v1/executions/{id}/renew":       {"renew", "Prolong a lease."},
	"POST /bridge/v1/executions/{id}/events":      {"report", "Report where the attempt stands."},
	"PUT /bridge/v1/executions/{id}/artifact":     {"uploadArtifact", "Hand in the deliverable of a task that produces one; the last one counts."},
	"POST /bridge/v1/executions/{id}/attachments": {"attachFor", "Record bytes in the project's lineage while the attempt runs."},
	"GET /bridge/v1/executions/{id}/candidate":    {"downloadCandidate", "Read the bytes to verify or to correct."},
	"POST /bridge/v1/executions/{id}/stopped":     {"stopped", "Say that nothing of an ended attempt runs any more."},
	"GET /bridge/v1/tasks/{id}/workflow":          {"getNodeTaskWorkflow", "Read a task's current revision."},
}
