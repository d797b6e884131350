// The canonical form of text.

package artifact

import (
	"bytes"
	"io"
	"unicode/utf8"
)

const (
	byteOrderMark = "\ufeff"
	reasonBOM     = "a byte order mark at the start; leave it out"
)

// foldText writes text with LF line ends and otherwise unchanged. It refuses what is not UTF-8, not
// NFC or opens with a byte order mark.
func foldText(r io.Reader, s *sink) error {
	var (
		buf    = make([]byte, chunk)
		folder newlineFolder
		nfc    nfcState
		kept   int // bytes of a rune that the last piece cut off
		line   = 1
		opened bool // past the first three bytes
	)
	for {
		n, err := r.Read(buf[kept:])
		if err != nil && err != io.EOF {
			return err
		}
		last := err == io.EOF
		piece := buf[:kept+folder.fold(buf[kept:kept+n])]
		if !opened && (len(piece) >= len(byteOrderMark) || last) {
			opened = true
			if bytes.HasPrefix(piece, []byte(byteOrderMark)) {
				return &Rejection{1, reasonBOM}
			}
		}
		if !opened {
			kept = len(piece)
			continue
		}
		read, reason := nfc.textFault(piece, last)
		if reason != "" {
			return &Rejection{line - 1 + lineOf(piece, read), reason}
		}
		line += bytes.Count(piece[:read], []byte{'\n'})
		if err := s.write(piece[:read]); err != nil {
			return err
		}
		if last {
			return nil
		}
		kept = copy(buf[:utf8.UTFMax], piece[read:])
	}
}
