package api_test

import (
	"fmt"
	"os"
	"testing"

	"countersign/bridge"
	"countersign/tools/localstack"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The test program is a node's guard and synthetic agent as well, as countersign is.
	if status, hidden := bridge.RunHidden(os.Args[1:]); hidden {
		os.Exit(status)
	}
	code := localstack.Main(m)
	if programDir != "" {
		_ = os.RemoveAll(programDir) // in the temporary directory
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
