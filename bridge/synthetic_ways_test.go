// The tricks of a dishonest agent, known to the test program only.

package bridge

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

func init() {
	for name, way := range dishonestWays {
		dirtyWays[name] = way
	}
}

// dishonestWays take README.md to be a tracked file.
var dishonestWays = map[string]func(*agent) error{
	"assume_unchanged": func(a *agent) error {
		_, err := a.git("update-index", "--assume-unchanged", "README.md")
		return errors.Join(err, a.scribble("README.md"))
	},
	"skip_worktree": func(a *agent) error {
		_, err := a.git("update-index", "--skip-worktree", "README.md")
		return errors.Join(err, a.scribble("README.md"))
	},
	"info_exclude": func(a *agent) error {
		file, err := a.git("rev-parse", "--path-format=absolute", "--git-path", "info/exclude")
		if err != nil {
			return err
		}
		return errors.Join(os.WriteFile(file, []byte("left-over.txt\n"), 0o600), a.scribble("left-over.txt"))
	},
	"untracked_off": func(a *agent) error {
		_, err := a.git("config", "status.showUntrackedFiles", "no")
		return errors.Join(err, a.scribble("left-over.txt"))
	},
	"own_gitignore": func(a *agent) error {
		return errors.Join(a.write(editStep{Path: "hidden/.gitignore", Content: "*\n"}), a.scribble("hidden/left-over.txt"))
	},
	"git_file": func(a *agent) error {
		if _, err := a.git("init", "--quiet", "--template=", "other"); err != nil {
			return err
		}
		return errors.Join(a.write(editStep{Path: ".git", Content: "gitdir: other/.git\n"}), a.scribble("left-over.txt"))
	},
	"linked": func(a *agent) error {
		// Another worktree of the same repository, which is not the agent's to remove.
		main, err := a.git("rev-parse", "--path-format=absolute", "--git-common-dir")
		if err != nil {
			return err
		}
		other := filepath.Join(filepath.Dir(filepath.Dir(main)), "operators-own")
		if _, err := a.git("worktree", "add", "--quiet", "--detach", other); err != nil {
			return err
		}
		return errors.Join(os.RemoveAll(a.dir), os.Symlink(other, a.dir))
	},
	"info_attributes": func(a *agent) error {
		file, err := a.git("rev-parse", "--path-format=absolute", "--git-path", "info/attributes")
		if err != nil {
			return err
		}
		return os.WriteFile(file, []byte("* ident\n"), 0o600)
	},
	"mode": func(a *agent) error {
		return a.inTree(func(r *os.Root) error { return r.Chmod("README.md", 0o755) })
	},
	"ignored": func(a *agent) error { return a.scribble("ignored.log") },
	"read_only": func(a *agent) error {
		if err := a.scribble("locked/ignored.log"); err != nil {
			return err
		}
		return a.inTree(func(r *os.Root) error { return r.Chmod("locked", fs.FileMode(0o500)) })
	},
	"orphan": func(a *agent) error {
		if _, err := a.git("checkout", "--quiet", "--orphan", "synthetic-orphan"); err != nil {
			return err
		}
		return errors.Join(a.scribble("orphan.txt"), a.commit("Start over"))
	},
	"rebase": func(a *agent) error {
		for i, text := range []string{"one\n", "two\n"} {
			if err := a.write(editStep{Path: "rebased.txt", Content: text}); err != nil {
				return err
			}
			if err := a.commit("Change " + strconv.Itoa(i+1)); err != nil {
				return err
			}
		}
		// Stops at the command that fails, with the rebase half done and the tree clean.
		if _, err := a.git("rebase", "--quiet", "--exec", "false", "HEAD~1"); err == nil {
			return errors.New("the rebase went through")
		}
		return nil
	},
	"submodule": func(a *agent) error {
		if _, err := a.git("init", "--quiet", "--template=", "sub"); err != nil {
			return err
		}
		inner := &agent{dir: filepath.Join(a.dir, "sub")}
		return errors.Join(inner.scribble("x.txt"), inner.commit("Inner"), a.commit("Add sub"))
	},
	"lose_blob": func(a *agent) error {
		blob, err := a.git("rev-parse", "HEAD:b.txt")
		if err != nil {
			return err
		}
		objects, err := a.git("rev-parse", "--path-format=absolute", "--git-path", "objects")
		return errors.Join(err, os.Remove(filepath.Join(objects, blob[:2], blob[2:])))
	},
	"on_branch": func(a *agent) error {
		_, err := a.git("checkout", "--quiet", "-b", "agent-branch")
		return err
	},
}
