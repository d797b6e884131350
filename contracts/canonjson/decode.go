// Decoding into closed types, with the path to whatever does not fit.

package canonjson

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"countersign/contracts"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Decode reads one strict JSON document into the closed type v points at. Keys match exactly and
// none may be unknown. The error is a *contracts.Error: malformed_json for broken syntax, invalid
// with a path for everything else.
func Decode(data []byte, v any) error {
	if f := Scan(data); f != nil {
		return f.Refusal()
	}
	if err := json.Unmarshal(data, v, json.RejectUnknownMembers(true)); err != nil {
		return semantic(err)
	}
	return nil
}

// Refusal is the fault as a client sees it.
func (f *Fault) Refusal() *contracts.Error {
	if f.Kind == FaultSyntax {
		return &contracts.Error{Code: contracts.CodeMalformedJSON, Detail: f.Detail}
	}
	return contracts.Invalid(f.Path, "%s", f.Detail)
}

func semantic(err error) error {
	s, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return contracts.Invalid("$", "%v", err)
	}
	at := Path(s.JSONPointer)
	if errors.Is(s.Err, json.ErrUnknownName) {
		return contracts.Invalid(at, "unknown field")
	}
	if own, ok := errors.AsType[*contracts.Error](s.Err); ok {
		return &contracts.Error{Code: own.Code, Path: at + strings.TrimPrefix(own.Path, "$"), Detail: own.Detail}
	}
	if s.GoType != nil && s.JSONKind != 0 {
		return contracts.Invalid(at, "%s where %s is expected", kindName(s.JSONKind), typeName(s.GoType))
	}
	return contracts.Invalid(at, "%v", s.Err)
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "a list"
	}
	return fmt.Sprintf("%v", k)
}

// typeName names a Go type in JSON's words. A type with methods may read itself from anything, so it
// keeps its own name.
func typeName(goType reflect.Type) string {
	for goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}
	switch t := goType.String(); {
	case goType.Kind() == reflect.Struct && reflect.PointerTo(goType).NumMethod() == 0:
		return "an object"
	case strings.HasPrefix(t, "[]"):
		return "a list"
	case t == "string":
		return "a string"
	case t == "bool":
		return "a boolean"
	case strings.HasPrefix(t, "int"), strings.HasPrefix(t, "uint"):
		return "an integer"
	case strings.HasPrefix(t, "map["):
		return "an object"
	default:
		return "a " + t[strings.LastIndex(t, ".")+1:]
	}
}
