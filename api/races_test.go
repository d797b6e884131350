// Calls that meet: whatever was acknowledged is in the history, the rest was refused.

package api_test

import (
	"net/http"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"countersign/api/apitest"
	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// rounds is how often a race is run; COUNTERSIGN_TEST_ROUNDS sets another number.
func rounds(t *testing.T, standard int) int {
	t.Helper()
	if v := os.Getenv("COUNTERSIGN_TEST_ROUNDS"); v != "" {
		n, err := strconv.Atoi(v)
		require.NoError(t, err)
		return n
	}
	return standard
}

// together runs all fs at once and waits for them.
func together(fs ...func()) {
	var wg sync.WaitGroup
	for _, f := range fs {
		wg.Go(f)
	}
	wg.Wait()
}

func TestCancelAndClaimAtOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{APIs: 2, Workers: 2})
	for range rounds(t, 15) {
		task := s.AddTask(t)
		d := s.DispatchSpec(s.Spec(task))
		var claim, cancel apitest.Answer
		together(
			func() {
				claim = apitest.Call(t, "POST", s.URLs[0], "/bridge/v1/executions/"+d.ActiveAttempt.ExecutionID+"/claim", s.NodeToken, workflow.ClaimRequest{ClaimID: "c"})
			},
			func() {
				cancel = apitest.Call(t, "POST", s.URLs[1], "/v1/tasks/"+task.ID+"/workflow/control", s.OwnerToken,
					workflow.ControlRequest{ExpectedVersion: task.Version, Action: workflow.ControlCancel, WriteContext: s.WriteContext()})
			},
		)
		require.Equal(t, http.StatusOK, cancel.Status, "%s", cancel.Body)
		if claim.Status != http.StatusOK {
			apitest.Refused(t, http.StatusConflict, contracts.CodeExecutionTerminal, claim)
		}
		after := s.Detail(task.ID)
		require.Equal(t, workflow.PhaseCancelled, after.Phase)
		if claim.Status == http.StatusOK { // a refused one may have been recorded before the cancel ended it
			require.NotNil(t, after.Attempts[0].ClaimedAt)
		}
		require.Empty(t, apitest.Into[workflow.OfferList](t, http.StatusOK, s.Bridge("GET", "/bridge/v1/executions", nil)).Executions)
	}
	s.DispatchTask()
	require.Len(t, apitest.Into[workflow.OfferList](t, http.StatusOK, s.Bridge("GET", "/bridge/v1/executions?wait=5", nil)).Executions, 1)
	sound(t, s)
}

func TestVerdictCancelAndRenewAtOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{APIs: 2, Workers: 2})
	for range rounds(t, 10) {
		task := s.AddTask(t)
		s.DispatchSpec(s.Spec(task))
		s.Work(candidate)
		h := s.Claim().Run()
		e := h.Completed(candidate)
		e.Verdict = h.Verdict()
		send := again(h, e)
		var verdict, cancel, renewed apitest.Answer
		together(
			func() { verdict = send() },
			func() {
				cancel = apitest.Call(t, "POST", s.URLs[1], "/v1/tasks/"+task.ID+"/workflow/control", s.OwnerToken,
					workflow.ControlRequest{ExpectedVersion: task.Version, Action: workflow.ControlCancel, WriteContext: s.WriteContext()})
			},
			func() { renewed = renew(h) },
		)
		after := s.Detail(task.ID)
		switch after.Phase {
		case workflow.PhaseAccepted:
			require.Equal(t, http.StatusOK, verdict.Status, "%s", verdict.Body)
			require.Equal(t, http.StatusConflict, cancel.Status, "%s", cancel.Body)
			require.Contains(t, []contracts.Code{contracts.CodeWorkflowTerminal, contracts.CodeVersionConflict}, cancel.Code())
		case workflow.PhaseCancelled:
			apitest.Refused(t, http.StatusConflict, contracts.CodeExecutionTerminal, verdict)
			require.Equal(t, http.StatusOK, cancel.Status, "%s", cancel.Body)
		default:
			t.Fatalf("phase %s", after.Phase)
		}
		require.Contains(t, []int{http.StatusOK, http.StatusConflict}, renewed.Status, "%s", renewed.Body)
	}
	sound(t, s)
}

