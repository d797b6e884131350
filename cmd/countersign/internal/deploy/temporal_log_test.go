package deploy

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheSDKSaysNothingOfAnOrderlyEnd(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(temporalLog{slog.NewTextHandler(&out, nil)}).With("part", "temporal")
	log.Warn("Failed to poll for task.", "Error", errors.New("worker stopping"))
	require.Empty(t, out.String())
	log.Warn("Failed to poll for task.", "Error", errors.New("connection refused"))
	require.Contains(t, out.String(), "connection refused")
}
