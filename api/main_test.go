package api_test

import (
	"fmt"
	"os"
	"testing"

	"countersign/tools/localstack"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
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
