// One strict pass over a JSON document: everything ordinary decoders let through and we do not.

// Package canonjson reads JSON strictly and writes it canonically (RFC 8785), so that one document
// has one meaning and one digest. It is the only way JSON from outside enters the system.
package canonjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how many containers may be nested in a document.
const MaxDepth = 64

// FaultKind says what is wrong with a document.
type FaultKind int

// The kinds of faults Scan finds. Syntax is the only one that makes a document no JSON at all.
const (
	FaultSyntax    FaultKind = iota + 1 // not RFC 8259, cut short, or with data after the value
	FaultDuplicate                      // a key stands twice in one object
	FaultCaseTwin                       // two keys of one object differ in case only
	FaultString                         // a lone surrogate or invalid UTF-8
	FaultDepth                          // more than MaxDepth nested containers
	FaultNumber                         // beyond a double's range, or an integer that a double would change
)

// Fault is what is wrong with a document and where.
type Fault struct {
	Kind   FaultKind
	Path   string // JSONPath style; "$" for the document
	Detail string // one sentence
}

// Error joins path and detail.
func (f *Fault) Error() string { return f.Path + ": " + f.Detail }

// lenient lets the decoder pass what scan wants to name itself, with a better path.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Scan reads the whole of data and returns nil, or its fault: broken syntax before anything else
// (but for a document nested too deeply, which is not read further), then the first in document order.
func Scan(data []byte) *Fault {
	var (
		dec   = jsontext.NewDecoder(bytes.NewReader(data), lenient)
		first *Fault
		names []map[string]string // folded key → key as written, one map an open container
	)
	note := func(kind FaultKind, detail string) {
		if first == nil {
			first = &Fault{kind, Path(dec.StackPointer()), detail}
		}
	}
	for values := 0; ; {
		kind := dec.PeekKind()
		if (kind == '{' || kind == '[') && dec.StackDepth() == MaxDepth {
			return &Fault{FaultDepth, "$", fmt.Sprintf("more than %d nested objects and arrays", MaxDepth)}
		}
		raw, err := readToken(dec, kind)
		if errors.Is(err, io.EOF) && values == 1 {
			return first
		}
		if err != nil {
			return syntaxFault(err)
		}
		switch kind {
		case '{', '[':
			names = append(names, nil)
		case '}', ']':
			names = names[:len(names)-1]
		case '"':
			text, err := jsontext.AppendUnquote(nil, raw)
			if err != nil {
				note(FaultString, "a lone surrogate or invalid UTF-8")
			}
			if isName(dec) {
				top := &names[len(names)-1]
				if *top == nil {
					*top = map[string]string{}
				}
				folded := foldCase(string(text))
				switch earlier, seen := (*top)[folded]; {
				case !seen:
					(*top)[folded] = string(text)
				case earlier == string(text):
					note(FaultDuplicate, fmt.Sprintf("key %q stands twice", text))
				default:
					note(FaultCaseTwin, fmt.Sprintf("keys %q and %q differ in case only", earlier, text))
				}
			}
		case '0':
			if detail := numberFault(string(raw)); detail != "" {
				note(FaultNumber, detail)
			}
		}
		if dec.StackDepth() == 0 {
			if values++; values > 1 {
				return &Fault{FaultSyntax, "$", "data after the JSON value"}
			}
		}
	}
}

// readToken reads one token and returns the raw text of a string or number.
func readToken(dec *jsontext.Decoder, kind jsontext.Kind) (jsontext.Value, error) {
	if kind == '"' || kind == '0' {
		return dec.ReadValue()
	}
	_, err := dec.ReadToken()
	return nil, err
}

// isName reports whether the string just read is an object's key.
func isName(dec *jsontext.Decoder) bool {
	container, length := dec.StackIndex(dec.StackDepth())
	return container == '{' && length%2 == 1
}

func syntaxFault(err error) *Fault {
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return &Fault{FaultSyntax, Path(s.JSONPointer), fmt.Sprintf("broken JSON at byte %d: %v", s.ByteOffset, s.Err)}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &Fault{FaultSyntax, "$", "the JSON document ends too early"}
	}
	return &Fault{FaultSyntax, "$", "broken JSON: " + err.Error()}
}

// foldCase maps every rune to the smallest of its simple case-folding orbit, so that two keys are
// twins exactly when strings.EqualFold says so.
func foldCase(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, s)
}

// Path turns a JSON pointer into the JSONPath style of our errors: "/a/b/0" is "$.a.b[0]". A key is
// written as it stands, whatever it holds.
func Path(p jsontext.Pointer) string {
	var b strings.Builder
	b.WriteByte('$')
	for token := range p.Tokens() {
		if isIndex(token) {
			b.WriteString("[" + token + "]")
		} else {
			b.WriteString("." + token)
		}
	}
	return b.String()
}

// isIndex takes any run of digits for an index: a pointer does not tell an array from an object, and
// no closed type of ours has a key made of digits.
func isIndex(token string) bool {
	return token != "" && strings.Trim(token, "0123456789") == ""
}
