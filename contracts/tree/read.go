// Which language a document is in.

package tree

import (
	"bytes"
	"unicode/utf8"

	"countersign/contracts"
)

// Read reads a document whose root has the given path: as JSON when it opens with a brace and a
// quotation mark (or is an empty object), and as YAML otherwise. The error is of code invalid.
func Read(data []byte, path string) (Node, *contracts.Error) {
	if !looksLikeJSON(data) {
		return ReadYAML(data, path)
	}
	if err := CheckText(data, path); err != nil {
		return Node{}, err
	}
	return readJSON(data, path)
}

// CheckText wants the document at path to be UTF-8 without a byte order mark.
func CheckText(data []byte, path string) *contracts.Error {
	switch {
	case !utf8.Valid(data):
		return contracts.Invalid(path, "invalid UTF-8 (line %d)", invalidLine(data))
	case bytes.HasPrefix(data, []byte("\ufeff")):
		return contracts.Invalid(path, "a byte order mark at the start; leave it out")
	}
	return nil
}

// invalidLine is the line, from 1, of the first byte that is not UTF-8.
func invalidLine(data []byte) int {
	line := 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size <= 1 {
			break
		}
		if r == '\n' {
			line++
		}
		data = data[size:]
	}
	return line
}

// looksLikeJSON separates JSON from YAML by how it opens, so that broken JSON is refused as such and
// not read as the YAML it may happen to be.
func looksLikeJSON(data []byte) bool {
	rest, ok := bytes.CutPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte{'{'})
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return ok && len(rest) > 0 && (rest[0] == '"' || rest[0] == '}')
}
