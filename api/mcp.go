// POST /mcp: the same operations for agents, over MCP's streamable HTTP.

package api

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"countersign/contracts"

	"github.com/gin-gonic/gin"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	mcpPath = "/mcp"
	// maxEnvelope bounds a whole MCP message; the arguments of a tool have the limit of a JSON body.
	maxEnvelope = 2 * maxBody
)

const mcpInstructions = "Countersign runs agent tasks that count only when a second, independent session has signed for them. " +
	"Make a task with task_create, dispatch it with workflow_dispatch or workflow_dispatch_catalog, follow it with workflow_get. " +
	"A write context names the server and project a write is meant for: resource and instance_id come from GET /v1/instance. " +
	"A refused call is a tool error whose structured content is a problem with a stable code and the path to the fault."

// mcpHandler serves MCP without sessions, so that any process of a deployment can answer any message.
func (a *API) mcpHandler() (gin.HandlerFunc, error) {
	server := mcp.NewServer(&mcp.Implementation{Name: "countersign", Version: a.version}, &mcp.ServerOptions{
		Instructions: mcpInstructions,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	if err := a.addTools(server); err != nil {
		return nil, err
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxEnvelope, PropagateRequestCancellation: true,
		// A page that makes a browser call this server by another name has no token to send.
		DisableLocalhostProtection: true,
	})
	return func(g *gin.Context) {
		c := &call{gin: g}
		if err := a.admitMCP(c); err != nil {
			refuse(g, err)
			return
		}
		g.Request.Body = io.NopCloser(bytes.NewReader(c.raw))
		// What the tools do is logged under the same id.
		g.Request.Header.Set(requestIDHeader, g.Writer.Header().Get(requestIDHeader))
		handler.ServeHTTP(g.Writer, g.Request)
	}, nil
}

// admitMCP lets everybody in whom the server knows and reads the message. What a token may do is each
// tool's own route's to say.
func (a *API) admitMCP(c *call) (err error) {
	defer c.within(callLimit)()
	if c.who, err = a.identity(c, c.gin.Request.Header); err != nil {
		return err
	}
	c.gin.Set(keyWho, c.who)
	c.raw, err = readBody(c.gin, false, maxEnvelope)
	return err
}

// perform runs a request through the server's own routes: what a tool does is what the route does,
// with the same checks in the same order.
func (a *API) perform(r *http.Request) (status int, body []byte) {
	w := &answerBuffer{header: http.Header{}}
	a.engine.ServeHTTP(w, r)
	return w.status, w.body.Bytes()
}

// answerBuffer is an http.ResponseWriter that keeps the answer.
type answerBuffer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (b *answerBuffer) Header() http.Header { return b.header }

func (b *answerBuffer) WriteHeader(status int) {
	if b.status == 0 {
		b.status = status
	}
}

func (b *answerBuffer) Write(data []byte) (int, error) {
	b.WriteHeader(http.StatusOK)
	return b.body.Write(data)
}

// answerTool turns what a route answered into a tool's result. A refusal is a tool error with the
// problem as its structured content.
func answerTool(ctx context.Context, status int, body []byte) (*mcp.CallToolResult, error) {
	if len(body) == 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return refusedTool(&contracts.Error{Code: contracts.CodeInternal})
	}
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: string(body)}},
		StructuredContent: rawJSON(body),
		IsError:           status >= http.StatusBadRequest,
	}, nil
}