func TestTwentyCancelsAtOnceAreOne(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{APIs: 2, Workers: 2})
	task := s.AddTask(t)
	s.DispatchSpec(s.Spec(task))
	s.Claim()
	calls := []func(){}
	for i := range 20 {
		calls = append(calls, func() {
			a := apitest.Call(t, "POST", s.URLs[i%2], "/v1/tasks/"+task.ID+"/workflow/control", s.OwnerToken,
				workflow.ControlRequest{ExpectedVersion: task.Version, Action: workflow.ControlCancel, WriteContext: s.WriteContext()})
			if a.Status != http.StatusOK {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
	}
	together(calls...)
	cancelled := 0
	for _, h := range s.Detail(task.ID).History {
		if h.Kind == workflow.EntryCancelled {
			cancelled++
		}
	}
	require.Equal(t, 1, cancelled)
	sound(t, s)
}

func TestTwinDispatchesOverTwoServers(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{APIs: 2, Workers: 2})
	request := workflow.DispatchRequest{Spec: s.Spec(s.AddTask(t)), WriteContext: s.WriteContext()}
	var (
		mu  sync.Mutex
		ids = map[string]int{}
		new int
	)
	calls := []func(){}
	for i := range 12 {
		calls = append(calls, func() {
			a := apitest.Call(t, "POST", s.URLs[i%2], "/v1/workflows", s.OwnerToken, request)
			mu.Lock()
			defer mu.Unlock()
			if a.Status == http.StatusCreated {
				new++
			} else if a.Status != http.StatusOK {
				t.Errorf("%d %s", a.Status, a.Body)
				return
			}
			ids[apitest.Into[workflow.Detail](t, a.Status, a).WorkflowID]++
		})
	}
	together(calls...)
	require.Len(t, ids, 1)
	require.Equal(t, 1, new)
	changed := request
	changed.Spec.Prompt = "Do something else."
	apitest.Refused(t, http.StatusConflict, contracts.CodeIdempotencyConflict, s.Operator("POST", "/v1/workflows", changed))
	sound(t, s)
}

// TestPollsAreCutAroundADispatch: an offer comes again until it is claimed.
func TestPollsAreCutAroundADispatch(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{APIs: 2})
	for range rounds(t, 15) {
		task := s.AddTask(t)
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					default:
					}
					cutPoll(t, s.URLs[i%2], s.NodeToken, time.Duration(n%20)*time.Millisecond)
				}
			})
		}
		d := s.DispatchSpec(s.Spec(task))
		offers := apitest.Into[workflow.OfferList](t, http.StatusOK, s.Bridge("GET", "/bridge/v1/executions?wait=10", nil))
		close(stop)
		wg.Wait()
		require.Len(t, offers.Executions, 1)
		require.Equal(t, d.ActiveAttempt.ExecutionID, offers.Executions[0].ExecutionID)
		require.Equal(t, http.StatusOK, s.Control(task.ID, workflow.ControlCancel).Status)
	}
}

// cutPoll opens a long poll and drops it after a while.
func cutPoll(t *testing.T, url, token string, after time.Duration) {
	r, err := http.NewRequestWithContext(t.Context(), "GET", url+"/bridge/v1/executions?wait=30", nil)
	if err != nil {
		t.Error(err)
		return
	}
	r.Header.Set("Authorization", "Bearer "+token)
	client := &http.Client{Timeout: after + time.Millisecond, Transport: &http.Transport{DisableKeepAlives: true}}
	if resp, err := client.Do(r); err == nil {
		resp.Body.Close()
	}
}

