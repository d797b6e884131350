// Whatever comes in from outside is read without a panic.

package bridge

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func FuzzSyntheticStream(f *testing.F) {
	f.Add([]byte(`{"type":"session","session_id":"s"}` + "\n" + `{"type":"result","ok":true,"answer":{"results":[{"criterion_id":"a"}]}}`))
	f.Add([]byte("{\"type\":\"result\"}\n\x00\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := synthetic{}.Stream(Job{})
		total := 0
		readLines(bytes.NewReader(data), 64, func(line []byte, cut bool) {
			require.LessOrEqual(t, len(line), 64)
			total += len(line)
			s.Line(line, cut)
		})
		require.LessOrEqual(t, total, len(data))
		s.Report()
	})
}

func FuzzParseScenario(f *testing.F) {
	f.Add(`{"synthetic":{"work":[[{"edit":{"path":"a","content":"b"}}]]}}`)
	f.Add(`{"synthetic":null}`)
	f.Fuzz(func(t *testing.T, prompt string) {
		s, err := parseScenario(prompt)
		if err == nil && s != nil {
			for _, steps := range append(s.Work, s.Verify...) {
				for _, step := range steps {
					require.Equal(t, 1, step.keys())
				}
			}
		}
	})
}

func FuzzStatusError(f *testing.F) {
	f.Add(409, []byte(`{"code":"fenced","detail":"no"}`), "3")
	f.Add(502, []byte("<html>"), "-1")
	f.Fuzz(func(t *testing.T, status int, body []byte, after string) {
		e := statusError(&http.Response{StatusCode: status, Header: http.Header{"Retry-After": {after}}}, body)
		require.NotEmpty(t, e.Refusal.Code)
		require.GreaterOrEqual(t, e.RetryAfter, time.Duration(0))
	})
}
