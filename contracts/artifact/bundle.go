// A report with the figures it stands on.

package artifact

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"countersign/contracts/canonjson"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Bundle is a report's text with its figures (seed, section "The figures.json sidecar"). Both are one
// artifact with one hash. Its JSON is the closed object {"body","figures"} of strings.
type Bundle struct {
	// Body is the text, with LF line ends, in NFC and without a byte order mark.
	Body string `json:"body"`
	// Figures are as the author listed them, never nil in a parsed bundle.
	Figures []Figure `json:"figures"`
}

// Figure is one number that the text claims, and where it comes from. Strings are as written.
type Figure struct {
	Anchor Anchor `json:"anchor"`
	// Label names the figure for a reader; "" when the author left it out.
	Label string `json:"label"`
	// Unit is the figure's unit; "" when the author left it out.
	Unit string `json:"unit"`
	// Value is the number as the text has it.
	Value string `json:"value"`
}

// AnchorKind is what an anchor points at.
type AnchorKind string

// The kinds of anchors. Ref is the content hash of a lineage entry, or a query receipt's id.
const (
	AnchorAttachment AnchorKind = "attachment"
	AnchorArtifact   AnchorKind = "artifact"
	AnchorReceipt    AnchorKind = "receipt"
)

// Anchor names the record that grounds a figure.
type Anchor struct {
	Kind AnchorKind `json:"kind"`
	// Ref is "sha256:" and 64 lowercase hex digits, or for a receipt anything that is not blank.
	Ref string `json:"ref"`
}

// Canonical is the bundle's RFC 8785 form, all keys written.
func (b Bundle) Canonical() ([]byte, error) {
	data, err := canonjson.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("write bundle: %w", err)
	}
	return data, nil
}

// ParseBundle reads a bundle, as an author wrote it or in its canonical form, which it leaves as it
// is. The body's line ends are folded; a label or unit left out reads as "". The error is a *Rejection.
func ParseBundle(data []byte) (Bundle, error) {
	canonical, err := canonicalObject(bytes.Clone(data))
	if err != nil {
		return Bundle{}, err
	}
	var written writtenBundle
	if err := json.Unmarshal(canonical, &written, json.RejectUnknownMembers(true)); err != nil {
		return Bundle{}, locate(data, shapeFault(err))
	}
	bundle, f := written.bundle()
	if f != nil {
		return Bundle{}, locate(data, f)
	}
	return bundle, nil
}

// The bundle as JSON has it, where nil is what was left out or null.
type (
	writtenBundle struct {
		Body    *string          `json:"body"`
		Figures []*writtenFigure `json:"figures"`
	}
	writtenFigure struct {
		Anchor *writtenAnchor `json:"anchor"`
		Label  optional       `json:"label"`
		Unit   optional       `json:"unit"`
		Value  *string        `json:"value"`
	}
	writtenAnchor struct {
		Kind *string `json:"kind"`
		Ref  *string `json:"ref"`
	}
)

// optional is a string that may be left out, but not null.
type optional string

// UnmarshalJSONFrom refuses null, which json reads as the empty string otherwise.
func (o *optional) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '"' {
		return errors.New("must be a string")
	}
	return json.UnmarshalDecode(d, (*string)(o))
}

// bundleFault is what is wrong with the member of a bundle that a pointer names.
type bundleFault struct {
	at     jsontext.Pointer
	reason string
}

func shapeFault(err error) *bundleFault {
	semantic, ok := errors.AsType[*json.SemanticError](err)
	switch {
	case !ok:
		return &bundleFault{"", err.Error()}
	case errors.Is(err, json.ErrUnknownName):
		return &bundleFault{semantic.JSONPointer, "unknown key"}
	case semantic.GoType != nil && semantic.GoType.Kind() == reflect.Slice:
		return &bundleFault{semantic.JSONPointer, "must be a list"}
	case semantic.GoType != nil && semantic.GoType.Kind() == reflect.Struct:
		return &bundleFault{semantic.JSONPointer, "must be an object"}
	}
	return &bundleFault{semantic.JSONPointer, "must be a string"}
}

func (w writtenBundle) bundle() (Bundle, *bundleFault) {
	switch {
	case w.Body == nil:
		return Bundle{}, &bundleFault{"/body", "must be a string"}
	case strings.HasPrefix(*w.Body, byteOrderMark):
		return Bundle{}, &bundleFault{"/body", reasonBOM}
	case w.Figures == nil:
		return Bundle{}, &bundleFault{"/figures", "must be a list"}
	}
	var folder newlineFolder
	body := []byte(*w.Body)
	b := Bundle{Body: string(body[:folder.fold(body)]), Figures: make([]Figure, len(w.Figures))}
	for i, written := range w.Figures {
		figure, f := written.figure()
		if f != nil {
			f.at = jsontext.Pointer(fmt.Sprintf("/figures/%d", i)) + f.at
			return Bundle{}, f
		}
		b.Figures[i] = figure
	}
	return b, nil
}

func (w *writtenFigure) figure() (Figure, *bundleFault) {
	switch {
	case w == nil:
		return Figure{}, &bundleFault{"", "must be an object"}
	case w.Anchor == nil:
		return Figure{}, &bundleFault{"/anchor", "must be an object"}
	case w.Anchor.Kind == nil:
		return Figure{}, &bundleFault{"/anchor/kind", "must be a string"}
	case w.Anchor.Ref == nil:
		return Figure{}, &bundleFault{"/anchor/ref", "must be a string"}
	case w.Value == nil:
		return Figure{}, &bundleFault{"/value", "must be a string"}
	}
	anchor := Anchor{AnchorKind(*w.Anchor.Kind), *w.Anchor.Ref}
	switch anchor.Kind {
	case AnchorAttachment, AnchorArtifact:
		if !isContentHash(anchor.Ref) {
			return Figure{}, &bundleFault{"/anchor/ref", "must be sha256: and 64 lowercase hex digits"}
		}
	case AnchorReceipt:
		if strings.TrimSpace(anchor.Ref) == "" {
			return Figure{}, &bundleFault{"/anchor/ref", "must not be blank"}
		}
	default:
		return Figure{}, &bundleFault{"/anchor/kind", "must be attachment, artifact or receipt"}
	}
	return Figure{Anchor: anchor, Label: string(w.Label), Unit: string(w.Unit), Value: *w.Value}, nil
}

// isContentHash reports whether s is spelt as content hashes are.
func isContentHash(s string) bool {
	digest, ok := strings.CutPrefix(s, "sha256:")
	raw, err := hex.DecodeString(digest)
	return ok && err == nil && len(raw) == 32 && digest == strings.ToLower(digest)
}

// locate turns a fault into a rejection with the line of the member, or of the nearest one around it
// that is there. data is known to be good JSON.
func locate(data []byte, f *bundleFault) *Rejection {
	line := 1
	for dec := jsontext.NewDecoder(bytes.NewReader(data)); ; {
		if _, err := dec.ReadToken(); err != nil {
			break
		}
		if at := dec.StackPointer(); at != "" && at.Contains(f.at) {
			read := bytes.Clone(data[:dec.InputOffset()])
			var folder newlineFolder
			read = read[:folder.fold(read)]
			line = lineOf(read, len(read))
			if at == f.at {
				break
			}
		}
	}
	return &Rejection{line, canonjson.Path(f.at) + ": " + f.reason}
}
