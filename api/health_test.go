package api_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"countersign/api"
	"countersign/api/apitest"
	"countersign/contracts"
	"countersign/store"
	"countersign/store/storetest"

	"github.com/stretchr/testify/require"
)

type readiness struct {
	Ready  bool `json:"ready"`
	Checks []struct {
		Name   string `json:"name"`
		OK     bool   `json:"ok"`
		Detail string `json:"detail"`
	} `json:"checks"`
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	_, base := d.serve(t, api.Options{Store: d.Store, Ready: []api.Check{
		{Name: "fine", Do: func(context.Context) error { return nil }},
		{Name: "refused", Do: func(context.Context) error { return contracts.Refuse(contracts.CodeUnavailable, "no key yet") }},
		{Name: "broken", Do: func(context.Context) error { return errors.New("the secret cause") }},
	}})
	a := apitest.Once(t, "GET", base, "/readyz", "", nil)
	r := apitest.Into[readiness](t, 503, a)
	require.False(t, r.Ready)
	require.NotContains(t, string(a.Body), "secret")
	require.NotContains(t, string(a.Body), nobody)
	got := map[string]bool{}
	for _, c := range r.Checks {
		got[c.Name] = c.OK
		require.Equal(t, c.OK, c.Detail == "")
	}
	require.Equal(t, map[string]bool{
		"postgresql": true, "migrations": true, "temporal": false, "worker": false, "signer": true, "fine": true, "refused": false, "broken": false,
	}, got)
	require.Equal(t, "application/json", a.Header.Get("Content-Type"))
	apitest.Into[map[string]string](t, 200, apitest.Call(t, "GET", base, "/healthz", "", nil))
}

// Without PostgreSQL the process lives, says that it is not ready, and everything else is 503.
func TestWithoutPostgreSQL(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	s, err := store.Open(t.Context(), store.Options{URL: "postgres://nobody@" + nobody + "/none?connect_timeout=2"})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	_, base := d.serve(t, api.Options{Store: s})
	for _, path := range []string{"/v1/instance", "/v1/projects", "/bridge/v1/executions"} {
		a := apitest.Once(t, "GET", base, path, d.OwnerToken, nil)
		p := refused(t, 503, "unavailable", a)
		require.Equal(t, "1", a.Header.Get("Retry-After"))
		require.NotContains(t, p.Detail, nobody)
	}
	require.Equal(t, 200, apitest.Call(t, "GET", base, "/healthz", "", nil).Status)
	r := apitest.Into[readiness](t, 503, apitest.Once(t, "GET", base, "/readyz", "", nil))
	require.Equal(t, "postgresql", r.Checks[0].Name)
	require.False(t, r.Checks[0].OK)
}

func TestInstance(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	i := apitest.Into[map[string]string](t, 200, d.call("GET", "/v1/instance", "", nil))
	require.Equal(t, map[string]string{"resource": storetest.Resource, "instance_id": d.Instance.InstanceID, "version": "v-test"}, i)

	_, err := d.Pool.Exec(t.Context(), `DROP TABLE instance CASCADE`)
	require.NoError(t, err)
	a := apitest.Once(t, "GET", d.url, "/v1/instance", "", nil)
	refused(t, 503, "unavailable", a)
	require.Equal(t, "1", a.Header.Get("Retry-After"))
}

// The end of a server: long polls end at once with an empty list, and nothing is left behind.
func TestServeDrains(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	base := "http://" + l.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	a := newAPI(t, api.Options{Store: d.Store})
	served := make(chan error, 1)
	go func() { served <- a.Serve(ctx, l) }()

	polled := make(chan apitest.Answer, 1)
	go func() {
		answer, err := apitest.Try(t, "GET", base, "/bridge/v1/executions?wait=30", d.NodeToken, nil)
		if err != nil {
			t.Error(err)
		}
		polled <- answer
	}()
	require.Eventually(t, func() bool { return api.Polls(a) > 0 }, 10*time.Second, 5*time.Millisecond)
	stop()
	select {
	case answer := <-polled:
		require.Equal(t, `{"executions":[]}`, string(answer.Body))
	case <-time.After(10 * time.Second):
		t.Fatal("the poll did not end")
	}
	select {
	case err := <-served:
		require.NoError(t, err)
	case <-time.After(10 * time.Second):
		t.Fatal("the server did not end")
	}
	_, err = apitest.Try(t, "GET", base, "/healthz", "", nil)
	require.Error(t, err, "nobody answers any more")
	require.ErrorContains(t, a.Serve(t.Context(), closed(t)), "serve")
}

// closed is a listener that takes nobody.
func closed(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l
}
