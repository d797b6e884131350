// Command withstack runs a command with a PostgreSQL and a Temporal to test on,
// named by COUNTERSIGN_TEST_DATABASE_URL and COUNTERSIGN_TEST_TEMPORAL:
//
//	go run ./tools/localstack/cmd/withstack -- go test ./...
//
// It passes signals on and exits as the command does (of which `go run` makes
// a 1); both servers and their directory are gone afterwards.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"countersign/tools/localstack"
)

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: withstack [--] command [argument ...]")
		os.Exit(2)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	code, err := run(log, args)
	if err != nil {
		log.Error("withstack", "error", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// run returns the command's exit code, by the shell's convention 128 + n after
// signal n.
func run(log *slog.Logger, args []string) (code int, err error) {
	wanted := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}
	ctx, stop := signal.NotifyContext(context.Background(), wanted...)
	defer stop()
	err = localstack.RunWithStack(ctx, log, func(env []string) error {
		// From here on signals are the command's to answer.
		signals := make(chan os.Signal, 8)
		signal.Notify(signals, wanted...)
		defer signal.Stop(signals)
		code, err = command(args, append(os.Environ(), env...), signals)
		return err
	})
	return code, err
}

func command(args, env []string, signals <-chan os.Signal) (int, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			// It may have ended by itself at the same signal from a terminal.
			_ = cmd.Process.Signal(s)
		case err := <-ended:
			if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
				return 1, err
			}
			if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
				return 128 + int(status.Signal()), nil
			}
			return cmd.ProcessState.ExitCode(), nil
		}
	}
}
