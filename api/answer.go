// How answers are written: JSON, never cached, times in UTC.

package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"countersign/contracts"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	mediaJSON    = "application/json"
	mediaProblem = "application/problem+json"
)

// answerJSON writes every time in UTC, whatever zone the session or process has.
var answerJSON = json.JoinOptions(
	json.Deterministic(true),
	json.WithMarshalers(json.MarshalToFunc(func(enc *jsontext.Encoder, t time.Time) error {
		return enc.WriteToken(jsontext.String(t.UTC().Format(time.RFC3339Nano)))
	})),
)

// writeJSON writes v, or reports why it cannot be written, before anything is.
func writeJSON(g *gin.Context, status int, mediaType string, v any) error {
	data, err := json.Marshal(v, answerJSON)
	if err != nil {
		return err
	}
	h := g.Writer.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Content-Length", strconv.Itoa(len(data)))
	g.Writer.WriteHeader(status)
	_, err = g.Writer.Write(data)
	if err != nil {
		g.Error(err) //nolint:errcheck // the client is gone; the log gets it
	}
	return nil
}

// statusHungUp is what the log calls a call whose client did not wait for the answer.
const statusHungUp = 499

// refuse answers with the problem behind err and hands err to the log.
func refuse(g *gin.Context, err error) {
	g.Error(err) //nolint:errcheck // it returns its argument
	if g.Writer.Written() {
		return
	}
	if errors.Is(err, context.Canceled) && g.Request.Context().Err() != nil {
		g.AbortWithStatus(statusHungUp)
		return
	}
	p := problemOf(err)
	g.Set(keyCode, p.Code)
	h := g.Writer.Header()
	switch p.Code {
	case contracts.CodeUnauthenticated:
		h.Set("WWW-Authenticate", `Bearer realm="countersign"`)
	case contracts.CodeUnavailable:
		h.Set("Retry-After", "1")
	}
	discardBody(g)
	if err := writeJSON(g, p.Status, mediaProblem, p); err != nil {
		g.Writer.WriteHeader(http.StatusInternalServerError)
	}
	g.Abort()
}

const (
	// discardLimit is how much of an unwanted body is read, so that a client which is still sending
	// reads the refusal instead of finding the connection reset.
	discardLimit = 64 << 20
	discardTime  = 5 * time.Second
)

func discardBody(g *gin.Context) {
	r := g.Request
	// Reading would ask a client that waits for a go-ahead to send what nobody wants.
	if r.Body == nil || r.Header.Get("Expect") != "" {
		return
	}
	control := http.NewResponseController(g.Writer)
	if control.SetReadDeadline(time.Now().Add(discardTime)) != nil {
		return
	}
	if _, err := io.CopyN(io.Discard, r.Body, discardLimit); !errors.Is(err, io.EOF) {
		// Not all of it came. The connection ends with the answer, and the deadline stays, for the server
		// itself would go on reading without one.
		g.Writer.Header().Set("Connection", "close")
		_ = control.SetReadDeadline(time.Now())
		return
	}
	_ = control.SetReadDeadline(time.Time{}) // as above: unsupported would have shown
}
