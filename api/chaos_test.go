// Real processes, killed at random moments.

package api_test

import (
	"bytes"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"countersign/api/apitest"
	"countersign/contracts/workflow"
	"countersign/store/storetest"
	"countersign/tools/localstack"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// programDir is removed when the tests have ended.
var programDir string

// program is the binary under test, built once.
var program = sync.OnceValues(func() (string, error) {
	var err error
	if programDir, err = os.MkdirTemp("", "countersign-test-"); err != nil {
		return "", err
	}
	path := filepath.Join(programDir, "countersign")
	out, err := exec.Command("go", "build", "-o", path, "countersign/cmd/countersign").CombinedOutput()
	if err != nil {
		os.Stderr.Write(out)
	}
	return path, err
})

// part is one process of a deployment that can be killed and started again.
type part struct {
	t    *testing.T
	args []string
	env  []string
	cmd  *exec.Cmd
	log  bytes.Buffer
}

func (p *part) start() {
	p.t.Helper()
	path, err := program()
	require.NoError(p.t, err)
	p.cmd = exec.Command(path, p.args...)
	p.cmd.Env = append(os.Environ(), p.env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	require.NoError(p.t, p.cmd.Start())
}

func (p *part) end(signal syscall.Signal) {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(signal) // it may have ended already
	_ = p.cmd.Wait()                 // killed is what it should be
	p.cmd = nil
}

// deployment is a Temporal of its own and one API and two workers as processes.
type deployment struct {
	*apitest.Stack
	api     *part
	workers []*part
}

func newDeployment(t *testing.T) *deployment {
	t.Helper()
	temporal, err := localstack.StartTemporal(t.Context(), localstack.TemporalOptions{
		Binary: localstack.TemporalBinary(t), Dir: t.TempDir(), UIPort: -1, SearchAttributes: localstack.SearchAttributes,
	})
	require.NoError(t, err)
	t.Cleanup(temporal.Kill)
	d := &deployment{Stack: apitest.New(t, apitest.Options{TemporalAddress: temporal.Address(), Outside: true})}
	address := freeAddress(t)
	d.URL = "http://" + address
	env := []string{
		"COUNTERSIGN_DATABASE_URL=" + d.Bundle.URL, "COUNTERSIGN_TEMPORAL_ADDRESS=" + temporal.Address(),
		"COUNTERSIGN_LISTEN=" + address, "COUNTERSIGN_WORKER_LISTEN=127.0.0.1:0", "COUNTERSIGN_LOG_LEVEL=warn",
		"COUNTERSIGN_SIGNING_KEY=" + storetest.KeyFile(t, storetest.First),
	}
	d.api = &part{t: t, args: []string{"api"}, env: env}
	for range 2 {
		d.workers = append(d.workers, &part{t: t, args: []string{"worker"}, env: env})
	}
	for _, p := range d.parts() {
		p.start()
		t.Cleanup(func() {
			p.end(syscall.SIGKILL)
			if t.Failed() {
				t.Logf("%v:\n%s", p.args, p.log.String())
			}
		})
	}
	d.ready(t)
	return d
}

func (d *deployment) parts() []*part { return append([]*part{d.api}, d.workers...) }

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func (d *deployment) ready(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		a, err := apitest.Try(t, "GET", d.URL, "/readyz", "", nil)
		return err == nil && a.Status == http.StatusOK
	}, time.Minute, 50*time.Millisecond)
}

// insist repeats a call until it is answered otherwise than by an absent or unavailable server.
func (d *deployment) insist(t *testing.T, path, token string, body any) apitest.Answer {
	t.Helper()
	var a apitest.Answer
	require.Eventually(t, func() bool {
		var err error
		a, err = apitest.Try(t, "POST", d.URL, path, token, body)
		return err == nil && a.Status != http.StatusServiceUnavailable
	}, time.Minute, 20*time.Millisecond)
	return a
}

