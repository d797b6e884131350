// Watching is interrupted, or the server goes away in the middle.

package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

// offering is a server on which every task has a revision that waits for its node; asked gets a word
// for each question about the revision itself, which follows an answer about the task, as long as somebody
// listens.
func offering(t *testing.T) (server *httptest.Server, asked <-chan struct{}) {
	t.Helper()
	heard := make(chan struct{}, 16)
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		data, err := json.Marshal(workflow.Detail{
			WorkflowID: "w1", TaskID: "t1", Phase: workflow.PhaseOffered, Contract: jsontext.Value(`{}`),
			History: []workflow.HistoryEntry{{Sequence: 1, At: time.Now(), Kind: workflow.EntryDispatched, Data: jsontext.Value(`{}`)}},
		})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(data)
		if !strings.HasPrefix(r.URL.Path, "/v1/workflows/") {
			return
		}
		select {
		case heard <- struct{}{}:
		default:
		}
	}))
	t.Cleanup(server.Close)
	return server, heard
}

// start starts the program; wait returns its exit status and what it wrote.
func start(t *testing.T, args ...string) (process *os.Process, wait func() (status int, out, errs string)) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "countersign", args...)
	cmd.Dir = t.TempDir()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Start())
	return cmd.Process, func() (int, string, string) {
		_ = cmd.Wait() // its status says it better
		return cmd.ProcessState.ExitCode(), out.String(), errs.String()
	}
}

func TestWatchInterrupted(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		server, asked := offering(t)
		process, wait := start(t, "workflow", "get", "t1", "--watch", "--output", format, "--server", server.URL)
		<-asked
		require.NoError(t, process.Signal(os.Interrupt))
		status, out, errs := wait()
		require.Equal(t, 130, status, errs)
		require.Empty(t, errs)
		if format == "json" {
			require.Empty(t, out)
		} else {
			require.Contains(t, out, "dispatched")
		}
	}
}

func TestWatchLosesTheServer(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		server, asked := offering(t)
		_, wait := start(t, "workflow", "get", "t1", "--watch", "--patience", "1s", "--output", format, "--server", server.URL)
		<-asked // an answer has arrived: a server that was never there is another error
		server.CloseClientConnections()
		server.Close()
		status, out, errs := wait()
		require.Equal(t, 6, status, errs)
		require.Contains(t, errs, "stays away")
		if format == "json" {
			require.Empty(t, out)
		}
	}
}

// TestNoTokenForStrangers: the token of dev.json belongs to the server named there and to no other.
func TestNoTokenForStrangers(t *testing.T) {
	t.Parallel()
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, `{"projects":[]}`)
	}))
	defer server.Close()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(dir+"/.countersign", 0o700))
	require.NoError(t, os.WriteFile(dir+"/.countersign/dev.json", []byte(`{"url":"http://127.0.0.1:1","operator_token":"secret"}`), 0o600))
	for _, args := range [][]string{{"--server", server.URL}, {"--server", server.URL, "--token", "mine"}} {
		cmd := exec.CommandContext(t.Context(), "countersign", append([]string{"project", "list"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	require.Equal(t, []string{"", "Bearer mine"}, seen)
}
