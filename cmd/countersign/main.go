// The program: arguments in, exit status out.

// Countersign runs agent tasks that count only when a second, independent session has signed for
// them. One binary holds the server's parts, the node's daemon and the operator's commands.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"countersign/bridge"
)

func main() {
	// The bridge runs this program again, as the guard of an agent and as the synthetic agent.
	if status, hidden := bridge.RunHidden(os.Args[1:]); hidden {
		os.Exit(status)
	}
	os.Exit(run())
}

// again is how long after the first signal a second one is taken for the same: make, timeout and
// terminals may pass one on twice.
const again = time.Second

// run turns the first signal into the end of the context, so that whatever runs can end in order; a
// later one ends the program at once, for who asks twice does not want to wait.
func run() int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		first := <-signals
		at := time.Now()
		cancel(interrupted(first.(syscall.Signal)))
		for s := range signals {
			if time.Since(at) > again {
				os.Exit(interrupted(s.(syscall.Signal)).status())
			}
		}
	}()
	return execute(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}
