// The lists of the closed vocabularies leave no constant out.

package workflow_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"countersign/contracts/workflow"

	"github.com/stretchr/testify/require"
)

func listed[T ~string](values []T) (out []string) {
	for _, v := range values {
		out = append(out, string(v))
	}
	return out
}

func TestVocabulariesAreWhole(t *testing.T) {
	t.Parallel()
	declared := map[string][]string{} // type → values of its constants
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			kind, typed := spec.Type.(*ast.Ident)
			literal, simple := spec.Values[0].(*ast.BasicLit)
			if typed && simple && literal.Kind == token.STRING {
				value, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				declared[kind.Name] = append(declared[kind.Name], value)
			}
			return true
		})
	}
	for kind, values := range map[string][]string{
		"Phase": listed(workflow.Phase("").Values()), "AttemptPhase": listed(workflow.AttemptPhase("").Values()),
		"Purpose": listed(workflow.Purpose("").Values()), "Outcome": listed(workflow.Outcome("").Values()),
		"EntryKind": listed(workflow.EntryKind("").Values()), "TaskStatus": listed(workflow.TaskStatus("").Values()),
		"NodeStatus": listed(workflow.NodeStatus("").Values()), "Role": listed(workflow.Role("").Values()),
		"AgentStatus": listed(workflow.AgentStatus("").Values()), "DocumentKind": listed(workflow.DocumentKind("").Values()),
		"Scope": listed(workflow.Scope("").Values()), "Runtime": listed(workflow.Runtime("").Values()),
	} {
		require.ElementsMatch(t, declared[kind], values, kind)
	}
}
