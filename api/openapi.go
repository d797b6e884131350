// GET /openapi.json: the whole API as one OpenAPI 3.1 document, made of the route table and the wire
// types when the server starts.

package api

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"countersign/api/schema"
	"countersign/contracts/capability"
	"countersign/contracts/completion"
	"countersign/contracts/workflow"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
)

// document is an OpenAPI 3.1 description.
type document struct {
	OpenAPI    string                           `json:"openapi"`
	Info       info                             `json:"info"`
	Tags       []tag                            `json:"tags"`
	Paths      map[string]map[string]*operation `json:"paths"` // path → method in lower case
	Components components                       `json:"components"`
}

type info struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	Version     string `json:"version"`
}

type tag struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

type components struct {
	Schemas         map[string]*schema.Schema `json:"schemas"`
	Responses       map[string]*response      `json:"responses"`
	SecuritySchemes map[string]securityScheme `json:"securitySchemes"`
}

type securityScheme struct {
	Type        string `json:"type"`
	Scheme      string `json:"scheme"`
	Description string `json:"description"`
}

type operation struct {
	OperationID string               `json:"operationId"`
	Tags        []string             `json:"tags"`
	Summary     string               `json:"summary"`
	Description string               `json:"description,omitzero"`
	Security    []map[string]scopes  `json:"security"`
	Parameters  []parameter          `json:"parameters,omitzero"`
	RequestBody *requestBody         `json:"requestBody,omitzero"`
	Responses   map[string]*response `json:"responses"`
}

// scopes are written as OpenAPI's list of roles for a scheme that is no OAuth.
type scopes []string

type parameter struct {
	Name        string         `json:"name"`
	In          string         `json:"in"`
	Required    bool           `json:"required"`
	Description string         `json:"description,omitzero"`
	Schema      *schema.Schema `json:"schema"`
}

type requestBody struct {
	Required bool             `json:"required"`
	Content  map[string]media `json:"content"`
}

type media struct {
	Schema *schema.Schema `json:"schema"`
}

type response struct {
	Ref         string           `json:"$ref,omitzero"`
	Description string           `json:"description,omitzero"`
	Content     map[string]media `json:"content,omitzero"`
}

const (
	schemaPrefix  = "#/components/schemas/"
	bearerScheme  = "token"
	problemsName  = "Problem"
	problemAnswer = "#/components/responses/" + problemsName
)

// embedded says what the JSON documents inside answers are.
var embedded = map[string]reflect.Type{
	"Detail.Contract":    reflect.TypeFor[workflow.Contract](),
	"Detail.Refusal":     reflect.TypeFor[refusalDocument](),
	"Projection.Refusal": reflect.TypeFor[refusalDocument](),
	"Task.Refusal":       reflect.TypeFor[refusalDocument](),
	"InboxItem.Refusal":  reflect.TypeFor[refusalDocument](),
	"Receipt.Envelope":   reflect.TypeFor[envelope](),
	"problem.Outcome":    reflect.TypeFor[capability.Outcome](),
}

// refusalDocument is a worker's refusal as it is kept.
type refusalDocument struct {
	Contract           string `json:"contract"`
	completion.Refusal `json:",inline"`
}

// envelope is a receipt's, as DSSE writes it.
type envelope struct {
	PayloadType string              `json:"payloadType"`
	Payload     string              `json:"payload"`
	Signatures  []envelopeSignature `json:"signatures"`
}

type envelopeSignature struct {
	KeyID string `json:"keyid"`
	Sig   string `json:"sig"`
}

// describe makes the document of all routes.
func (a *API) describe() *document {
	g := &schema.Generator{Prefix: schemaPrefix, Documents: embedded}
	d := &document{
		OpenAPI: "3.1.0",
		Info: info{
			Title: "countersign", Version: a.version,
			Description: "Agent tasks that count only when a second, independent session has signed for them. Bodies are closed: " +
				"an unknown, doubled or differently cased key is refused. Text may not hold U+0000, lone surrogates or invalid UTF-8.",
		},
		Tags: []tag{
			{tagOperators, "What operators call, with a user's token."},
			{tagNodes, "What nodes call, with the node's token."},
			{tagServer, "About the server itself."},
		},
		Paths: map[string]map[string]*operation{},
	}
	routes := a.Routes()
	// A type that is both read and sent is named for its readers.
	answers := make([]*schema.Schema, len(routes))
	for i, r := range routes {
		if r.Answer != nil {
			answers[i] = g.Of(r.Answer, schema.Answer)
		}
	}
	problems := g.Of(reflect.TypeFor[problem](), schema.Answer)
	ready := g.Of(reflect.TypeFor[readiness](), schema.Answer)
	for i, r := range routes {
		d.add(r.Method, r.Path, describeRoute(g, r, answers[i]))
	}
	for _, o := range a.others(ready) {
		d.add(o.method, o.path, o.operation)
	}
	g.Defs[problemsName].Properties["code"].Enum = problemCodes()
	d.Components = components{
		Schemas: g.Defs,
		Responses: map[string]*response{problemsName: {
			Description: "A refusal: problem details (RFC 9457) with a stable code.", Content: map[string]media{mediaProblem: {problems}},
		}},
		SecuritySchemes: map[string]securityScheme{bearerScheme: {
			Type: "http", Scheme: "bearer", Description: "A user's or a node's token. The scopes beside an operation are what the token must carry.",
		}},
	}
	return d
}

func (d *document) add(method, path string, o *operation) {
	if d.Paths[path] == nil {
		d.Paths[path] = map[string]*operation{}
	}
	d.Paths[path][strings.ToLower(method)] = o
}

func problemCodes() (out []any) {
	for _, code := range slices.Sorted(maps.Keys(problems)) {
		out = append(out, code)
	}
	return out
}

