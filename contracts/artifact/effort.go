// What validating by a schema may cost.

package artifact

import (
	"fmt"
	"reflect"

	"countersign/contracts/pattern"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A schema of a few lines can ask for more steps than there is time: twenty definitions that each refer
// twice to the next are a million of them, forty never end. So a judge counts the steps and gives up.
const (
	// minEffort is how many steps any document may take, about a second's worth.
	minEffort = 1 << 20
	// effortPerByte is how many more it may take for each byte or so of the documents seen.
	effortPerByte = 16
)

// effort counts down the steps that are left.
type effort struct{ left int }

// spend takes steps, and ends the validation when there are none left; recoverAs makes a reason of it.
func (e *effort) spend(steps int) {
	if e.left -= steps; e.left < 0 {
		panic("the schema asks for too many steps")
	}
}

// allow adds the steps that a document may take for its size.
func (e *effort) allow(value any) { e.left += effortPerByte * sizeOf(value) }

// sizeOf counts values and the bytes of strings.
func sizeOf(value any) int {
	size := 1
	switch value := value.(type) {
	case string:
		size += len(value)
	case []any:
		for _, item := range value {
			size += sizeOf(item)
		}
	case map[string]any:
		for key, member := range value {
			size += len(key) + sizeOf(member)
		}
	}
	return size
}

// stepFormat is the format of every schema object, since formats are asked first and say nothing else here.
const stepFormat = "countersign-step"

// newCompiler compiles schemas whose patterns and steps are counted.
func newCompiler(e *effort) *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.AssertFormat()
	c.RegisterFormat(&jsonschema.Format{Name: stepFormat, Validate: func(any) error { e.spend(1); return nil }})
	var patterns pattern.Set
	c.UseRegexpEngine(func(expression string) (jsonschema.Regexp, error) {
		re, err := patterns.Compile(expression)
		if err != nil {
			return nil, err
		}
		return &counted{re, e}, nil
	})
	return c
}

// counted is an expression that counts a step for every thousand that its matching takes.
type counted struct {
	*pattern.Expression
	effort *effort
}

// MatchString counts before it matches.
func (c *counted) MatchString(s string) bool {
	c.effort.spend(1 + len(s)*c.Instructions/1000)
	return c.Expression.MatchString(s)
}

// countSteps gives stepFormat to every schema object of the document that c finds when it compiles it; only
// a compiler can tell a schema from other objects.
func countSteps(c *jsonschema.Compiler, document any) error {
	schemas := map[uintptr]bool{}
	c.RegisterVocabulary(&jsonschema.Vocabulary{
		URL: schemaURL + "/steps",
		Compile: func(_ *jsonschema.CompilerContext, schema map[string]any) (jsonschema.SchemaExt, error) {
			schemas[reflect.ValueOf(schema).Pointer()] = true
			return nil, nil
		},
	})
	c.AssertVocabs()
	if err := c.AddResource(schemaURL, document); err != nil {
		return err
	}
	if _, err := c.Compile(schemaURL); err != nil {
		return err
	}
	var mark func(any)
	mark = func(value any) {
		switch value := value.(type) {
		case []any:
			for _, item := range value {
				mark(item)
			}
		case map[string]any:
			for _, member := range value {
				mark(member)
			}
			if schemas[reflect.ValueOf(value).Pointer()] {
				value["format"] = stepFormat
			}
		}
	}
	mark(document)
	return nil
}

// compileSchema compiles a schema so that validating by it spends e.
func compileSchema(document any, e *effort) (schema *jsonschema.Schema, err error) {
	defer recoverAs(&err)
	if err := countSteps(newCompiler(e), document); err != nil {
		return nil, err
	}
	c := newCompiler(e)
	if err := c.AddResource(schemaURL, document); err != nil {
		return nil, err
	}
	if schema, err = c.Compile(schemaURL); err != nil {
		return nil, fmt.Errorf("with its steps counted: %w", err)
	}
	return schema, nil
}
