// countersign dev: everything on this machine.

package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"countersign/cmd/countersign/internal/deploy"
	"countersign/cmd/countersign/internal/devfile"
	"countersign/cmd/countersign/internal/devstack"
	"countersign/cmd/countersign/internal/term"
)

type devCommand struct {
	deploy.Durations
	deploy.Mirrors
	OperatorSecret string `env:"COUNTERSIGN_OPERATOR_SECRET,BERNSTEIN_OPERATOR_SECRET" placeholder:"SECRET" help:"Seals each line of a lineage log; none for no seal. Better given by the environment."`
	Data           string `default:".countersign" placeholder:"DIR" help:"Where everything is kept: databases, logs, tokens (${default})."`
	Port           int    `default:"8080" help:"The API's port on 127.0.0.1; 0 for a free one, the same at the next start (${default})."`
	TemporalPort   int    `default:"7233" placeholder:"PORT" help:"Temporal's port; 0 as above (${default})."`
	UIPort         int    `name:"ui-port" default:"8233" placeholder:"PORT" help:"The port of Temporal's UI; 0 for a free one (${default})."`
	Demo           bool   `help:"When all is ready run the demo once, and stay up."`
	LogLevel       string `default:"warn" enum:"debug,info,warn,error" env:"COUNTERSIGN_LOG_LEVEL" placeholder:"LEVEL" help:"From which level on the log is shown here too; all of it is in DIR/countersign.log (${default})."`
}

// Help is shown by --help.
func (devCommand) Help() string {
	return `It needs nothing set up. PostgreSQL's programs are taken from PATH or where packages put them, and on Debian
installed when they are missing; a temporal program from COUNTERSIGN_TEMPORAL or PATH, else it is built once for
this user, which takes some minutes. Both run as children of this process, on 127.0.0.1 only.

When all is ready DIR/dev.json (readable by you alone) names the URLs, the demo project and node, and their tokens.
Ctrl-C stops everything; the next start on the same DIR goes on where this one was, with the same tokens. So does
one after a crash.

Examples:

  countersign dev --demo
  countersign dev --port 0 --temporal-port 0 --ui-port 0 --data /tmp/try --lease 5s
  countersign dev --output json | jq -r .operator_token`
}

// Run runs until Ctrl-C.
func (c *devCommand) Run(s *session) error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return usageError{err}
	}
	return devstack.Run(s.ctx, devstack.Options{
		Dir: c.Data, Port: c.Port, TemporalPort: c.TemporalPort, UIPort: c.UIPort, Durations: c.Durations, Mirrors: c.Mirrors, OperatorSecret: c.OperatorSecret,
		Version: programVersion(), Console: s.errs, LogLevel: level,
		Ready: func(ctx context.Context, f devfile.File) error {
			if err := s.printDev(f); err != nil || !c.Demo {
				return err
			}
			if _, err := s.demo(ctx, devRemote(f, c.Data)); err != nil && ctx.Err() == nil {
				// The server runs all the same, and can be looked into.
				report(s.errs, fmt.Errorf("the demo failed: %w", err))
			}
			return nil
		},
	})
}

func (s *session) printDev(f devfile.File) error {
	return s.print(f, func() error {
		s.out.Println()
		s.out.Println(s.out.Paint(term.Green, "ready"))
		err := s.out.Fields(
			"  API", f.URL, "  Temporal's UI", f.TemporalUIURL, "  database", f.DatabaseURL, "  instance", f.InstanceID,
			"  project", f.ProjectID, "  operator token", f.OperatorToken, "  node", f.NodeID, "  node token", f.NodeToken,
		)
		if err != nil {
			return err
		}
		me := programName()
		s.out.Printf(`
Next, in a second terminal here:
  %[1]s demo                   one task, from dispatch to receipt
  %[1]s task list              what there is
  curl -H "Authorization: Bearer %[2]s" "%[3]s/v1/tasks?project_id=%[4]s"
Ctrl-C stops everything.
`, me, f.OperatorToken, f.URL, f.ProjectID)
		return nil
	})
}

// programName is how a person calls this program: by its name when the shell would find this very
// file, as `go run` when it was run so, else by the path it was started by.
func programName() string {
	const name = "countersign"
	self, err := os.Executable()
	if err != nil {
		return name
	}
	if found, err := exec.LookPath(name); err == nil && sameFile(found, self) {
		return name
	}
	if strings.Contains(self, string(filepath.Separator)+"go-build") {
		return "go run ./cmd/countersign"
	}
	return os.Args[0]
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
