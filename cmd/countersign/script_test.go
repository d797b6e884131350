// What scripts can do besides what testscript brings.

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/api/client"
	"countersign/cmd/countersign/internal/deploy"
	"countersign/cmd/countersign/internal/devfile"
	"countersign/cmd/countersign/internal/devstack"
	"countersign/contracts/workflow"
	"countersign/tools/localstack"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

// bound is how long a test waits for anything.
const bound = 2 * time.Minute

// startDev runs a development server in this process until the test ends.
func startDev(t *testing.T) devfile.File {
	t.Helper()
	localstack.PostgresURL(t) // installs the programs where they are missing
	temporal := localstack.TemporalBinary(t)
	require.NoError(t, os.Setenv("COUNTERSIGN_TEMPORAL", temporal))
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan devfile.File, 1)
	ended := make(chan error, 1)
	dir := t.TempDir()
	go func() {
		ended <- devstack.Run(ctx, devstack.Options{
			Dir: dir, Durations: deploy.Durations{Lease: 30 * time.Second, Deadline: 5 * time.Minute}, Version: "test", Console: t.Output(), LogLevel: slog.LevelWarn,
			Ready: func(_ context.Context, f devfile.File) error { ready <- f; return nil },
		})
	}()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	select {
	case f := <-ready:
		return f
	case err := <-ended:
		ended <- nil
		require.NoError(t, err, "the development server ended")
	case <-time.After(bound):
		require.Fail(t, "the development server is not ready")
	}
	return devfile.File{}
}

// status runs a command and demands its exact exit status: status 64 countersign nope.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command [argument ...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	have := 0
	err = ts.Exec(args[1], args[2:]...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		have, err = exit.ExitCode(), nil
	}
	ts.Check(err)
	if have != want {
		ts.Fatalf("exit status %d, want %d", have, want)
	}
}

// await waits for a file to appear: await .countersign/dev.json. With ! it waits for it to go.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: await file")
	}
	path := ts.MkAbs(args[0])
	poll(ts, func() error {
		_, err := os.Stat(path)
		switch {
		case neg && err == nil:
			return fmt.Errorf("%s is still there", path)
		case neg && errors.Is(err, os.ErrNotExist):
			return nil
		}
		return err
	})
}

// crash kills the development server of this directory and all its children at once.
func crash(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: crash")
	}
	dir := ts.MkAbs(devfile.DefaultDir)
	dev, err := devfile.Read(dir)
	ts.Check(err)
	data, err := os.ReadFile(filepath.Join(dir, "dev.lock"))
	ts.Check(err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	ts.Check(err)
	for _, pid := range append([]int{pid}, dev.PIDs...) {
		ts.Check(syscall.Kill(pid, syscall.SIGKILL))
	}
	poll(ts, func() error {
		if err := syscall.Kill(pid, 0); err == nil && !zombie(pid) {
			return fmt.Errorf("process %d still runs", pid)
		}
		return nil
	})
}

// killChild kills one of the development server's children and waits until another has its place and
// everything is ready again: kill-child 0.
func killChild(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: kill-child index")
	}
	which, err := strconv.Atoi(args[0])
	ts.Check(err)
	dir := ts.MkAbs(devfile.DefaultDir)
	before, err := devfile.Read(dir)
	ts.Check(err)
	ts.Check(syscall.Kill(before.PIDs[which], syscall.SIGKILL))
	poll(ts, func() error {
		now, err := devfile.Read(dir)
		if err == nil && now.PIDs[which] == before.PIDs[which] {
			err = errors.New("dev.json names the dead child")
		}
		return err
	})
	healthy(ts, false, []string{before.URL + "/readyz"})
}

func zombie(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := strings.Cut(string(data), ") ")
	return err == nil && strings.HasPrefix(after, "Z")
}

