// A reader that can be relied on.

package artifact

import (
	"fmt"
	"io"
)

// steadyReader never answers nothing without an error, and answers its first error again and again, so
// that whoever reads on learns of it. Errors other than io.EOF are wrapped.
type steadyReader struct {
	r   io.Reader
	err error
}

func (s *steadyReader) Read(b []byte) (int, error) {
	for range 100 {
		if s.err != nil || len(b) == 0 {
			return 0, s.err
		}
		n, err := s.r.Read(b)
		if s.err = err; err != nil && err != io.EOF {
			s.err = fmt.Errorf("read artifact: %w", err)
		}
		if n > 0 {
			return n, s.err
		}
	}
	if s.err == nil {
		s.err = fmt.Errorf("read artifact: %w", io.ErrNoProgress)
	}
	return 0, s.err
}
