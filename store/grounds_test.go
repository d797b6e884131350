// Anchors that cannot be looked up.

package store_test

import (
	"context"
	"testing"

	"countersign/contracts/figures"
	"countersign/store/storetest"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// TestGroundsFailOnce: whatever the number of anchors, a database that does not answer is one fault, which
// a log can hold.
func TestGroundsFailOnce(t *testing.T) {
	t.Parallel()
	s := storetest.NewScene(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	resolve, failed := s.Store.Grounds(ctx, s.Project.ID)
	ask := func(kind, ref string) string {
		a := figures.Anchor{Kind: kind, Ref: ref}
		require.Equal(t, figures.Missing(a), resolve(a))
		if failed() == nil {
			return ""
		}
		return failed().Error()
	}
	require.Empty(t, ask(figures.AnchorReceipt, "r\x00"))
	first := ask(figures.AnchorReceipt, uuid.NewString())
	require.NotEmpty(t, first)
	for range 100 {
		require.Equal(t, first, ask(figures.AnchorReceipt, uuid.NewString()))
		require.Equal(t, first, ask(figures.AnchorAttachment, blobOf(uuid.NewString()).ContentHash))
	}
}
