// Reading a request's body within its limits.

package api

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"countersign/contracts"

	"github.com/gin-gonic/gin"
)

const (
	// maxBody is the limit of a JSON body.
	maxBody = 1 << 20
	// bodyTime is how long a client may take to send one.
	bodyTime = 30 * time.Second
)

// readBody returns the whole body. It refuses another media type than JSON and more than limit bytes. An
// empty body is nil when it is optional.
func readBody(g *gin.Context, optional bool, limit int64) ([]byte, error) {
	r := g.Request
	if optional && r.ContentLength == 0 {
		return nil, nil
	}
	if err := checkMediaType(r.Header.Values("Content-Type")); err != nil {
		return nil, err
	}
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	control := http.NewResponseController(g.Writer)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime)) // a test's recorder has no deadlines
	data, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, contracts.Refuse(contracts.CodeMalformedJSON, "the body did not arrive within %v", bodyTime)
	}
	if err != nil {
		return nil, contracts.Refuse(contracts.CodeMalformedJSON, "the body ended before its announced length")
	}
	if int64(len(data)) > limit {
		return nil, tooLarge(limit)
	}
	return data, nil
}

func tooLarge(limit int64) error {
	return contracts.Refuse(contracts.CodeTooLarge, "the body's limit is %d bytes (%d MiB)", limit, limit>>20)
}

func checkMediaType(values []string) error {
	refusal := contracts.Refuse(contracts.CodeUnsupportedMedia, "the Content-Type must be application/json in UTF-8")
	if len(values) != 1 {
		return refusal
	}
	media, params, err := mime.ParseMediaType(values[0])
	if err != nil || media != mediaJSON {
		return refusal
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return refusal
	}
	return nil
}
