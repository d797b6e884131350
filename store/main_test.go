package store_test

import (
	"fmt"
	"os"
	"testing"

	"countersign/contracts"
	"countersign/tools/localstack"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	code := localstack.Main(m)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// requireCode asserts a refusal; "" asserts none.
func requireCode(t testing.TB, code contracts.Code, err error) {
	t.Helper()
	if code == "" {
		require.NoError(t, err)
		return
	}
	require.Error(t, err)
	require.Equal(t, code, contracts.CodeOf(err), "%v", err)
}
