// Which paths a task may write its artifact to.

package artifact

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
)

// CleanOutputPath checks an output path as it was declared and returns it with the white space at both
// ends cut and backslashes as slashes, otherwise as written. It must be relative to the workdir, name a
// file and stay inside, and not under .sdd or .git, where it could pass for a record or a hook. The
// error says what is wrong.
func CleanOutputPath(declared string) (string, error) {
	p := strings.ReplaceAll(strings.TrimSpace(declared), `\`, "/")
	switch {
	case p == "":
		return "", errors.New("must not be blank")
	case strings.HasPrefix(p, "/"):
		return "", errors.New("must be relative to the workdir and is absolute")
	case driveLetter.MatchString(p):
		return "", errors.New("must be relative to the workdir and names a drive")
	case strings.HasPrefix(p, "~"):
		return "", errors.New("must be relative to the workdir; a leading ~ is not")
	case strings.ContainsFunc(p, unicode.IsControl):
		return "", errors.New("must not hold control characters")
	}
	segments := strings.Split(p, "/")
	for _, segment := range segments {
		if segment == ".." {
			return "", errors.New("must stay in the workdir; it has a .. segment")
		}
	}
	if last := segments[len(segments)-1]; last == "" || last == "." {
		return "", errors.New("must name a file and names a directory")
	}
	if err := outsideRecords(p); err != nil {
		return "", err
	}
	return p, nil
}

var driveLetter = regexp.MustCompile(`^[A-Za-z]:`)

// CheckResolvedPath applies the rules again where symlinks lead: both paths are absolute and have no
// symlinks left. It returns resolved relative to workdir, with slashes; the error says what is wrong.
func CheckResolvedPath(workdir, resolved string) (string, error) {
	if !filepath.IsAbs(workdir) || !filepath.IsAbs(resolved) {
		return "", errors.New("both paths must be absolute")
	}
	relative, err := filepath.Rel(workdir, resolved)
	if err != nil {
		return "", fmt.Errorf("leads out of the workdir: %w", err)
	}
	switch relative = filepath.ToSlash(relative); {
	case relative == ".." || strings.HasPrefix(relative, "../"):
		return "", errors.New("leads out of the workdir")
	case relative == ".":
		return "", errors.New("leads to the workdir itself")
	}
	if err := outsideRecords(relative); err != nil {
		return "", err
	}
	return relative, nil
}

// outsideRecords refuses the directories that hold records. Names are compared without case, for some
// file systems do.
func outsideRecords(p string) error {
	first, _, _ := strings.Cut(path.Clean(p), "/")
	for _, reserved := range []string{".sdd", ".git"} {
		if strings.EqualFold(first, reserved) {
			return fmt.Errorf("must not be in %s", reserved)
		}
	}
	return nil
}
