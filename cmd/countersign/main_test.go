// The program as a test runs it: scripts below testdata/script call it by its name.

package main

import (
	"os"
	"testing"

	"countersign/tools/localstack"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(suite{m}, map[string]func(){"countersign": main})
}

// suite runs the tests; the program itself does not come by here.
type suite struct{ m *testing.M }

// Run also stops the servers that the tests made package localstack start.
func (s suite) Run() int {
	// The tester's own server is not the tests'.
	for _, name := range []string{"COUNTERSIGN_URL", "COUNTERSIGN_TOKEN", "COUNTERSIGN_PROJECT", "COUNTERSIGN_DATABASE_URL"} {
		os.Unsetenv(name)
	}
	return localstack.Main(s.m)
}

// commands are what scripts can do besides what testscript brings.
var commands = map[string]func(*testscript.TestScript, bool, []string){
	"status":     status,
	"await":      await,
	"crash":      crash,
	"kill-child": killChild,
	"prepare":    prepare,
	"renew-key":  renewKey,
	"phase":      phase,
	"take":       take,
	"healthy":    healthy,
}

// TestOffline runs the scripts that need no server.
func TestOffline(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{Dir: "testdata/script/offline", Cmds: commands, RequireExplicitExec: true})
}

// TestDev runs the scripts that start development servers of their own.
func TestDev(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script/dev", Cmds: commands, RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			localstack.PostgresURL(t) // installs the programs where they are missing
			e.Setenv("COUNTERSIGN_TEMPORAL", localstack.TemporalBinary(t))
			e.Setenv("HOME", e.WorkDir)
			return nil
		},
	})
}

// TestDeployment runs the scripts that start the parts one by one, each on a database and a Temporal of
// its own: two deployments on one would do each other's work.
func TestDeployment(t *testing.T) {
	t.Parallel()
	maintenance := localstack.PostgresURL(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script/deployment", Cmds: commands, RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			database, err := newDatabase(t, maintenance)
			if err != nil {
				return err
			}
			temporal, err := localstack.StartTemporal(t.Context(), localstack.TemporalOptions{
				Binary: localstack.TemporalBinary(t), Dir: t.TempDir(), UIPort: -1, SearchAttributes: localstack.SearchAttributes,
			})
			if err != nil {
				return err
			}
			e.Defer(temporal.Kill)
			e.Setenv("COUNTERSIGN_DATABASE_URL", database)
			e.Setenv("COUNTERSIGN_TEMPORAL_ADDRESS", temporal.Address())
			for _, name := range []string{"API", "WORKER"} {
				address, err := freeAddress()
				if err != nil {
					return err
				}
				e.Setenv(name, address)
			}
			return nil
		},
	})
}

// TestOnline runs the scripts that share one development server.
func TestOnline(t *testing.T) {
	t.Parallel()
	dev := startDev(t)
	t.Run("metrics", func(t *testing.T) { checkDocumentedMetrics(t, dev.URL) })
	t.Run("broken loads", func(t *testing.T) { checkBrokenLoads(t, dev) })
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script/online", Cmds: commands, RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			dir := e.WorkDir + "/.countersign"
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			return dev.Write(dir)
		},
	})
}
