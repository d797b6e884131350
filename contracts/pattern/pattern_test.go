// The bound on what expressions come to together.

package pattern_test

import (
	"regexp"
	"testing"

	"countersign/contracts/pattern"

	"github.com/stretchr/testify/require"
)

func TestSetIsBounded(t *testing.T) {
	t.Parallel()
	var s pattern.Set
	const of = 1002 // instructions of a{1000}, with the first and the last
	for i := range pattern.MaxInstructions / of {
		for range 2 {
			_, err := s.Compile(string(rune('一'+i)) + "{1000}")
			require.NoError(t, err)
		}
	}
	_, err := s.Compile("a{1000}")
	require.ErrorContains(t, err, "262144 instructions")
	re, err := s.Compile(`RFC \d+`) // for which there is room
	require.NoError(t, err)
	require.True(t, re.MatchString("see RFC 8785"))
}

func TestSetRefusesWhatRegexpRefuses(t *testing.T) {
	t.Parallel()
	var s pattern.Set
	for _, expression := range []string{"(", "a{1001}", `\1`, "(?=a)", "(((a{100}){100}){100})"} {
		_, want := regexp.Compile(expression)
		_, err := s.Compile(expression)
		require.Equal(t, want, err, "%s", expression)
	}
}
