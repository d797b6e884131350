// The canonical form of an ops_result.

package artifact

import (
	"fmt"
	"io"
)

// foldDocument writes the canonical form of one JSON object.
func foldDocument(r io.Reader, s *sink) error {
	data, err := readDocument(r)
	if err != nil {
		return err
	}
	canonical, err := canonicalObject(data)
	if err != nil {
		return err
	}
	return s.write(canonical)
}

// canonicalObject is the RFC 8785 form of one JSON object of at most MaxDocument bytes. It writes over
// data.
func canonicalObject(data []byte) ([]byte, error) {
	w := objectWriter{limit: MaxDocument, out: make([]byte, 0, len(data)), lines: true}
	if f := w.write(data); f != nil {
		return nil, &Rejection{f.line, f.reason}
	}
	return w.out, nil
}

func readDocument(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxDocument+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxDocument {
		return nil, tooLarge()
	}
	return data, nil
}

func tooLarge() *Rejection {
	return &Rejection{1, fmt.Sprintf("one JSON document has at most %d bytes", MaxDocument)}
}
