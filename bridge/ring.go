// The end of a stream, however long it was.

package bridge

import "sync"

// maxStderr is how much of a provider's standard error is kept.
const maxStderr = 64 << 10

// ring keeps the last bytes written to it.
type ring struct {
	mu    sync.Mutex
	buf   []byte
	next  int
	total int
}

func newRing(size int) *ring { return &ring{buf: make([]byte, size)} }

// Write never fails.
func (r *ring) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(p)
	r.total += n
	if len(p) > len(r.buf) {
		p = p[len(p)-len(r.buf):]
	}
	first := copy(r.buf[r.next:], p)
	copy(r.buf, p[first:])
	r.next = (r.next + len(p)) % len(r.buf)
	return n, nil
}

// Bytes is what is left, oldest first.
func (r *ring) Bytes() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.total < len(r.buf) {
		return append([]byte(nil), r.buf[:r.next]...)
	}
	return append(append([]byte(nil), r.buf[r.next:]...), r.buf[:r.next]...)
}
