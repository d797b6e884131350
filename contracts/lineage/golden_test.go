// A tree that was written once and must verify for ever, and be written the same way.

package lineage_test

import (
	"encoding/json"
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

const golden = "../../testdata/lineage_v2.json"

// TestGolden compares the small tree with testdata/lineage_v2.json (path → content). To change the format
// is to make another one: this file stays.
func TestGolden(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(golden)
	require.NoError(t, err)
	var stored map[string]string
	require.NoError(t, json.Unmarshal(data, &stored))
	tree, made := fstest.MapFS{}, map[string]string{}
	for name, data := range stored {
		tree[name] = &fstest.MapFile{Data: []byte(data)}
	}
	for name, file := range smallTree(t) {
		made[name] = string(file.Data)
	}
	require.Equal(t, stored, made)
	for _, task := range []string{"S", "R", "L"} {
		require.Empty(t, verify(t, tree, task, tamperSigner.Secret).Failures)
	}
	require.Equal(t, "sha256:fedc14e9ae3dab340485534d787525b1021f8f880890c0a1332a2af2420663e1", verify(t, tree, "R", nil).EntryHash)
}