// prepare makes a node of its own, a repository and a task, and writes spec.json: prepare
// [scenario.json [declaration.json]]. It sets TASK, NODE, WORKSPACE and the bridge's environment.
func prepare(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 2 {
		ts.Fatalf("usage: prepare [scenario.json [declaration.json]]")
	}
	dev, _, err := devfile.Find(ts.MkAbs("."))
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	api := client.New(dev.URL, dev.OperatorToken)
	node, err := api.EnrollNode(ctx, workflow.EnrollNode{Name: ts.Name(), AnchorProjectID: dev.ProjectID, Accounts: []workflow.Account{}})
	ts.Check(err)
	wanted := workflow.CreateTask{Title: ts.Name(), Goal: "A goal."}
	if len(args) == 2 {
		wanted.ArtifactSpec = []byte(ts.ReadFile(args[1]))
	}
	task, err := api.CreateTask(ctx, dev.ProjectID, wanted)
	ts.Check(err)
	repository := ts.MkAbs("repository-" + task.ID)
	base := makeRepository(ts, repository)
	prompt := "Do it."
	if len(args) > 0 {
		prompt = ts.ReadFile(args[0])
	}
	profile := workflow.Profile{
		ProfileID: "worker", Version: workflow.StringVersion("1"), Runtime: workflow.RuntimeSynthetic,
		Instructions: "Do it.", AllowWorkspaceWrites: true,
	}
	verifier := profile
	verifier.ProfileID, verifier.AllowWorkspaceWrites = "verifier", false
	data, err := json.Marshal(workflow.Spec{Profile: profile, Verifier: verifier, Assignment: workflow.Assignment{
		TaskID: task.ID, ExpectedTaskVersion: task.Version, BridgeID: node.Node.ID, IdempotencyKey: task.ID,
		Workspace: repository, BaseCommit: base, Branch: "work/" + task.ID, Prompt: prompt,
		Criteria: []workflow.Criterion{{ID: "done", Description: "It is done.", Method: "Look."}},
	}})
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("spec.json"), data, 0o600))
	ts.Setenv("TASK", task.ID)
	ts.Setenv("NODE", node.Node.ID)
	ts.Setenv("COUNTERSIGN_NODE_TOKEN", node.Token)
	ts.Setenv("COUNTERSIGN_WORKSPACES", repository)
	ts.Setenv("COUNTERSIGN_BRIDGE_ROOT", ts.MkAbs("bridge-"+task.ID))
}

// take sets variables from the JSON that the last command printed: take TOKEN admin.token.
func take(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 || len(args)%2 != 0 {
		ts.Fatalf("usage: take VARIABLE path [VARIABLE path ...]")
	}
	var document any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &document))
	for i := 0; i < len(args); i += 2 {
		at := document
		for name := range strings.SplitSeq(args[i+1], ".") {
			object, _ := at.(map[string]any)
			at = object[name]
		}
		value, ok := at.(string)
		if !ok {
			ts.Fatalf("the output has no text at %s", args[i+1])
		}
		ts.Setenv(args[i], value)
	}
}

// healthy waits until a URL answers 200.
func healthy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: healthy URL")
	}
	poll(ts, func() error {
		resp, err := http.Get(args[0])
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", args[0], resp.Status)
		}
		return nil
	})
}

// newDatabase makes an empty database and drops it when the test ends.
func newDatabase(t *testing.T, maintenance string) (string, error) {
	name := "cs_deployment_" + strings.ToLower(rand.Text())
	if err := localstack.EnsureDatabase(t.Context(), maintenance, name); err != nil {
		return "", err
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), bound)
		defer cancel()
		conn, err := pgx.Connect(ctx, maintenance)
		require.NoError(t, err)
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
		require.NoError(t, err)
	})
	u, err := url.Parse(maintenance)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// renewKey gives spec.json another idempotency key, so that it asks for a new revision.
func renewKey(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: renew-key")
	}
	var spec workflow.Spec
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("spec.json")), &spec))
	spec.IdempotencyKey += "-again"
	data, err := json.Marshal(spec)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("spec.json"), data, 0o600))
}

func makeRepository(ts *testscript.TestScript, dir string) (commit string) {
	ts.Check(os.MkdirAll(dir, 0o755))
	ts.Check(os.WriteFile(filepath.Join(dir, "README.md"), []byte("# A repository\n"), 0o644))
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "."},
		{"-c", "user.name=Test", "-c", "user.email=test@example.com", "commit", "-q", "-m", "Begin"},
		{"rev-parse", "HEAD"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		out, err := cmd.Output()
		ts.Check(err)
		commit = strings.TrimSpace(string(out))
	}
	return commit
}

// phase waits until the task's revision has a phase: phase running.
func phase(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: phase name")
	}
	dev, _, err := devfile.Find(ts.MkAbs("."))
	ts.Check(err)
	api := client.New(dev.URL, dev.OperatorToken)
	poll(ts, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), bound)
		defer cancel()
		d, err := api.Workflow(ctx, ts.Getenv("TASK"), 0, 0)
		if err == nil && string(d.Phase) != args[0] {
			err = fmt.Errorf("the phase is %s", d.Phase)
		}
		return err
	})
}

func poll(ts *testscript.TestScript, f func() error) {
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	end := time.After(bound)
	for {
		err := f()
		if err == nil {
			return
		}
		select {
		case <-end:
			ts.Check(err)
		case <-tick.C:
		}
	}
}
