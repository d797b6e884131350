// Loads that break off in the middle, and their repetition.

package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"countersign/api/client"
	"countersign/cmd/countersign/internal/devfile"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

// checkBrokenLoads puts a proxy between program and server that fails at the second task.
func checkBrokenLoads(t *testing.T, dev devfile.File) {
	plan := filepath.Join(t.TempDir(), "plan.yaml")
	require.NoError(t, os.WriteFile(plan, []byte("stages: [{steps: [{title: a}, {title: b}, {title: c}]}]"), 0o600))
	backlog := t.TempDir()
	for _, title := range []string{"a", "b", "c"} {
		require.NoError(t, os.WriteFile(filepath.Join(backlog, title+".md"), []byte("---\ntitle: "+title+"\n---\n"), 0o600))
	}
	for name, c := range map[string]struct {
		fail     func(w http.ResponseWriter, made func())
		status   int
		outcomes string // of the three, when it breaks off
		again    string // and when it is repeated
	}{
		"answer lost": {func(_ http.ResponseWriter, made func()) {
			made()
			panic(http.ErrAbortHandler)
		}, exitFailed, "created unknown pending", "exists exists created"},
		"unavailable": {func(w http.ResponseWriter, _ func()) {
			w.WriteHeader(http.StatusServiceUnavailable)
		}, exitFailed, "created unknown pending", "exists created created"},
		"refused": {func(w http.ResponseWriter, _ func()) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"code":"forbidden"}`))
		}, exitRefused, "created pending pending", "exists created created"},
	} {
		for command, args := range map[string][]string{"plan": {"plan", "load", plan}, "backlog": {"backlog", "scan", backlog}} {
			t.Run(name+" "+command, func(t *testing.T) {
				t.Parallel()
				api := client.New(dev.URL, dev.OperatorToken)
				project, err := api.CreateProject(t.Context(), workflow.CreateProject{Name: t.Name(), Repository: "https://example.com/r.git"})
				require.NoError(t, err)
				proxy := failAtSecondTask(t, dev.URL, c.fail)
				run := func() (int, string, string) {
					var out, errs bytes.Buffer
					status := execute(t.Context(), append(args, "--server", proxy, "--token", dev.OperatorToken, "--project", project.ID, "--output", "json"), strings.NewReader(""), &out, &errs)
					return status, outcomesOf(t, out.Bytes()), errs.String()
				}
				status, outcomes, errs := run()
				require.Equal(t, c.status, status, errs)
				require.Equal(t, "incomplete: "+c.outcomes, outcomes)
				require.Contains(t, errs, "1 of 3")
				status, outcomes, errs = run()
				require.Equal(t, exitOK, status, errs)
				require.Regexp(t, `^(loaded|scanned): `+c.again+`$`, outcomes)
				list, err := api.Tasks(t.Context(), workflow.TaskQuery{ProjectID: project.ID})
				require.NoError(t, err)
				var titles []string
				for _, task := range list.Tasks {
					titles = append(titles, task.Title)
				}
				require.Equal(t, []string{"c", "b", "a"}, titles)
			})
		}
	}
}

// failAtSecondTask is the URL of a proxy; fail answers the second request for a task, made passes it on.
func failAtSecondTask(t *testing.T, server string, fail func(w http.ResponseWriter, made func())) string {
	target, err := url.Parse(server)
	require.NoError(t, err)
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	var asked atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && asked.Add(1) == 2 {
			fail(w, func() { pass.ServeHTTP(httptest.NewRecorder(), r) })
			return
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// outcomesOf is what a load printed, in short.
func outcomesOf(t *testing.T, printed []byte) string {
	var result struct {
		Outcome string        `json:"outcome"`
		Steps   []loadedEntry `json:"steps"`
		Files   []loadedEntry `json:"files"`
	}
	require.NoError(t, json.Unmarshal(printed, &result), string(printed))
	words := []string{result.Outcome + ":"}
	for _, l := range append(result.Steps, result.Files...) {
		words = append(words, l.Outcome)
		require.Equal(t, l.Outcome == entryCreated || l.Outcome == entryExists, l.TaskID != "")
	}
	return strings.Join(words, " ")
}
