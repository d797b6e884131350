// The report bundle: the prose and the figures that ground it.

package figures

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"countersign/contracts"
	"countersign/contracts/canonjson"

	"github.com/go-json-experiment/json/jsontext"
)

// Anchor kinds. Attachment and artifact refs are "sha256:" and 64 lowercase hex digits, the content
// hash of a lineage record; receipt refs are any text that is not blank.
const (
	AnchorAttachment = "attachment"
	AnchorArtifact   = "artifact"
	AnchorReceipt    = "receipt"
)

// Anchor names the lineage record that grounds a figure.
type Anchor struct {
	Kind string `json:"kind"`
	Ref  string `json:"ref"`
}

// Figure is one number the report declares. Value is the number as written, Unit and Label may be "".
type Figure struct {
	Value  string `json:"value"`
	Unit   string `json:"unit"`
	Label  string `json:"label"`
	Anchor Anchor `json:"anchor"`
}

// Bundle is a grounded report: its text and its figures.json.
type Bundle struct {
	Body    string   `json:"body"`
	Figures []Figure `json:"figures"`
}

// Canonical is the RFC 8785 form of the bundle, the bytes its content hash is taken over. Whether its
// strings are in NFC is for the caller to check, as for any artifact.
func (b Bundle) Canonical() ([]byte, error) { return canonjson.Marshal(b) }

// IsBundle says that data is one JSON object with the members body and figures: a report in such a
// file is a bundle, and one with faults is refused rather than read as prose.
func IsBundle(data []byte) bool {
	d := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if d.PeekKind() != '{' {
		return false
	}
	if _, err := d.ReadToken(); err != nil {
		return false
	}
	var body, figures bool
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return false
		}
		switch name.String() {
		case "body":
			body = true
		case "figures":
			figures = true
		}
		if d.SkipValue() != nil {
			return false
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return false
	}
	_, err := d.ReadToken()
	return errors.Is(err, io.EOF) && body && figures
}

// ParseBundle reads {"body", "figures": [{"value", "unit", "label", "anchor": {"kind", "ref"}}]} strictly:
// no other members, strings only, unit and label optional. CRLF and CR in the body become LF. The error
// is a *contracts.Error with the path to the fault.
func ParseBundle(data []byte) (Bundle, error) {
	var w bundleWire
	if err := canonjson.Decode(data, &w); err != nil {
		return Bundle{}, err
	}
	switch {
	case !w.Body.given:
		return Bundle{}, contracts.Invalid("$.body", "required")
	case !w.Figures.given:
		return Bundle{}, contracts.Invalid("$.figures", "required")
	}
	b := Bundle{Body: foldLines(w.Body.value), Figures: make([]Figure, len(w.Figures.value))}
	for i, f := range w.Figures.value {
		figure, err := f.figure(fmt.Sprintf("$.figures[%d]", i))
		if err != nil {
			return Bundle{}, err
		}
		b.Figures[i] = figure
	}
	return b, nil
}

func foldLines(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

type bundleWire struct {
	Body    member[string]       `json:"body"`
	Figures member[[]figureWire] `json:"figures"`
}

type figureWire struct {
	Value  member[string]     `json:"value"`
	Unit   member[string]     `json:"unit"`
	Label  member[string]     `json:"label"`
	Anchor member[anchorWire] `json:"anchor"`
}

type anchorWire struct {
	Kind member[string] `json:"kind"`
	Ref  member[string] `json:"ref"`
}

func (w figureWire) figure(path string) (Figure, error) {
	switch {
	case !w.Value.given:
		return Figure{}, contracts.Invalid(path+".value", "required")
	case !w.Anchor.given:
		return Figure{}, contracts.Invalid(path+".anchor", "required")
	}
	anchor, err := w.Anchor.value.anchor(path + ".anchor")
	return Figure{Value: w.Value.value, Unit: w.Unit.value, Label: w.Label.value, Anchor: anchor}, err
}

func (w anchorWire) anchor(path string) (Anchor, error) {
	switch {
	case !w.Kind.given:
		return Anchor{}, contracts.Invalid(path+".kind", "required")
	case !w.Ref.given:
		return Anchor{}, contracts.Invalid(path+".ref", "required")
	}
	a := Anchor{Kind: w.Kind.value, Ref: w.Ref.value}
	switch a.Kind {
	case AnchorAttachment, AnchorArtifact:
		if !isContentHash(a.Ref) {
			return Anchor{}, contracts.Invalid(path+".ref", "not sha256: and 64 lowercase hex digits")
		}
	case AnchorReceipt:
		if strings.TrimSpace(a.Ref) == "" {
			return Anchor{}, contracts.Invalid(path+".ref", "blank")
		}
	default:
		return Anchor{}, contracts.Invalid(path+".kind", "%q is none of attachment, artifact, receipt", a.Kind)
	}
	return a, nil
}

func isContentHash(ref string) bool {
	digits, ok := strings.CutPrefix(ref, "sha256:")
	return ok && len(digits) == 64 && strings.Trim(digits, "0123456789abcdef") == ""
}
