// A private Temporal development server on a directory.

//go:build unix

package localstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
)

const (
	namespace = "default"
	// temporalQuit ends the server at once: its database is made for a crash,
	// nothing else outlives it, and an orderly end takes seconds.
	temporalQuit = syscall.SIGKILL
	// temporalStopBound is for the server's own orderly end.
	temporalStopBound = 20 * time.Second
)

// TemporalOptions says where and how a server runs.
type TemporalOptions struct {
	// Binary is the temporal program, see FindTemporal.
	Binary string
	// Dir is made when missing (0700) and holds the database, the remembered
	// port and the log. One server per Dir at a time.
	Dir string
	// Port of the frontend on 127.0.0.1; 0 takes last time's when it is free,
	// else a free one.
	Port int
	// UIPort on 127.0.0.1; 0 takes a free one, -1 runs without the web UI.
	UIPort int
	// Log hears what is done; nil is slog.Default().
	Log *slog.Logger
	// SearchAttributes are there when the start returns, also on a database
	// made without them.
	SearchAttributes []SearchAttribute
	// InMemory forgets everything at the end: for tests.
	InMemory bool
}

// Temporal is a running server. Its methods may be called from any goroutine.
type Temporal struct {
	server *server
	ui     string
}

// StartTemporal starts the server and returns when its namespace "default" can
// be used. What an earlier run left running on Dir is ended first. ctx bounds
// the start only. The server ends with this process.
//
// Errors: ErrInUse when another live process runs Dir, else what failed, with
// the end of the server's log.
func StartTemporal(ctx context.Context, o TemporalOptions) (*Temporal, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	t, err := startTemporal(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("start Temporal on %s: %w", o.Dir, err)
	}
	return t, nil
}

func startTemporal(ctx context.Context, o TemporalOptions) (*Temporal, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	o.Dir = dir
	if o.Binary, err = program(o.Binary); err != nil {
		return nil, err
	}
	lock, err := lockDir(ctx, dir, temporalQuit, o.Log)
	if err != nil {
		return nil, err
	}
	t, err := startTemporalLocked(ctx, o, lock)
	if err != nil {
		lock.release()
		return nil, err
	}
	return t, nil
}

func startTemporalLocked(ctx context.Context, o TemporalOptions, lock *dirLock) (*Temporal, error) {
	marker := filepath.Join(o.Dir, "complete")
	if !o.InMemory {
		if err := dropHalfMade(o.Dir, marker); err != nil {
			return nil, err
		}
	}
	t := &Temporal{}
	var err error
	t.server, err = startServer(ctx, serverSpec{
		name: "Temporal", dir: o.Dir, port: o.Port, quit: temporalQuit, log: o.Log,
		start: func(port int, alive *os.File) (*child, error) { return t.run(o, port, alive) },
		ready: func(ctx context.Context, c *child, port int) error {
			return t.ready(ctx, c, port, o.SearchAttributes)
		},
		lostPort: "address already in use",
	}, lock)
	if err != nil {
		return nil, err
	}
	if !o.InMemory {
		if err := writeFile(marker, nil); err != nil {
			t.Kill()
			<-t.Done()
			return nil, err
		}
	}
	return t, nil
}

// dropHalfMade removes a database whose first start never got ready: the server
// sets the tables up only when there is no file, and would trip over half of
// them for ever.
func dropHalfMade(dir, marker string) error {
	if _, err := os.Stat(marker); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "temporal.db*"))
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			return err
		}
	}
	return nil
}

