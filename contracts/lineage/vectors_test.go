// The conformance vectors of format v 1, every one of them.

package lineage_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"countersign/contracts/lineage"

	"github.com/stretchr/testify/require"
)

// content is a file of a vector: text, or bytes in hex.
type content []byte

func (c *content) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = content(text)
		return nil
	}
	var binary struct {
		Hex string `json:"hex"`
	}
	if err := json.Unmarshal(data, &binary); err != nil {
		return err
	}
	raw, err := hex.DecodeString(binary.Hex)
	*c = raw
	return err
}

type verifyVector struct {
	ID             string             `json:"id"`
	TaskID         string             `json:"task_id"`
	Set            map[string]content `json:"set"`
	Delete         []string           `json:"delete"`
	OperatorSecret string             `json:"operator_secret"`
	Expect         struct {
		Exit int `json:"exit"`
	} `json:"expect"`
}

func readJSON(t testing.TB, name string, v any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "vectors", name))
	require.NoError(t, err)
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(v))
}

// treeV1 is the base of the vectors, changed.
func treeV1(t testing.TB, set map[string]content, remove []string) fs.FS {
	t.Helper()
	var base struct {
		OperatorSecret string             `json:"operator_secret"`
		Files          map[string]content `json:"files"`
	}
	readJSON(t, "verify_v1_base.json", &base)
	tree := fstest.MapFS{}
	for _, files := range []map[string]content{base.Files, set} {
		for name, data := range files {
			tree[name] = &fstest.MapFile{Data: data}
		}
	}
	for _, name := range remove {
		require.Contains(t, tree, name)
		delete(tree, name)
	}
	sub, err := fs.Sub(tree, ".sdd")
	require.NoError(t, err)
	return sub
}

func TestVerifyVectors(t *testing.T) {
	t.Parallel()
	var file struct {
		Area  string         `json:"area"`
		About string         `json:"about"`
		Cases []verifyVector `json:"cases"`
	}
	readJSON(t, "verify_v1.json", &file)
	require.Len(t, file.Cases, 56)
	for _, v := range file.Cases {
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			result, err := lineage.Verify(t.Context(), treeV1(t, v.Set, v.Delete), v.TaskID, lineage.Options{Secret: []byte(v.OperatorSecret)})
			require.NoError(t, err)
			require.Equal(t, v.Expect.Exit == 0, result.OK, "%q", result.Failures)
			require.Equal(t, v.Expect.Exit == 0, len(result.Failures) == 0)
			t.Logf("%q", result.Failures)
		})
	}
}
