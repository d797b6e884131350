// The canonical form of a report: text, or a bundle.

package artifact

import (
	"bytes"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// foldReport writes a bundle's canonical form, and text for everything else.
func foldReport(r io.Reader, s *sink) error {
	read, is, err := readBundle(r)
	switch {
	case err != nil:
		return err
	case !is:
		return foldText(io.MultiReader(read, r), s)
	}
	bundle, err := parseBundle(read.Bytes())
	if err != nil {
		return err
	}
	canonical, err := bundle.Canonical()
	if err != nil {
		return err
	}
	// Keys that the author left out are written.
	if len(canonical) > MaxDocument {
		return tooLarge()
	}
	return s.write(canonical)
}

// readBundle reads a report until it is sure whether it is a bundle. An error of r is left for the next
// one who reads it.
func readBundle(r io.Reader) (read *bytes.Buffer, is bool, err error) {
	read = &bytes.Buffer{}
	is = isBundle(io.TeeReader(io.LimitReader(r, MaxDocument+1), read))
	if read.Len() > MaxDocument {
		return nil, false, tooLarge()
	}
	return read, is, nil
}

// isBundle reads until it is sure whether a report is one JSON object with the keys body and figures.
// It takes any JSON, also what parseBundle refuses then, so that a bundle with a key that stands twice
// does not pass as text. A report that is no valid JSON, and a reader that fails, has no bundle.
func isBundle(r io.Reader) bool {
	var (
		dec           = jsontext.NewDecoder(r, anyJSON)
		body, figures bool
	)
	if dec.PeekKind() != '{' {
		return false
	}
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return false
		}
		switch token.Kind() {
		case '{':
			continue
		case '}':
			_, err := dec.ReadToken()
			return err == io.EOF && body && figures
		}
		switch token.String() {
		case "body":
			body = true
		case "figures":
			figures = true
		}
		if dec.SkipValue() != nil {
			return false
		}
	}
}

// anyJSON reads what is valid by the grammar alone.
var anyJSON = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