// TestKillsAroundAVerdict: whatever dies when, all-pass verdict, receipt and done come together.
func TestKillsAroundAVerdict(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	for range rounds(t, 4) {
		task := d.AddTask(t)
		d.DispatchSpec(d.Spec(task))
		d.Stack.Work(candidate)
		h := d.Stack.Claim().Run()
		e := h.Completed(candidate)
		e.Verdict = h.Verdict()
		h.Sequence++
		e.Fence, e.Sequence = h.Fence(), h.Sequence
		victims := d.parts()
		rand.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
		victims = victims[:1+rand.IntN(len(victims))]
		killed := make(chan struct{})
		time.AfterFunc(rand.N(40*time.Millisecond), func() {
			defer close(killed)
			for _, p := range victims {
				p.end(syscall.SIGKILL)
			}
			for _, p := range victims {
				p.start()
			}
		})
		a := d.insist(t, "/bridge/v1/executions/"+h.ExecutionID+"/events", d.NodeToken, e)
		require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
		<-killed
		d.ready(t)
		after := d.Detail(task.ID)
		require.Equal(t, workflow.PhaseAccepted, after.Phase)
		require.Equal(t, http.StatusOK, d.Operator("GET", "/v1/tasks/"+task.ID+"/receipt", nil).Status)
		sound(t, d.Stack)
	}
}

// TestARollingRestartUnderALiveAttempt: lease, token and sequence stay, the result is accepted.
func TestARollingRestartUnderALiveAttempt(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	task := d.AddTask(t)
	d.DispatchSpec(d.Spec(task))
	h := d.Stack.Claim()
	path := "/bridge/v1/executions/" + h.ExecutionID + "/"
	preparing(h)
	for _, p := range d.parts() {
		p.end(syscall.SIGTERM)
		p.start()
		a := d.insist(t, path+"renew", d.NodeToken, h.Fence())
		require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
	}
	send := func(e workflow.Event) {
		h.Sequence++
		e.Fence, e.Sequence = h.Fence(), h.Sequence
		a := d.insist(t, path+"events", d.NodeToken, e)
		require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
	}
	send(workflow.Event{State: workflow.EventRunning, ProviderSessionID: &h.Session})
	send(h.Completed(candidate))
	d.ready(t)
	d.Verify()
	require.Equal(t, workflow.PhaseAccepted, d.Detail(task.ID).Phase)
	sound(t, d.Stack)
}

// TestRule04AcknowledgedSurvivesThePostmaster kills a durable PostgreSQL right after answers.
func TestRule04AcknowledgedSurvivesThePostmaster(t *testing.T) {
	t.Parallel()
	// The shared test server trades durability for speed, so this runs the store on one of its own.
	dir := t.TempDir()
	pg, err := localstack.StartPostgres(t.Context(), localstack.PostgresOptions{Dir: dir})
	require.NoError(t, err)
	t.Cleanup(func() { pg.Kill() })
	s := apitest.New(t, apitest.Options{Bundle: storetest.NewOn(t, pg.URL("postgres"))})
	for range rounds(t, 3) {
		task := s.AddTask(t)
		d := s.DispatchSpec(s.Spec(task))
		a := s.Bridge("POST", "/bridge/v1/executions/"+d.ActiveAttempt.ExecutionID+"/claim", workflow.ClaimRequest{ClaimID: uuid.NewString()})
		claim := apitest.Into[workflow.ClaimAnswer](t, http.StatusOK, a)
		pg.Kill()
		<-pg.Done()
		pg, err = localstack.StartPostgres(t.Context(), localstack.PostgresOptions{Dir: dir})
		require.NoError(t, err)
		eventually(t, "it answers again without a restart of ours", func() bool {
			return s.Operator("GET", "/v1/tasks/"+task.ID, nil).Status == http.StatusOK
		})
		after := s.Detail(task.ID)
		require.Equal(t, workflow.PhaseClaimed, after.Phase)
		require.Equal(t, claim.DeadlineAt, *after.ActiveAttempt.DeadlineAt)
		eventually(t, "cancelled", func() bool { return s.Control(task.ID, workflow.ControlCancel).Status == http.StatusOK })
		sound(t, s)
	}
}
