// What becomes of a database's errors.

package store_test

import (
	"fmt"
	"testing"

	"countersign/contracts"
	"countersign/store"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// TestLostSessionIsUnavailable: a session that was lost on an earlier message of the same statement is
// known to the driver by nothing but this error.
func TestLostSessionIsUnavailable(t *testing.T) {
	t.Parallel()
	err := store.Translate(fmt.Errorf("exec: %w", pgconn.ErrConnClosed))
	require.Equal(t, contracts.CodeUnavailable, contracts.CodeOf(err))
}
