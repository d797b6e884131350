// JSON Schema (2020-12) as a Go value: the keywords used here and no more.

// Package schema makes JSON Schemas of the wire types: from their fields, their json tags and their
// validator tags. OpenAPI and MCP both publish what it makes, so neither can say something else than
// the other or than the code.
package schema

// Schema is one JSON Schema; the zero Schema allows everything.
type Schema struct {
	Ref         string `json:"$ref,omitzero"`
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	// Type is "object", "string" …; with Nullable, null is allowed besides.
	Type     Type   `json:"type,omitzero"`
	Format   string `json:"format,omitzero"`
	Pattern  string `json:"pattern,omitzero"`
	Enum     []any  `json:"enum,omitzero"`
	Default  any    `json:"default,omitzero"`
	Minimum  *int   `json:"minimum,omitzero"`
	Maximum  *int   `json:"maximum,omitzero"`
	MinItems *int   `json:"minItems,omitzero"`
	MaxItems *int   `json:"maxItems,omitzero"`
	// MinLength and MaxLength count characters.
	MinLength   *int    `json:"minLength,omitzero"`
	MaxLength   *int    `json:"maxLength,omitzero"`
	UniqueItems bool    `json:"uniqueItems,omitzero"`
	Items       *Schema `json:"items,omitzero"`
	// Properties of an object; AdditionalProperties is false on every closed one.
	Properties           map[string]*Schema `json:"properties,omitzero"`
	Required             []string           `json:"required,omitzero"`
	AdditionalProperties *bool              `json:"additionalProperties,omitzero"`
	AnyOf                []*Schema          `json:"anyOf,omitzero"`
	// Defs are the named schemas that Refs beginning with "#/$defs/" point at.
	Defs map[string]*Schema `json:"$defs,omitzero"`
}

// Type is the list of types a value may have; one alone is written as a string.
type Type []string

// MarshalJSON writes one type as a string, more as a list.
func (t Type) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return []byte(`"` + t[0] + `"`), nil
	}
	out := []byte{'['}
	for i, name := range t {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), name...), '"')
	}
	return append(out, ']'), nil
}

// nullable is s, or null.
func nullable(s *Schema) *Schema {
	if s.Ref != "" || len(s.AnyOf) > 0 {
		return &Schema{AnyOf: []*Schema{s, {Type: Type{"null"}}}}
	}
	if len(s.Type) == 0 {
		return s // it allows null as everything else
	}
	own := *s
	own.Type = append(append(Type{}, s.Type...), "null")
	if own.Enum != nil {
		own.Enum = append(append([]any{}, s.Enum...), nil)
	}
	return &own
}

// Closed is an object of exactly these properties.
func Closed(properties map[string]*Schema, required ...string) *Schema {
	return &Schema{Type: Type{"object"}, Properties: properties, Required: required, AdditionalProperties: new(false)}
}
