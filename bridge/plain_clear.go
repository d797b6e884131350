// What becomes of plain directories: removed with their attempt, and swept when a bridge has died.

package bridge

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// removePlain removes the workspace with all that is in it.
func (j *journal) removePlain(r root) error {
	if j.Plain == "" {
		return nil
	}
	if filepath.Dir(j.Plain) != r.plains() {
		return fmt.Errorf("workspace %s is not below this root", j.Plain)
	}
	makeWritable(j.Plain)
	return os.RemoveAll(j.Plain)
}

// errNotOurs says that something of the bridge's own was replaced.
var errNotOurs = errors.New("something else was put in its place")

// sweepPlains removes workspaces that no attempt of this root will ask for again.
func (n *Node) sweepPlains() error {
	all, err := journals(n.root)
	if err != nil {
		return err
	}
	// An agent of the same user could have put a link in its place; nothing is swept elsewhere.
	if info, err := os.Lstat(n.root.plains()); err != nil || !info.IsDir() {
		return fmt.Errorf("the directory of workspaces, %s, is none: %w", n.root.plains(), errors.Join(err, errNotOurs))
	}
	entries, err := os.ReadDir(n.root.plains())
	if err != nil {
		return fmt.Errorf("read workspaces: %w", err)
	}
	for _, e := range entries {
		dir := n.root.plain(e.Name())
		if slices.ContainsFunc(all, func(j *journal) bool { return j.Plain == dir && j.Step != stepDone }) {
			continue
		}
		n.log.Warn("removing an orphaned workspace", "dir", dir)
		makeWritable(dir)
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}
