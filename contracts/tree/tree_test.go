// The one form of both languages.

package tree_test

import (
	"strings"
	"testing"

	"countersign/contracts/tree"

	"github.com/stretchr/testify/require"
)

func TestBothLanguages(t *testing.T) {
	t.Parallel()
	want := tree.Node{Shape: tree.Mapping, Members: []tree.Member{
		{Key: "b", Value: tree.Node{Shape: tree.List, Items: []tree.Node{tree.String("x\ny"), {Shape: tree.Null}, {Shape: tree.Other}, {Shape: tree.Other}}}},
		{Key: "a", Value: tree.Node{Shape: tree.Mapping, Members: []tree.Member{}}},
	}}
	for _, document := range []string{
		`{"b": ["x\ny", null, 1, true], "a": {}}`,
		"b:\n- |-\n  x\n  y\n- ~\n- 0x1\n- yes\na: {}\n",
		"--- # comment\n{b: [\"x\\ny\", null, 2026-08-04, 12:30], 'a': {}}\n...\n",
	} {
		n, err := tree.Read([]byte(document), "")
		require.Nil(t, err, document)
		if len(n.Members) == 2 && n.Members[1].Value.Members == nil { // an empty mapping has no members
			n.Members[1].Value.Members = []tree.Member{}
		}
		require.Equal(t, want, n, document)
	}
	value, given := want.Member("a")
	require.True(t, given)
	require.Equal(t, tree.Mapping, value.Shape)
	_, given = want.Member("c")
	require.False(t, given)
}

func TestPathsOfFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ document, path, reason string }{
		{`{"a":[{"b":1,"b":2}]}`, "a[0].b", "stands twice"}, {"a:\n- b: 1\n  b: 2", "a[0].b", "stands twice (line 3)"}, {"a: &x b", "a", "anchors"}, {"a: [!!str b]", "a[0]", "tags"}, {"1: a", "1", "a key must be a string"}, {`{"a":"\ud800"}`, "a", "lone surrogate"},
		{`{"a"}`, "", "broken JSON"}, {"a: b: c", "", "broken YAML"}, {"", "", "is empty"}, {"a\n--- b", "", "more than one"}, {"a\nb\xff", "", "invalid UTF-8 (line 2)"}, {"\ufeff{}", "", "byte order mark"}, {strings.Repeat("[", 100) + strings.Repeat("]", 100), "", "nested too deeply"},
	} {
		for _, root := range []string{"", "spec"} {
			_, err := tree.Read([]byte(c.document), root)
			require.NotNil(t, err, c.document)
			want := c.path
			if root != "" {
				want = strings.TrimSuffix(root+"."+c.path, ".")
			}
			require.Equal(t, want, err.Path, c.document)
			require.Contains(t, err.Detail, c.reason)
		}
	}
}
