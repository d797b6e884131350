// A server without Temporal, for everything that is decided before a revision is asked.

package api_test

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"countersign/activities"
	"countersign/api"
	"countersign/api/apitest"
	"countersign/store/storetest"
	"countersign/workflows"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
)

// door is the API alone on a scene.
type door struct {
	*storetest.Scene
	t   testing.TB
	api *api.API
	url string
}

func newDoor(t testing.TB) *door {
	t.Helper()
	d := &door{Scene: storetest.NewScene(t), t: t}
	d.api, d.url = d.serve(t, api.Options{Store: d.Store, Version: "v-test"})
	return d
}

// serve starts one more API on the scene, whose Temporal is away.
func (d *door) serve(t testing.TB, o api.Options) (*api.API, string) {
	t.Helper()
	a := newAPI(t, o)
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return a, server.URL
}

func newAPI(t testing.TB, o api.Options) *api.API {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	temporal, err := client.NewLazyClient(client.Options{HostPort: nobody, Logger: o.Log})
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	o.Gateway = &workflows.Gateway{
		Temporal: activities.Temporal{Client: temporal, Namespace: "default"}, Store: o.Store, TaskQueue: "none", Log: o.Log,
	}
	a, err := api.New(o)
	require.NoError(t, err)
	return a
}

// nobody listens there.
const nobody = "127.0.0.1:1"

func (d *door) call(method, path, token string, body any) apitest.Answer {
	d.t.Helper()
	return apitest.Call(d.t, method, d.url, path, token, body)
}

// problem is what a refusal says.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   string `json:"code"`
	Path   string `json:"path"`
}

// refused reads a refusal and holds it to the form that all have.
func refused(t testing.TB, status int, code string, a apitest.Answer) problem {
	t.Helper()
	p := apitest.Into[problem](t, status, a)
	require.Equal(t, code, p.Code, "%s", a.Body)
	require.Equal(t, status, p.Status)
	require.Equal(t, "https://countersign.dev/problems/"+code, p.Type)
	require.NotEmpty(t, p.Title)
	require.Equal(t, "application/problem+json", a.Header.Get("Content-Type"))
	require.Equal(t, "no-store", a.Header.Get("Cache-Control"))
	require.NotEmpty(t, a.Header.Get("X-Request-Id"))
	return p
}

// concrete puts a value in the place of each path parameter.
func concrete(path, value string) string {
	for strings.Contains(path, "{") {
		from, to := strings.Index(path, "{"), strings.Index(path, "}")
		path = path[:from] + value + path[to+1:]
	}
	return path
}
