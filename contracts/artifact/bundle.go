// A report with the figures it stands on.

package artifact

import (
	"bytes"
	"errors"
	"strings"

	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/figures"

	"github.com/go-json-experiment/json/jsontext"
)

// parseBundle reads a bundle as an author wrote it, or in its canonical form. Package figures knows its
// shape; here it must have a canonical form as well, and its body must be good text. The error is a
// *Rejection with the line of what is wrong.
func parseBundle(data []byte) (figures.Bundle, error) {
	canonical, err := canonicalObject(bytes.Clone(data))
	if err != nil {
		return figures.Bundle{}, err
	}
	bundle, err := figures.ParseBundle(canonical)
	if refusal, ok := errors.AsType[*contracts.Error](err); ok {
		return figures.Bundle{}, &Rejection{lineOfMember(data, refusal.Path), refusal.Path + ": " + refusal.Detail}
	}
	if strings.HasPrefix(bundle.Body, byteOrderMark) {
		return figures.Bundle{}, &Rejection{lineOfMember(data, "$.body"), "$.body: " + reasonBOM}
	}
	return bundle, err
}

// lineOfMember is the line of the member at path, or of the nearest one around it that is there. data is
// known to be good JSON.
func lineOfMember(data []byte, path string) int {
	line := 1
	for dec := jsontext.NewDecoder(bytes.NewReader(data)); ; {
		if _, err := dec.ReadToken(); err != nil {
			return line
		}
		at := canonjson.Path(dec.StackPointer())
		rest, around := strings.CutPrefix(path, at)
		if !around || at == "$" || rest != "" && rest[0] != '.' && rest[0] != '[' {
			continue
		}
		read := bytes.Clone(data[:dec.InputOffset()])
		var folder newlineFolder
		if line = lineOf(read, folder.fold(read)); rest == "" {
			return line
		}
	}
}
