// Which code can sign at all.

package receipt_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTwoPathsToASignature: the secret is used in one method, that method by the envelope of an
// acceptance and by the link between two keys, and the first by Accept alone.
func TestTwoPathsToASignature(t *testing.T) {
	t.Parallel()
	found := map[string][]string{}
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, use := range regexp.MustCompile(`\.(secret\.Sign|sign|seal)\(`).FindAllStringSubmatch(string(source), -1) {
			found[use[1]] = append(found[use[1]], file)
		}
	}
	require.Equal(t, map[string][]string{
		"secret.Sign": {"key.go", "key.go"}, "sign": {"envelope.go", "keyset.go", "keyset.go"}, "seal": {"accept.go"},
	}, found)
}
