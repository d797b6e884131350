// Routes whose body or answer is raw bytes instead of JSON.

package api

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"countersign/api/schema"
	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/gin-gonic/gin"
)

const (
	// maxUpload is the limit of a body of raw bytes.
	maxUpload = 64 << 20
	// transferTime is how long a client may take to send or to read one.
	transferTime = 2 * time.Minute
	// uploadLimit bounds what is done with one that has arrived.
	uploadLimit = time.Minute

	mediaBytes = "application/octet-stream"
)

// Headers that carry a Fence where the body is not JSON.
const (
	headerLease = "X-Lease-Id"
	headerToken = "X-Fencing-Token"
)

// uploading makes a route whose body is raw bytes of any media type.
func uploading[A any](method, path string, scope workflow.Scope, status int, f func(*call) (A, error)) Route {
	r := fenced(method, path, scope, f)
	r.Upload, r.Status, r.limit = maxUpload, status, transferTime+uploadLimit
	return r
}

// downloading makes a route that answers with raw bytes.
func downloading(path string, scope workflow.Scope, f func(*call) (content, error)) Route {
	r := fenced(http.MethodGet, path, scope, f)
	r.Answer = nil
	return r
}

// fenced makes a route without a JSON body. For nodes the proof of their lease is in headers, which are
// looked at after the query.
func fenced[A any](method, path string, scope workflow.Scope, f func(*call) (A, error)) Route {
	if scope != workflow.ScopeBridge {
		return reading(method, path, scope, nil, f)
	}
	r := reading(method, path, scope, nil, func(c *call) (answer A, err error) {
		if c.fence, err = fenceOf(c.gin.Request.Header); err != nil {
			return answer, err
		}
		return f(c)
	})
	r.Fenced = true
	return r
}

// content is an answer of raw bytes.
type content struct {
	bytes io.Reader
	size  int64
}

// fenceOf reads the proof of a held lease. The error is invalid at the header's name.
func fenceOf(h http.Header) (workflow.Fence, error) {
	var f workflow.Fence
	lease, token := h.Values(headerLease), h.Values(headerToken)
	if len(lease) != 1 || lease[0] == "" || len(lease[0]) > 64 || !plainText(lease[0]) {
		return f, contracts.Invalid("$."+headerLease, "send the header once, with the lease's id")
	}
	if len(token) != 1 {
		return f, contracts.Invalid("$."+headerToken, "send the header once, with the fencing token")
	}
	n, err := strconv.ParseInt(token[0], 10, 64)
	if err != nil || n < 1 || strconv.FormatInt(n, 10) != token[0] {
		return f, contracts.Invalid("$."+headerToken, "must be a positive integer")
	}
	return workflow.Fence{LeaseID: lease[0], FencingToken: n}, nil
}

// checkEncoding refuses a body that says it is encoded: nothing is decoded here, and what would be kept is
// not what the sender means.
func checkEncoding(h http.Header) error {
	for _, encoding := range h.Values("Content-Encoding") {
		if !strings.EqualFold(strings.TrimSpace(encoding), "identity") {
			return contracts.Refuse(contracts.CodeUnsupportedMedia, "send the bytes as they are, without a Content-Encoding")
		}
	}
	return nil
}

// openUpload is the body of an upload, which fails at the first byte above limit with too_large and
// for one that does not arrive whole with malformed_json.
func openUpload(g *gin.Context, limit int64) io.Reader {
	control := http.NewResponseController(g.Writer)
	now := time.Now()
	_ = control.SetReadDeadline(now.Add(transferTime)) // a test's recorder has no deadlines
	_ = control.SetWriteDeadline(now.Add(transferTime + uploadLimit))
	return &upload{body: g.Request.Body, left: limit, limit: limit}
}

type upload struct {
	body  io.Reader
	left  int64
	limit int64
}

// Read counts what was read against the limit.
func (u *upload) Read(p []byte) (int, error) {
	n, err := u.body.Read(p)
	if u.left -= int64(n); u.left < 0 {
		return 0, tooLarge(u.limit)
	}
	if err == nil || err == io.EOF {
		return n, err
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return n, contracts.Refuse(contracts.CodeMalformedJSON, "the body did not arrive within %v", transferTime)
	}
	return n, contracts.Refuse(contracts.CodeMalformedJSON, "the body ended before its announced length")
}

// writeBytes answers with bytes. Once the first is written, what goes wrong can only cut the answer
// short of its announced length, which the client sees.
func writeBytes(g *gin.Context, c content) error {
	_ = http.NewResponseController(g.Writer).SetWriteDeadline(time.Now().Add(transferTime))
	h := g.Writer.Header()
	h.Set("Content-Type", mediaBytes)
	h.Set("Content-Length", strconv.FormatInt(c.size, 10))
	g.Writer.WriteHeader(http.StatusOK)
	if _, err := io.Copy(g.Writer, c.bytes); err != nil {
		g.Error(fmt.Errorf("the answer was cut: %w", err)) //nolint:errcheck // it returns its argument
		g.Abort()
		panic(http.ErrAbortHandler)
	}
	return nil
}

// rawBytes describes a body or answer of bytes.
var rawBytes = map[string]media{mediaBytes: {&schema.Schema{}}}

// fenceParameters describe the headers of a Fence.
var fenceParameters = []parameter{
	{Name: headerLease, In: "header", Required: true, Description: "The lease's id, as claimed.", Schema: &schema.Schema{Type: schema.Type{"string"}}},
	{Name: headerToken, In: "header", Required: true, Description: "The lease's fencing token.", Schema: &schema.Schema{Type: schema.Type{"integer"}, Minimum: new(1)}},
}
