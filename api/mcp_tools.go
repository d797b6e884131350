// The tools of MCP: each is a route under another name, its arguments the route's parameters and body.

package api

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"countersign/api/schema"
	"countersign/contracts"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tool names the route behind a tool.
type tool struct {
	name, method, path string
	description        string
	// taskID says that the argument task_id is the {id} of the path.
	taskID bool
	// reads says that nothing changes, repeatable that the same call again changes nothing more.
	reads, repeatable bool
}

var tools = []tool{
	{name: "workflow_dispatch", method: http.MethodPost, path: "/v1/workflows", repeatable: true,
		description: "Freeze a spec with inline profiles into a revision of a task and offer it to its node. The same call again gives the same revision."},
	{name: "workflow_dispatch_catalog", method: http.MethodPost, path: "/v1/workflows/catalog", repeatable: true,
		description: "Freeze pinned versions of two agents into a revision of a task and offer it to its node. Every document of both is read at the commit named. The same call again gives the same revision."},
	{name: "workflow_get", method: http.MethodGet, path: "/v1/tasks/{id}/workflow", taskID: true, reads: true,
		description: "Read a task's current revision: frozen contract, phase, attempts, reason, and the history after a sequence."},
	{name: "workflow_control", method: http.MethodPost, path: "/v1/tasks/{id}/workflow/control", taskID: true,
		description: "Cancel a task's revision, or reconcile one whose lease is over."},
	{name: "task_create", method: http.MethodPost, path: "/v1/tasks", description: "Make a task in the project that the write context names."},
	{name: "task_get", method: http.MethodGet, path: "/v1/tasks/{id}", taskID: true, reads: true,
		description: "Read a task with the compact view of its current revision."},
	{name: "task_list", method: http.MethodGet, path: "/v1/tasks", reads: true, description: "List a project's tasks, newest first."},
	{name: "task_update", method: http.MethodPatch, path: "/v1/tasks/{id}", taskID: true,
		description: "Edit or cancel a task of the expected version."},
	{name: "capability_evaluate", method: http.MethodPost, path: "/v1/worker-dispatch/evaluate", reads: true,
		description: "Judge a worker dispatch by the capability contract worker-dispatch/v1. Nothing is dispatched and nothing is asked of anybody: the input's now is the only clock, and a value of another type reads as absent."},
}

// taskIDArgument is what the {id} of a task's path is called among a tool's arguments.
const taskIDArgument = "task_id"

// addTools makes every tool of its route. The error names a tool whose route is not there.
func (a *API) addTools(server *mcp.Server) error {
	routes := map[string]Route{}
	for _, r := range a.Routes() {
		routes[r.Method+" "+r.Path] = r
	}
	for _, t := range tools {
		r, ok := routes[t.method+" "+t.path]
		if !ok {
			return fmt.Errorf("the tool %s has no route %s %s", t.name, t.method, t.path)
		}
		input, err := json.Marshal(t.input(r), json.Deterministic(true))
		if err != nil {
			return fmt.Errorf("describe the tool %s: %w", t.name, err)
		}
		output, err := json.Marshal(toolOutput(r), json.Deterministic(true))
		if err != nil {
			return fmt.Errorf("describe the tool %s: %w", t.name, err)
		}
		server.AddTool(&mcp.Tool{
			Name: t.name, Description: t.description, InputSchema: rawJSON(input), OutputSchema: rawJSON(output),
			Annotations: &mcp.ToolAnnotations{
				ReadOnlyHint: t.reads, IdempotentHint: t.reads || t.repeatable, DestructiveHint: new(!t.reads && !t.repeatable), OpenWorldHint: new(false),
			},
		}, a.toolHandler(t, r))
	}
	return nil
}

// rawJSON is JSON for the SDK, which speaks encoding/json.
func rawJSON(data []byte) stdjson.RawMessage { return stdjson.RawMessage(data) }

// input is the closed schema of a tool's arguments.
func (t tool) input(r Route) *schema.Schema {
	g := &schema.Generator{Prefix: "#/$defs/", Documents: embedded}
	s := schema.Closed(map[string]*schema.Schema{})
	if r.Body != nil {
		s = g.Object(r.Body, schema.Body)
	}
	if t.taskID {
		s.Properties[taskIDArgument] = &schema.Schema{Type: schema.Type{"string"}, MinLength: new(1)}
		s.Required = append(s.Required, taskIDArgument)
	}
	for _, p := range r.Query {
		s.Properties[p.Name] = p.schema()
		if p.Required {
			s.Required = append(s.Required, p.Name)
		}
	}
	s.Defs = g.Defs
	return s
}

// toolOutput is the schema of a tool's structured content: the route's answer, or a problem.
func toolOutput(r Route) *schema.Schema {
	g := &schema.Generator{Prefix: "#/$defs/", Documents: embedded}
	s := &schema.Schema{Type: schema.Type{"object"}, AnyOf: []*schema.Schema{
		g.Of(r.Answer, schema.Answer), g.Of(reflect.TypeFor[problem](), schema.Answer),
	}}
	g.Defs[problemsName].Properties["code"].Enum = problemCodes()
	s.Defs = g.Defs
	return s
}