// run starts the program once. The server's other listeners (HTTP, metrics,
// history, matching, worker) choose free ports on the same address by
// themselves.
func (t *Temporal) run(o TemporalOptions, port int, alive *os.File) (*child, error) {
	args := []string{
		"server", "start-dev",
		"--ip", host, "--port", strconv.Itoa(port),
		"--log-level", "warn", "--color", "never",
		// One partition per task queue: with the default of four a rare task
		// and the only poller often meet a hop late.
		"--dynamic-config-value", "matching.numTaskqueueReadPartitions=1",
		"--dynamic-config-value", "matching.numTaskqueueWritePartitions=1",
	}
	if !o.InMemory {
		// As durable as the default journal, and four times as fast here.
		args = append(args, "--db-filename", filepath.Join(o.Dir, "temporal.db"), "--sqlite-pragma", "journal_mode=WAL")
	}
	for _, a := range o.SearchAttributes {
		args = append(args, "--search-attribute", a.Name+"="+a.Type)
	}
	t.ui = ""
	if o.UIPort < 0 {
		args = append(args, "--headless")
	} else {
		ui, err := choosePort(o.UIPort, "")
		if err != nil {
			return nil, fmt.Errorf("web UI: %w", err)
		}
		t.ui = net.JoinHostPort(host, strconv.Itoa(ui))
		args = append(args, "--ui-ip", host, "--ui-port", strconv.Itoa(ui))
	}
	return startChild(childSpec{
		name: "temporal",
		path: o.Binary,
		args: args,
		// It reads the home's settings and writes an identity there.
		env:         append(serverEnv("TEMPORAL_", "XDG_"), "HOME="+o.Dir),
		dir:         o.Dir,
		files:       []*os.File{alive},
		logPath:     filepath.Join(o.Dir, "temporal.log"),
		deathSignal: temporalQuit,
	})
}

// ready also waits for the banner that the server writes once its own listeners
// are bound: the port might be answered by somebody else who was faster.
func (t *Temporal) ready(ctx context.Context, c *child, port int, attributes []SearchAttribute) error {
	if !c.log.contains("Server:") {
		return errors.New("the server has not said that it started")
	}
	ctx, cancel := context.WithTimeout(ctx, tryBound)
	defer cancel()
	cl, err := client.DialContext(ctx, client.Options{
		HostPort:  net.JoinHostPort(host, strconv.Itoa(port)),
		Namespace: namespace,
		Logger:    sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		return err
	}
	defer cl.Close()
	if _, err := cl.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return fmt.Errorf("health: %w", err)
	}
	if err := ensureAttributes(ctx, cl, attributes); err != nil {
		return fmt.Errorf("search attributes: %w", err)
	}
	if _, err := cl.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: namespace}); err != nil {
		return fmt.Errorf("namespace %s: %w", namespace, err)
	}
	if t.ui == "" {
		return nil
	}
	return uiAnswers(ctx, t.ui)
}

// ensureAttributes adds what a database made by an earlier version lacks; the
// server's own flag counts only when it makes the namespace.
func ensureAttributes(ctx context.Context, cl client.Client, attributes []SearchAttribute) error {
	have, err := cl.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return err
	}
	missing := map[string]enumspb.IndexedValueType{}
	for _, a := range attributes {
		kind, err := enumspb.IndexedValueTypeFromString(a.Type)
		if err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
		if have.GetCustomAttributes()[a.Name] != kind {
			missing[a.Name] = kind
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = cl.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: namespace, SearchAttributes: missing,
	})
	return err
}

func uiAnswers(ctx context.Context, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/", nil)
	if err != nil {
		return err
	}
	// A client of its own, so that no idle connection outlives the question.
	tr := &http.Transport{DisableKeepAlives: true}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("web UI: %w", err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return fmt.Errorf("web UI: %w", err)
	}
	if resp.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("web UI: %s", resp.Status)
	}
	return nil
}

// Address is host:port of the frontend, as Temporal's clients take it.
func (t *Temporal) Address() string { return net.JoinHostPort(host, strconv.Itoa(t.server.port)) }

// UIAddress is host:port of the web UI (plain HTTP), empty when there is none.
func (t *Temporal) UIAddress() string { return t.ui }

// Pid is the server's process id.
func (t *Temporal) Pid() int { return t.server.child.pid }

// Done is closed when the server has ended, wanted or not.
func (t *Temporal) Done() <-chan struct{} { return t.server.done }

// Err is nil while the server runs and after Stop or Kill; after any other end
// it says how it ended, with the last lines of its log.
func (t *Temporal) Err() error { return t.server.child.err() }

// Stop ends the server in order and returns when it has ended; an error says
// that it had to be killed, after 20 s or at the end of ctx. A second Stop
// returns nil.
func (t *Temporal) Stop(ctx context.Context) error {
	return t.server.stop(ctx, syscall.SIGTERM, temporalStopBound)
}

// Kill ends the server at once, as kill -9 would; Done tells when.
func (t *Temporal) Kill() { t.server.child.kill() }
