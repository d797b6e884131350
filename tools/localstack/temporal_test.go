// Temporal through starts, stops and crashes, and the program's finding.

package localstack

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
)

func startTestTemporal(t *testing.T, o TemporalOptions) *Temporal {
	t.Helper()
	o.Binary, o.Log = TemporalBinary(t), quiet()
	srv, err := StartTemporal(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() {
		srv.Kill()
		<-srv.Done()
	})
	return srv
}

func dialTemporal(t *testing.T, address string) client.Client {
	t.Helper()
	c, err := client.DialContext(t.Context(), client.Options{HostPort: address, Logger: sdklog.NewStructuredLogger(quiet())})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// startWorkflow starts one that no worker will ever touch.
func startWorkflow(t *testing.T, address, id, phase string) {
	t.Helper()
	_, err := dialTemporal(t, address).ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: id, TaskQueue: "nobody",
		TypedSearchAttributes: temporal.NewSearchAttributes(temporal.NewSearchAttributeKeyKeyword("Phase").ValueSet(phase)),
	}, "Waits")
	require.NoError(t, err)
}

func requireRunning(t *testing.T, address, id string) {
	t.Helper()
	d, err := dialTemporal(t, address).DescribeWorkflow(t.Context(), id, "")
	require.NoError(t, err)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, d.Status)
}

func TestTemporalKeepsItsWorkflows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := TemporalOptions{Dir: dir, SearchAttributes: SearchAttributes}
	srv := startTestTemporal(t, o)
	address := srv.Address()
	startWorkflow(t, address, "kept", "build")

	resp, err := http.Get("http://" + srv.UIAddress() + "/")
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	page, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Contains(t, string(page), "html")

	require.NoError(t, syscall.Kill(srv.Pid(), syscall.SIGKILL))
	<-srv.Done()
	require.ErrorContains(t, srv.Err(), "signal: killed")

	srv = startTestTemporal(t, o)
	require.Equal(t, address, srv.Address())
	requireRunning(t, address, "kept")
	list, err := dialTemporal(t, address).ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: "Phase = 'build'"})
	require.NoError(t, err)
	require.Len(t, list.GetExecutions(), 1)

	require.NoError(t, srv.Stop(t.Context()))
	require.NoError(t, srv.Err())
	require.True(t, gone(srv.Pid()))
	srv = startTestTemporal(t, o)
	requireRunning(t, srv.Address(), "kept")
}

func TestTemporalAfterItsSupervisorsKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startSupervisor(t, "temporal:"+dir, nil)
	says := s.ready(t)
	startWorkflow(t, says.URL, "kept", "build")
	s.kill()
	s = startSupervisor(t, "temporal:"+dir, nil)
	again := s.ready(t)
	require.True(t, gone(says.Pid))
	requireRunning(t, again.URL, "kept")
	s.kill()
	linuxOnly(t)
	require.Eventually(t, func() bool { return gone(again.Pid) }, soon, pollEvery, "the server outlives its supervisor")
}

func TestTemporalListensLocallyOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	srv := startTestTemporal(t, TemporalOptions{Dir: dir})
	found := listeners(t, srv.Pid())
	require.NotEmpty(t, found)
	for _, l := range found {
		require.True(t, strings.HasPrefix(l, "tcp 127.0.0.1:"), l)
	}
	_, err := StartTemporal(t.Context(), TemporalOptions{Binary: TemporalBinary(t), Dir: dir, UIPort: -1, Log: quiet()})
	require.ErrorIs(t, err, ErrInUse)
}

func TestTemporalLearnsNewAttributes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	srv := startTestTemporal(t, TemporalOptions{Dir: dir, UIPort: -1})
	require.Empty(t, srv.UIAddress())
	require.NoError(t, srv.Stop(t.Context()))
	srv = startTestTemporal(t, TemporalOptions{Dir: dir, UIPort: -1, SearchAttributes: SearchAttributes})
	startWorkflow(t, srv.Address(), "uses one", "build")
}

func TestTemporalAfterAHalfMadeDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "temporal.db"), nil, 0o600))
	srv := startTestTemporal(t, TemporalOptions{Dir: dir, UIPort: -1, SearchAttributes: SearchAttributes})
	startWorkflow(t, srv.Address(), "any", "build")
}

func TestTemporalThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	program := script(t, `echo "the reason"; exit 3`)
	_, err := StartTemporal(t.Context(), TemporalOptions{Binary: program, Dir: t.TempDir(), UIPort: -1, Log: quiet()})
	require.ErrorContains(t, err, "the reason")
	require.ErrorContains(t, err, "exit status 3")
}

func TestTemporalPortsLostToOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := script(t, `echo "listen tcp $5: bind: address already in use"; echo x >> tries; exit 1`)
	_, err := StartTemporal(t.Context(), TemporalOptions{Binary: program, Dir: dir, UIPort: -1, Log: quiet()})
	require.ErrorContains(t, err, "address already in use")
	tries, err := os.ReadFile(filepath.Join(dir, "tries"))
	require.NoError(t, err)
	require.Equal(t, portTries, strings.Count(string(tries), "x"))
}

func TestSharedTemporalKnowsTheAttributes(t *testing.T) {
	t.Parallel()
	startWorkflow(t, TemporalAddress(t), t.Name(), "build")
}

// script makes an executable shell script.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	writeProgram(t, path, []byte("#!/bin/sh\n"+body+"\n"))
	return path
}

func TestUsableTemporal(t *testing.T) {
	t.Parallel()
	for says, problem := range map[string]string{
		"temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)":     "",
		"temporal version 1.10.0 (Server 1.40.0, UI 2.50.0)":    "",
		"temporal version 2.0.0 (Server 1.40.0, UI 2.50.0)":     "",
		"temporal version 1.4.9 (Server 1.28.0, UI 2.40.0)":     "older than 1.5",
		"temporal version 0.0.0-DEV (Server 1.29.1, UI 2.42.1)": "older than 1.5",
		"something else": "no version of Temporal",
	} {
		err := usableTemporal(t.Context(), script(t, "echo '"+says+"'"))
		if problem == "" {
			require.NoError(t, err, says)
		} else {
			require.ErrorContains(t, err, problem, says)
		}
	}
	require.Error(t, usableTemporal(t.Context(), script(t, "exit 1")))
	require.ErrorIs(t, usableTemporal(t.Context(), filepath.Join(t.TempDir(), "none")), os.ErrNotExist)
}

// fakeGo "builds" a program that knows the wanted version, slowly enough for
// others to come in between, and counts its runs.
const fakeGo = `
[ "$PWD" = "$(cd "$(dirname "$7")" && pwd)" ] && grep -q temporalio go.mod && grep -q temporalio go.sum || exit 1
echo x >> %s
n=0; while [ $n -lt 20000 ]; do n=$((n+1)); done
printf '#!/bin/sh\necho "temporal version 1.5.1 (fake)"\n' > "$7"
chmod 755 "$7"`

func TestBuildIsSharedAndWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runs := filepath.Join(dir, "runs")
	program := script(t, fmt.Sprintf(fakeGo, runs))
	path := filepath.Join(dir, "temporal-x", "temporal")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "temporal-x", "build-killed", "sub"), 0o700))
	var wg sync.WaitGroup
	errs := make(chan error, 4)
	for range cap(errs) {
		wg.Go(func() { errs <- cache{dir: dir}.buildTemporal(t.Context(), program, path, quiet()) })
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	require.NoError(t, usableTemporal(t.Context(), path))
	b, err := os.ReadFile(runs)
	require.NoError(t, err)
	require.Equal(t, "x\n", string(b))
	left, err := filepath.Glob(filepath.Join(dir, "temporal-x", "build-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestBuildThatFails(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "v", "temporal")
	err := cache{}.buildTemporal(t.Context(), script(t, "echo 'no such module' >&2; exit 1"), path, quiet())
	require.ErrorContains(t, err, "no such module")
	require.NoFileExists(t, path)

	err = cache{}.buildTemporal(t.Context(), "no-such-go-program", path, quiet())
	require.ErrorContains(t, err, "https://go.dev/dl")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = cache{}.buildTemporal(ctx, script(t, "exec sleep 600"), path, quiet())
	require.ErrorIs(t, err, context.Canceled)
}

// The embedded module must be the one the version constant names.
func TestEmbeddedModule(t *testing.T) {
	t.Parallel()
	require.Contains(t, string(temporalMod), "github.com/temporalio/cli v"+TemporalVersion+" ")
	require.Contains(t, string(temporalSum), "github.com/temporalio/cli v"+TemporalVersion+" h1:")
}