func (a *API) toolHandler(t tool, r Route) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		header := req.Extra.Header
		request, err := t.request(ctx, r, req.Params.Arguments)
		if err != nil {
			// A route knows the caller before it looks at the arguments.
			who, refusal := a.identity(ctx, header)
			if refusal == nil {
				refusal = r.admit(who)
			}
			if refusal != nil {
				err = refusal
			}
			return refusedTool(err)
		}
		request.Header.Set("Authorization", header.Get("Authorization"))
		request.Header.Set(requestIDHeader, header.Get(requestIDHeader))
		status, body := a.perform(request)
		return answerTool(ctx, status, body)
	}
}

// refusedTool is the result of a call that never reached its route.
func refusedTool(err error) (*mcp.CallToolResult, error) {
	p := problemOf(err)
	body, err := json.Marshal(p, answerJSON)
	if err != nil {
		return nil, err
	}
	return answerTool(context.Background(), p.Status, body)
}

// request spells a tool's arguments as a request to its route. What the route can judge is left to it:
// the error is invalid, for arguments that no request could carry.
func (t tool) request(ctx context.Context, r Route, arguments []byte) (*http.Request, error) {
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	path, query, body := r.Path, url.Values{}, []byte(nil)
	if !t.taskID && r.Body != nil {
		body = arguments
	} else {
		members, err := splitArguments(arguments)
		if err != nil {
			return nil, err
		}
		if t.taskID {
			id, err := members.takeText(taskIDArgument)
			if err != nil {
				return nil, err
			}
			path = strings.Replace(path, "{id}", url.PathEscape(id), 1)
		}
		if r.Body != nil {
			body = members.object()
		} else if query, err = members.query(r.Query); err != nil {
			return nil, err
		}
	}
	if encoded := query.Encode(); encoded != "" {
		path += "?" + encoded
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("spell the call of %s: %w", t.name, err)
	}
	if r.Body != nil {
		request.Header.Set("Content-Type", mediaJSON)
	}
	return request, nil
}

// arguments are the members of a tool's arguments, in order and as sent.
type arguments struct{ names, quoted, values []string }

// splitArguments takes an object apart without judging what is in it.
func splitArguments(data []byte) (a arguments, err error) {
	if jsontext.Value(data).Kind() != '{' {
		return a, contracts.Invalid("$", "the arguments must be an object")
	}
	dec := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := dec.ReadToken(); err != nil {
		return a, contracts.Invalid("$", "the arguments must be an object")
	}
	for dec.PeekKind() == '"' {
		quoted, err := dec.ReadValue()
		if err != nil {
			return a, contracts.Invalid("$", "the arguments are no JSON")
		}
		a.quoted = append(a.quoted, string(quoted))
		name, err := jsontext.AppendUnquote(nil, quoted)
		if err != nil {
			return a, contracts.Invalid("$", "a key is no Unicode text")
		}
		a.names = append(a.names, string(name))
		value, err := dec.ReadValue()
		if err != nil {
			return a, contracts.Invalid("$", "the arguments are no JSON")
		}
		a.values = append(a.values, string(value))
	}
	return a, nil
}

// takeText removes a text argument that must be there.
func (a *arguments) takeText(name string) (text string, err error) {
	var rest arguments
	found := 0
	for i, n := range a.names {
		if n != name {
			rest.names, rest.quoted, rest.values = append(rest.names, n), append(rest.quoted, a.quoted[i]), append(rest.values, a.values[i])
			continue
		}
		found++
		if text, err = textOf(name, a.values[i]); err != nil {
			return "", err
		}
	}
	switch {
	case found > 1:
		return "", contracts.Invalid("$."+name, "stands twice")
	case text == "":
		return "", contracts.Invalid("$."+name, "is required")
	}
	*a = rest
	return text, nil
}

func textOf(name, value string) (string, error) {
	if jsontext.Value(value).Kind() != '"' {
		return "", contracts.Invalid("$."+name, "must be a string")
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return "", contracts.Invalid("$."+name, "must be Unicode text")
	}
	return string(text), nil
}

// object is the arguments that are left, as one body.
func (a arguments) object() []byte {
	members := make([]string, len(a.names))
	for i := range a.names {
		members[i] = a.quoted[i] + ":" + a.values[i]
	}
	return []byte("{" + strings.Join(members, ",") + "}")
}

// query is the arguments that are left, as query parameters; null is an absent one. A number stays as
// it was written, so that a text in its place does not pass for one.
func (a arguments) query(declared []Param) (url.Values, error) {
	out := url.Values{}
	for i, name := range a.names {
		value := a.values[i]
		kind := jsontext.Value(value).Kind()
		if kind == 'n' {
			continue
		}
		text := value
		for _, p := range declared {
			if p.Name != name || p.Integer {
				continue
			}
			var err error
			if text, err = textOf(name, value); err != nil {
				return nil, err
			}
		}
		out.Add(name, text)
	}
	return out, nil
}
