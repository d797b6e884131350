// One git process that hands out objects by id.

package documents

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // Git's own name for an object
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"countersign/contracts/workflow"
)

// errNoObject says that the mirror does not have an object at all.
var errNoObject = errors.New("no such object")

// objects is a running `git cat-file`.
type objects struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	said    bytes.Buffer // standard error
}

// open starts git on a mirror so that neither the machine's nor a user's configuration has a say, and
// nothing is fetched or replaced.
func (m *Mirrors) open(ctx context.Context, dir string) (*objects, error) {
	if inner := filepath.Join(dir, ".git"); isDirectory(inner) {
		dir = inner
	}
	o := &objects{command: exec.CommandContext(ctx, m.git, "-c", "protocol.allow=never", "-c", "core.fsmonitor=false", "cat-file", "--batch-command")}
	o.command.Dir = "/"
	o.command.Env = []string{
		"GIT_DIR=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0",
		"GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C", "PATH=" + os.Getenv("PATH"),
	}
	o.command.WaitDelay = time.Second
	o.command.Stderr = &o.said
	var err error
	if o.in, err = o.command.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start git: %w", err)
	}
	stdout, err := o.command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start git: %w", err)
	}
	o.out = bufio.NewReader(stdout)
	if err := o.command.Start(); err != nil {
		return nil, fmt.Errorf("start git: %w", err)
	}
	return o, nil
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// close ends git, which has nothing left to do.
func (o *objects) close() {
	o.in.Close()
	_ = o.command.Process.Kill() // it may have ended
	_ = o.command.Wait()         // killed, as intended
}

// get returns an object of the kind, of at most limit bytes, whose content has the id. Another kind is
// errNoObject.
func (o *objects) get(id, kind string, limit int64) ([]byte, error) {
	is, size, err := o.ask("info", id)
	if err != nil {
		return nil, err
	}
	if is != kind {
		return nil, errNoObject
	}
	if size > limit {
		return nil, &Fault{Reason: workflow.SourceOversized, Detail: fmt.Sprintf("the %s has %d bytes, the limit is %d", kind, size, limit)}
	}
	if _, _, err := o.ask("contents", id); err != nil {
		return nil, err
	}
	content := make([]byte, size+1) // and the line end after it
	if _, err := io.ReadFull(o.out, content); err != nil {
		return nil, truncated(kind, id)
	}
	content = content[:size]
	hash := sha1.New() //nolint:gosec // as above
	fmt.Fprintf(hash, "%s %d\x00", kind, size)
	hash.Write(content)
	if hex.EncodeToString(hash.Sum(nil)) != id {
		return nil, truncated(kind, id)
	}
	return content, nil
}

// ask sends one command and reads the line "ID KIND SIZE" that answers it. A git that ends instead has
// met something it cannot read.
func (o *objects) ask(command, id string) (kind string, size int64, err error) {
	if _, err := fmt.Fprintf(o.in, "%s %s\n", command, id); err != nil {
		return "", 0, o.ended(id)
	}
	line, err := o.out.ReadString('\n')
	if err != nil {
		return "", 0, o.ended(id)
	}
	fields := strings.Fields(line)
	if len(fields) == 2 && fields[1] == "missing" {
		return "", 0, errNoObject
	}
	if len(fields) != 3 {
		return "", 0, truncated("object", id)
	}
	if size, err = strconv.ParseInt(fields[2], 10, 64); err != nil || size < 0 {
		return "", 0, truncated("object", id)
	}
	return fields[1], size, nil
}

// ended tells a mirror that is none from one that is damaged.
func (o *objects) ended(id string) error {
	_ = o.command.Wait() // so that all it said is there
	if said := o.said.String(); strings.Contains(said, "not a git repository") {
		return fmt.Errorf("the mirror cannot be read: %s", strings.TrimSpace(said))
	}
	return truncated("object", id)
}
