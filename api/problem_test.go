package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"strconv"
	"testing"

	"countersign/contracts"

	"github.com/stretchr/testify/require"
)

// Every code that anything can refuse with has one status and title.
func TestEveryCodeIsAProblem(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "../contracts/code.go", nil, 0)
	require.NoError(t, err)
	var codes []contracts.Code
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			for _, v := range spec.Values {
				text, err := strconv.Unquote(v.(*ast.BasicLit).Value)
				require.NoError(t, err)
				codes = append(codes, contracts.Code(text))
			}
		}
		return true
	})
	require.Greater(t, len(codes), 30)
	for _, code := range codes {
		p := problemOf(&contracts.Error{Code: code, Path: "$.x", Detail: "d"})
		require.Equal(t, code, p.Code)
		require.Equal(t, problemTypes+string(code), p.Type)
		require.NotEmpty(t, p.Title)
		require.GreaterOrEqual(t, p.Status, http.StatusBadRequest)
		require.Equal(t, "$.x", p.Path)
		require.Equal(t, "d", p.Detail)
	}
	require.Len(t, problems, len(codes), "and no code is left over")
	require.Equal(t, contracts.CodeInternal, problemOf(&contracts.Error{Code: "unheard_of", Detail: "d"}).Code)
}
