// Mutation surfaces: the one reader and writer of "repo:<path>:<side-effect>".

package capability

import (
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"countersign/contracts"
)

// Surface is one kind of change to one path of the task's own repository. Version 1 cannot express
// another repository or a side effect outside of one.
type Surface struct {
	// Path is clean, relative to the repository's root, without a colon.
	Path string
	// Effect is a lowercase word, such as create, write, delete or state.
	Effect string
}

// String writes the surface as ParseSurface reads it.
func (s Surface) String() string { return "repo:" + s.Path + ":" + s.Effect }

var effectWord = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

// ParseSurface reads "repo:<clean relative path>:<side-effect>". The error is a *contracts.Error of
// code invalid that does not repeat the text.
func ParseSurface(text string) (Surface, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 || parts[0] != "repo" {
		return Surface{}, contracts.Invalid("$", "a mutation surface is written repo:<path>:<side-effect>")
	}
	if !cleanPath(parts[1]) {
		return Surface{}, contracts.Invalid("$", "a mutation surface needs a clean path below the repository's root")
	}
	if !effectWord.MatchString(parts[2]) {
		return Surface{}, contracts.Invalid("$", "a mutation surface needs a lowercase word for its side effect")
	}
	return Surface{Path: parts[1], Effect: parts[2]}, nil
}

// cleanPath refuses what could name a file outside of the repository's content, or look like
// another file to a reader.
func cleanPath(p string) bool {
	if p == "" || p == "." || path.IsAbs(p) || path.Clean(p) != p || strings.Contains(p, `\`) || !utf8.ValidString(p) {
		return false
	}
	if strings.ContainsFunc(p, func(r rune) bool { return unseen(r) || isBreak(r) }) {
		return false
	}
	first, _, _ := strings.Cut(p, "/")
	return first != ".." && !strings.EqualFold(first, ".git")
}
