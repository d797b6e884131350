// The list of repositories that a node works for.

package bridge

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// workspaces are the allowed repositories, symbolic links resolved.
type workspaces []string

// resolveWorkspaces checks the list at start, so that a typing error shows before the first claim.
func resolveWorkspaces(paths []string, r root) (workspaces, error) {
	if len(paths) == 0 {
		return nil, fmt.Errorf("no workspace is allowed; name at least one repository")
	}
	var list workspaces
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			return nil, fmt.Errorf("workspace %q is not an absolute path", p)
		}
		real, err := filepath.EvalSymlinks(p)
		if err != nil {
			return nil, fmt.Errorf("workspace: %w", err)
		}
		if info, err := os.Stat(real); err != nil {
			return nil, fmt.Errorf("workspace: %w", err)
		} else if !info.IsDir() {
			return nil, fmt.Errorf("workspace %s: is not a directory", real)
		}
		if within(string(r), real) || within(real, string(r)) {
			return nil, fmt.Errorf("root %s and workspace %s lie within each other", r, real)
		}
		list = append(list, real)
	}
	return list, nil
}

// resolve returns the real path of a plan's workspace when it is on the list.
func (w workspaces) resolve(path string) (string, error) {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return "", failf("workspace_refused", "not an absolute, clean path")
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !slices.Contains(w, real) {
		// The same words for missing and forbidden: the server need not learn what exists here.
		return "", failf("workspace_refused", "not on this node's list")
	}
	return real, nil
}

// within reports whether path is dir or lies below it; both are clean.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}
