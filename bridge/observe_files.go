// What lies in a plain directory: every file by its path and content.

package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// observeFiles is every entry below dir that is no directory, by its slash-separated path: a regular
// file's mode and SHA-256, a link's target, and the kind of anything else. Nothing outside dir is read, and
// nothing more once ctx has ended: an agent can leave a file that takes days to be read.
func observeFiles(ctx context.Context, dir string) (map[string]string, error) {
	root, err := openPlace(dir)
	if err != nil {
		return nil, fmt.Errorf("observe the workspace: %w", err)
	}
	defer root.Close()
	found := map[string]string{}
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || d.IsDir() {
			return err
		}
		found[path], err = observeFile(ctx, root, path)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("observe the workspace: %w", err)
	}
	return found, nil
}

func observeFile(ctx context.Context, root *os.Root, path string) (string, error) {
	info, err := root.Lstat(path)
	if err != nil {
		return "", err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(path)
		return "link " + filepath.ToSlash(target), err
	case !info.Mode().IsRegular():
		return info.Mode().Type().String(), nil
	}
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // should it be a pipe by now
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, &cancellable{ctx, f}); err != nil {
		return "", err
	}
	return fmt.Sprintf("%04o sha256:%s", info.Mode().Perm(), hex.EncodeToString(hash.Sum(nil))), nil
}

// cancellable ends reading with its context.
type cancellable struct {
	ctx context.Context
	in  io.Reader
}

func (c *cancellable) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.in.Read(p)
}

// differing are the paths whose entries differ, sorted.
func differing(before, after map[string]string) []string {
	var paths []string
	for p := range after {
		if before[p] != after[p] {
			paths = append(paths, p)
		}
	}
	for p := range before {
		if _, there := after[p]; !there {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}
