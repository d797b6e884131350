// From Go types to schemas.

package schema

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"countersign/contracts/capability"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json/jsontext"
)

// Direction is which way a value travels: what a client must send is not what it can rely on reading.
type Direction int

// Body is what clients send, held to the validator tags; Answer is what they read.
const (
	Body Direction = iota
	Answer
)

// Generator collects the named schemas of the types it is asked about. It is not safe for concurrent
// use.
type Generator struct {
	// Prefix is what a reference to a named schema begins with, "#/components/schemas/" or "#/$defs/".
	Prefix string
	// Documents says what the fields of type jsontext.Value hold in an answer, by the name "Type.Field";
	// one that is not named may hold any JSON.
	Documents map[string]reflect.Type
	// Defs are the named schemas so far.
	Defs map[string]*Schema

	read map[string]bool // names in Defs that are of answers
}

// bodySuffix tells what is sent from what is read of the same type.
const bodySuffix = "Input"

// Of is the schema of a type, by reference when it is a struct.
func (g *Generator) Of(t reflect.Type, d Direction) *Schema {
	switch t {
	case reflect.TypeFor[time.Time]():
		return &Schema{Type: Type{"string"}, Format: "date-time"}
	case reflect.TypeFor[jsontext.Value]():
		return &Schema{}
	case reflect.TypeFor[workflow.Version]():
		return &Schema{
			Description: "As its author wrote it.",
			AnyOf:       []*Schema{{Type: Type{"string"}, MinLength: new(1), MaxLength: new(64)}, {Type: Type{"integer"}, Minimum: new(1)}},
		}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return nullable(g.Of(t.Elem(), d))
	case reflect.Struct:
		return &Schema{Ref: g.Prefix + g.define(t, d)}
	case reflect.Slice:
		return &Schema{Type: Type{"array"}, Items: g.Of(t.Elem(), d)}
	case reflect.Map:
		return &Schema{Type: Type{"object"}}
	case reflect.Bool:
		return &Schema{Type: Type{"boolean"}}
	case reflect.Float64:
		return &Schema{Type: Type{"number"}}
	case reflect.String:
		return &Schema{Type: Type{"string"}, Enum: values(t)}
	case reflect.Int, reflect.Int64:
		return &Schema{Type: Type{"integer"}}
	}
	return &Schema{}
}

// values are the members of a closed vocabulary: a type with a method Values; nil for others.
func values(t reflect.Type) (out []any) {
	method, ok := t.MethodByName("Values")
	if !ok || method.Type.NumIn() != 1 || method.Type.NumOut() != 1 || method.Type.Out(0) != reflect.SliceOf(t) {
		return nil
	}
	all := method.Func.Call([]reflect.Value{reflect.Zero(t)})[0]
	for i := range all.Len() {
		out = append(out, all.Index(i).String())
	}
	return out
}

// nameOf is what a struct's schema is called. The types of the capability contract have names that say
// something within their package only.
func nameOf(t reflect.Type) string {
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if t.PkgPath() == reflect.TypeFor[capability.Input]().PkgPath() {
		return "Capability" + name
	}
	return name
}

// define names the schema of a struct. One that is read and sent has a second name for what is sent,
// so whoever asks for both directions asks for the answers first.
func (g *Generator) define(t reflect.Type, d Direction) string {
	name := nameOf(t)
	if d == Body && g.read[name] {
		name += bodySuffix
	}
	if _, known := g.Defs[name]; known {
		return name
	}
	if g.Defs == nil {
		g.Defs, g.read = map[string]*Schema{}, map[string]bool{}
	}
	g.read[name] = d == Answer
	g.Defs[name] = nil // so that a type which holds itself ends
	g.Defs[name] = g.Object(t, d)
	return name
}

// Object is the schema of a struct itself: closed, with the fields of inlined structs as its own.
func (g *Generator) Object(t reflect.Type, d Direction) *Schema {
	s := Closed(map[string]*Schema{})
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case options == "inline":
			inner := g.Object(f.Type, d)
			for n, p := range inner.Properties {
				s.Properties[n] = p
			}
			s.Required = append(s.Required, inner.Required...)
			continue
		case !f.IsExported() || name == "-":
			continue
		}
		field, required := g.field(t, f, d, strings.Contains(options, "omitzero"))
		s.Properties[name] = field
		if required {
			s.Required = append(s.Required, name)
		}
	}
	slices.Sort(s.Required)
	return s
}

func (g *Generator) field(in reflect.Type, f reflect.StructField, d Direction, omitted bool) (s *Schema, required bool) {
	if d == Answer {
		if document, named := g.Documents[in.Name()+"."+f.Name]; named {
			return g.Of(document, d), !omitted
		}
		return g.Of(f.Type, d), !omitted
	}
	s = g.Of(f.Type, d)
	rules := parseRules(f.Tag.Get("validate"))
	required = rules.apply(s)
	if f.Type.Kind() == reflect.Struct && s.Ref != "" {
		// A struct that may not be empty may not be absent either.
		required = len(g.Defs[strings.TrimPrefix(s.Ref, g.Prefix)].Required) > 0
	}
	return s, required
}
