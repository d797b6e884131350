// Watching a provider's output: to the runtime's reader, to the transcript, to whoever waits for the session.

package bridge

import (
	"bytes"
	"os"
	"sync"
)

// maxTranscript is how much of a provider's raw output is kept.
const maxTranscript = 16 << 20

// watch guards a Stream, which is written by the reading goroutine and read by the attempt.
type watch struct {
	mu         sync.Mutex
	stream     Stream
	transcript *transcript
	session    chan struct{} // closed when the session id was seen
	seen       bool
}

func newWatch(s Stream, t *transcript) *watch {
	return &watch{stream: s, transcript: t, session: make(chan struct{})}
}

func (w *watch) line(line []byte, cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.transcript.add(line)
	w.stream.Line(line, cut)
	if !w.seen && w.stream.Report().Session != "" {
		w.seen = true
		close(w.session)
	}
}

func (w *watch) report() Report {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stream.Report()
}

// transcript is the raw stream on disk, up to a limit, without the bridge's token.
type transcript struct {
	file   *os.File
	left   int
	secret []byte
}

func newTranscript(path, secret string) (*transcript, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &transcript{file: f, left: maxTranscript, secret: []byte(secret)}, nil
}

// add is best effort: a full disk must not end an attempt for the sake of its log.
func (t *transcript) add(line []byte) {
	line = append(t.redact(line), '\n')
	if len(line) <= t.left {
		n, _ := t.file.Write(line)
		t.left -= n
	}
}

// redact is a second line of defence; an agent never gets the token.
func (t *transcript) redact(text []byte) []byte {
	return bytes.ReplaceAll(text, t.secret, []byte("[redacted]"))
}

func (t *transcript) close() { t.file.Close() }
