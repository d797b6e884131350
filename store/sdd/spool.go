// Bytes on their way into a tree: written once, outside of it, so that nothing is in the tree before it is
// known that they are wanted there.

package sdd

import (
	"context"
	"crypto/sha256"
	"io"
	"os"

	"countersign/contracts/artifact"
	"countersign/contracts/figures"
)

// spooled are bytes in an unnamed temporary file.
type spooled struct {
	file *os.File
	hash string // the content hash
	size int64
}

// spool keeps what fill writes; fill returns the content hash.
func spool(ctx context.Context, fill func(io.Writer) (string, error)) (*spooled, error) {
	f, err := os.CreateTemp("", "countersign-*")
	if err != nil {
		return nil, err
	}
	s := &spooled{file: f}
	err = os.Remove(f.Name())
	if err == nil {
		s.hash, err = fill(&cancellable{ctx, f})
	}
	if err == nil {
		s.size, err = f.Seek(0, io.SeekCurrent)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return s, nil
}

// bytes reads them from the start.
func (s *spooled) bytes() io.Reader { return io.NewSectionReader(s.file, 0, s.size) }

// bundle is a report with figures, nil when it is another one.
func (s *spooled) bundle() ([]byte, error) {
	if s.size > artifact.MaxDocument {
		return nil, nil
	}
	report, err := io.ReadAll(s.bytes())
	if err != nil || !figures.IsBundle(report) {
		return nil, err
	}
	return report, nil
}

// remove lets go of them.
func (s *spooled) remove() { s.file.Close() }

// load reads a task's output once, into its canonical bytes.
func load(ctx context.Context, workdir string, spec artifact.Spec) (*spooled, error) {
	in, err := openOutput(workdir, spec.OutputPath)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return spool(ctx, func(out io.Writer) (string, error) {
		canonical, err := artifact.Canonicalise(spec.Kind, in, out)
		return canonical.ContentHash, err
	})
}

// hashCopy copies bytes as they are and returns their content hash.
func hashCopy(out io.Writer, in io.Reader) (string, error) {
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(out, hash), in); err != nil {
		return "", err
	}
	return hashText(hash.Sum(nil)), nil
}

// cancellable ends writing with its context.
type cancellable struct {
	ctx context.Context
	io.Writer
}

func (c *cancellable) Write(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.Writer.Write(b)
}