func describeRoute(g *schema.Generator, r Route, answer *schema.Schema) *operation {
	named := operations[r.Method+" "+r.Path]
	o := &operation{
		OperationID: named.id, Tags: []string{tagOf(r)}, Summary: named.summary, Security: []map[string]scopes{},
		Responses: map[string]*response{strconv.Itoa(r.Status): {Description: "Done.", Content: map[string]media{mediaJSON: {answer}}}},
	}
	if r.Answer == nil {
		o.Responses[strconv.Itoa(r.Status)] = &response{Description: "The bytes.", Content: rawBytes}
	}
	if r.Replays {
		o.Responses["200"] = &response{Description: "Done before: the same call again.", Content: map[string]media{mediaJSON: {answer}}}
	}
	refusals := []int{http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusServiceUnavailable}
	if !r.Public {
		o.Security = []map[string]scopes{{bearerScheme: scopesOf(r)}}
		refusals = append(refusals, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusTooManyRequests)
	}
	for _, m := range pathParam.FindAllStringSubmatch(r.Path, -1) {
		o.Parameters = append(o.Parameters, parameter{Name: m[1], In: "path", Required: true, Schema: &schema.Schema{Type: schema.Type{"string"}}})
	}
	for _, p := range r.Query {
		o.Parameters = append(o.Parameters, parameter{Name: p.Name, In: "query", Required: p.Required, Schema: p.schema()})
	}
	if r.Fenced {
		o.Parameters = append(o.Parameters, fenceParameters...)
	}
	if r.Upload > 0 {
		o.RequestBody = &requestBody{Required: true, Content: rawBytes}
		refusals = append(refusals, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	if r.Body != nil {
		o.RequestBody = &requestBody{Required: !r.BodyOptional, Content: map[string]media{mediaJSON: {g.Of(r.Body, schema.Body)}}}
		refusals = append(refusals, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	for _, status := range refusals {
		o.Responses[strconv.Itoa(status)] = &response{Ref: problemAnswer}
	}
	return o
}

// schema is a query parameter's.
func (p Param) schema() *schema.Schema {
	if p.Integer {
		return &schema.Schema{Type: schema.Type{"integer"}, Minimum: &p.Min, Maximum: &p.Max, Default: p.Default}
	}
	s := &schema.Schema{Type: schema.Type{"string"}, MinLength: new(1), MaxLength: new(maxText)}
	for _, word := range p.OneOf {
		s.Enum = append(s.Enum, word)
	}
	return s
}

func scopesOf(r Route) scopes {
	out := scopes{}
	for _, scope := range r.scopes() {
		out = append(out, string(scope))
	}
	return out
}

// described is an operation outside the route table.
type described struct {
	method, path string
	*operation
}

// others are the routes that answer in forms of their own.
func (a *API) others(ready *schema.Schema) []described {
	get := func(path, mediaType, what string, answer *schema.Schema) described {
		named := operations["GET "+path]
		return described{http.MethodGet, path, &operation{
			OperationID: named.id, Tags: []string{tagServer}, Summary: named.summary, Security: []map[string]scopes{},
			Responses: map[string]*response{"200": {Description: what, Content: map[string]media{mediaType: {answer}}}},
		}}
	}
	text := &schema.Schema{Type: schema.Type{"string"}}
	readyz := get("/readyz", mediaJSON, "Ready.", ready)
	readyz.Responses["503"] = &response{Description: "Not ready; the checks say why.", Content: map[string]media{mediaJSON: {ready}}}
	out := []described{
		readyz,
		get(openAPIPath, mediaJSON, "This document.", &schema.Schema{Type: schema.Type{"object"}}),
		get(docsPath, "text/html", "The page.", text),
	}
	out = append(out, describeMCP())
	if a.exposition != nil {
		out = append(out, get("/metrics", "text/plain", "Prometheus' text format.", text))
	}
	return out
}

// describeMCP is the one route whose messages another protocol describes.
func describeMCP() described {
	named := operations["POST "+mcpPath]
	message := map[string]media{mediaJSON: {&schema.Schema{Type: schema.Type{"object"}}}}
	o := &operation{
		OperationID: named.id, Tags: []string{tagServer}, Summary: named.summary, Security: []map[string]scopes{{bearerScheme: {}}},
		Description: "Streamable HTTP without sessions; tools/list has the schemas of the tools.",
		RequestBody: &requestBody{Required: true, Content: message},
		Responses: map[string]*response{
			"200": {Description: "The JSON-RPC answer.", Content: message},
			"202": {Description: "A notification was taken."},
			"400": {Description: "No MCP message.", Content: map[string]media{
				"text/plain": {&schema.Schema{Type: schema.Type{"string"}}}, mediaProblem: {&schema.Schema{Ref: schemaPrefix + problemsName}},
			}},
		},
	}
	for _, status := range []int{http.StatusUnauthorized, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusServiceUnavailable} {
		o.Responses[strconv.Itoa(status)] = &response{Ref: problemAnswer}
	}
	return described{http.MethodPost, mcpPath, o}
}

const (
	openAPIPath = "/openapi.json"
	docsPath    = "/docs"
)

// publish serves the document and the page made of it.
func (a *API) publish() error {
	d := a.describe()
	data, err := json.Marshal(d, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("describe the API: %w", err)
	}
	page, err := docsPage(d)
	if err != nil {
		return fmt.Errorf("make the API's page: %w", err)
	}
	a.engine.GET(openAPIPath, func(g *gin.Context) { g.Data(http.StatusOK, mediaJSON, data) })
	a.engine.GET(docsPath, func(g *gin.Context) {
		g.Header("Content-Security-Policy", docsPolicy)
		g.Data(http.StatusOK, "text/html; charset=utf-8", page)
	})
	return nil
}