// TestALongPollWakesForAnOfferOfAnotherServer: at once, and also without notifications.
func TestALongPollWakesForAnOfferOfAnotherServer(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{APIs: 2})
	heard := make(chan time.Time, 1)
	go func() {
		a := apitest.Call(t, "GET", s.URLs[1], "/bridge/v1/executions?wait=20", s.NodeToken, nil)
		if a.Status == http.StatusOK {
			heard <- time.Now()
		}
	}()
	eventually(t, "the poll has asked once", func() bool {
		var n int
		require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%e.state = ''offered''%'`).Scan(&n))
		return n > 0
	})
	s.DispatchTask()
	require.NotZero(t, <-heard)
}

func TestDatabaseSessionsAreCut(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	d := s.DispatchTask()
	h := s.Claim()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 0; n < 20; n++ {
			_, err := s.Pool.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
			if err != nil {
				continue // the cutter may be cut by nobody; a dropped connection is made again
			}
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
	ok := 0
	for range 60 {
		a := h.TryPost("renew", h.Fence())
		require.Contains(t, []int{http.StatusOK, http.StatusServiceUnavailable}, a.Status, "%s", a.Body)
		if a.Status == http.StatusOK {
			ok++
		} else {
			require.NotEmpty(t, a.Header.Get("Retry-After"))
		}
	}
	require.NotZero(t, ok)
	persist := func(send func() apitest.Answer) {
		eventually(t, "the same call goes through", func() bool {
			a := send()
			require.Contains(t, []int{http.StatusOK, http.StatusServiceUnavailable}, a.Status, "%s", a.Body)
			return a.Status == http.StatusOK
		})
	}
	persist(again(h, workflow.Event{State: workflow.EventPreparing}))
	persist(again(h, workflow.Event{State: workflow.EventRunning, ProviderSessionID: &h.Session}))
	close(stop)
	wg.Wait()
	persist(again(h, h.Completed(candidate)))
	s.Verify()
	require.Equal(t, workflow.PhaseAccepted, s.Detail(d.TaskID).Phase)
	sound(t, s)
}

// TestClaimAndCancelInOneTask sends both before any worker runs, so that one workflow task has both.
func TestClaimAndCancelInOneTask(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	task := s.AddTask(t)
	d := s.DispatchSpec(s.Spec(task))
	for _, w := range s.Workers {
		w.Stop()
	}
	var claim, cancel apitest.Answer
	started := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		claim = s.Bridge("POST", "/bridge/v1/executions/"+d.ActiveAttempt.ExecutionID+"/claim", workflow.ClaimRequest{ClaimID: uuid.NewString()})
	})
	wg.Go(func() { cancel = s.Control(task.ID, workflow.ControlCancel) })
	go func() { // both calls wait in Temporal for a worker
		time.AfterFunc(300*time.Millisecond, func() { close(started) })
	}()
	<-started
	for _, w := range s.Workers {
		w.Start()
	}
	wg.Wait()
	require.Equal(t, http.StatusOK, cancel.Status, "%s", cancel.Body)
	if claim.Status != http.StatusOK {
		apitest.Refused(t, http.StatusConflict, contracts.CodeExecutionTerminal, claim)
	}
	closes(t, s, d.WorkflowID)
	sound(t, s)
}

// TestDroppedPollsLeaveNothing opens and drops many polls; goroutines come back to where they were.
func TestDroppedPollsLeaveNothing(t *testing.T) {
	s := apitest.New(t, apitest.Options{}) // not parallel: it counts the process's goroutines
	// The worker starts beside the API; its goroutines are no poll's.
	eventually(t, "a worker polls", func() bool { return apitest.Call(t, "GET", s.URL, "/readyz", "", nil).Status == http.StatusOK })
	cutPoll(t, s.URL, s.NodeToken, 10*time.Millisecond)
	before := runtime.NumGoroutine()
	for range 4 {
		var wg sync.WaitGroup
		for range rounds(t, 50) {
			wg.Go(func() { cutPoll(t, s.URL, s.NodeToken, 50*time.Millisecond) })
		}
		wg.Wait()
	}
	eventually(t, "goroutines are gone", func() bool { return runtime.NumGoroutine() <= before+5 })
	eventually(t, "connections are given back", func() bool {
		var busy int
		require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()`).Scan(&busy))
		return busy == 0
	})
}
