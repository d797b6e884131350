// Surfaces: one spelling each.

package capability_test

import (
	"testing"

	"countersign/contracts"
	"countersign/contracts/capability"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var badSurfaces = []string{
	"", "repo", "repo:", "repo::", "repo:a", "repo:a:", "repo::write", "repo:.:write", "repo:..:write", "repo:../a:write", "repo:a/../b:write",
	"repo:a/..:write", "repo:./a:write", "repo:a/:write", "repo:a//b:write", "repo:/a:write", "repo:/etc/passwd:write", `repo:a\b:write`,
	"repo:C:/a:write", "repo:other:a:write", "repo:a:b:write", "repo: :", "Repo:a:write", "REPO:a:write", " repo:a:write", "repo:a:write\n",
	"repo:a:Write", "repo:a:write it", "repo:a:write:", "repo:a:-", "repo:a:1", "repo:.git:write", "repo:.git/config:write", "repo:.GIT/hooks/x:create",
	"repo:a\x00b:write", "repo:a\nb:write", "repo:a\tb:write", "repo:a\u202eb:write", "repo:a\u200bb:write", "repo:\ufeffa:write", "repo:a\u2028b:write",
	"repo:a\xff:write", "repo：a：write", "workspace:a:write", "other-repo:a:write", "network:https://example.org:post", "file:///a:write", "repo@x:a:write",
}

func TestBadSurfaces(t *testing.T) {
	t.Parallel()
	for _, text := range badSurfaces {
		s, err := capability.ParseSurface(text)
		require.ErrorIs(t, err, &contracts.Error{Code: contracts.CodeInvalid}, "%q", text)
		require.Zero(t, s)
	}
}

func TestSurfacesReadAsWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]capability.Surface{
		"repo:a:write":                   {Path: "a", Effect: "write"},
		"repo:src/app.go:state":          {Path: "src/app.go", Effect: "state"},
		"repo:docs/数据 1.md:create":       {Path: "docs/数据 1.md", Effect: "create"},
		"repo:.gitignore:delete":         {Path: ".gitignore", Effect: "delete"},
		"repo:a/.git:write":              {Path: "a/.git", Effect: "write"},
		"repo:..a/b...:rename_from-2":    {Path: "..a/b...", Effect: "rename_from-2"},
		"repo:-rf:write":                 {Path: "-rf", Effect: "write"},
		"repo:repo:write":                {Path: "repo", Effect: "write"},
		"repo:docs/**:write":             {Path: "docs/**", Effect: "write"},
		"repo:docs/%2e%2e/x:write":       {Path: "docs/%2e%2e/x", Effect: "write"},
		"repo:cmd/server/main.go:append": {Path: "cmd/server/main.go", Effect: "append"},
	} {
		got, err := capability.ParseSurface(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
		require.Equal(t, text, got.String())
	}
}

func TestSurfaceHasOneSpelling(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`(repo:)?[ab./:\\ ]{0,8}(:write)?`).Draw(t, "text")
		if s, err := capability.ParseSurface(text); err == nil {
			require.Equal(t, text, s.String())
		}
	})
}
