// From produced bytes to the one canonical form of their kind.

package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"

	"countersign/contracts"
)

// Limits of what is read at once. They hold for the bytes as written and for their canonical form,
// so that canonical bytes are always accepted again.
const (
	// MaxRow is how many bytes a row of a dataset or action log may have, without its line end.
	MaxRow = 16 << 20
	// MaxDocument is how many bytes an ops_result, or a report that is a JSON object, may have: as
	// many as the server lets anybody upload. Other text has no limit.
	MaxDocument = 64 << 20
	// MaxDepth is how many objects and arrays may be nested.
	MaxDepth = 64
)

// Canonical is what was written by Canonicalise.
type Canonical struct {
	// ContentHash is "sha256:" and the lowercase hex SHA-256 of the canonical bytes.
	ContentHash string
	// Bytes is how many canonical bytes there are.
	Bytes int64
	// Rows is how many rows a dataset or action log has, 0 for the other kinds.
	Rows int64
}

// Canonicalise reads a produced file as its kind and writes its canonical bytes to w as it goes
// (seed, section "Canonicalisation rules"): text with LF line ends; RFC 8785 JSON; rows of that, joined
// by LF. A report that is a JSON object with body and figures is a bundle, see package figures. It takes a
// few times the memory of the longest row, or of a document, whatever the size of the file.
//
// The error is a *Rejection when the bytes have no canonical form, a *contracts.Error of code invalid
// for an unknown kind, and otherwise wraps what r or w answered. After an error w holds a part of the
// bytes, which is worth nothing.
func Canonicalise(kind Kind, r io.Reader, w io.Writer) (Canonical, error) {
	r = &steadyReader{r: r}
	s := &sink{w: w, hash: sha256.New()}
	var (
		rows int64
		err  error
	)
	switch kind {
	case CodeDiff:
		err = foldText(r, s)
	case Report:
		err = foldReport(r, s)
	case Dataset, ActionLog:
		rows, err = foldRows(r, s)
	case OpsResult:
		err = foldDocument(r, s)
	default:
		return Canonical{}, contracts.Invalid("kind", "unknown kind %q", clip(string(kind), 40))
	}
	if err != nil {
		return Canonical{}, err
	}
	return Canonical{ContentHash: hashText(s.hash), Bytes: s.n, Rows: rows}, nil
}

// sink hashes and counts the canonical bytes on their way out.
type sink struct {
	w    io.Writer
	hash hash.Hash
	n    int64
}

func (s *sink) write(b []byte) error {
	s.hash.Write(b)
	s.n += int64(len(b))
	if _, err := s.w.Write(b); err != nil {
		return fmt.Errorf("write canonical bytes: %w", err)
	}
	return nil
}

func hashText(h hash.Hash) string { return "sha256:" + hex.EncodeToString(h.Sum(nil)) }
