// schema_valid: the JSON document against a JSON Schema.

package artifact

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// newSchemaJudge compiles a schema, JSON Schema 2020-12 unless its $schema names another draft. Nothing
// is fetched for it, neither from the network nor from a file; patterns are RE2; format says nothing
// about validity in any draft.
func newSchemaJudge(value string, inRows bool) judge {
	document, err := parseJSON([]byte(value))
	if err != nil {
		return undecided{fmt.Sprintf("the schema cannot be read: %v", err)}
	}
	switch document.(type) {
	case bool, map[string]any:
	default:
		return undecided{"the schema must be an object or a boolean"}
	}
	boundCounts(document)
	j := &schemaJudge{inRows: inRows, effort: effort{minEffort}}
	if j.schema, err = compileSchema(document, &j.effort); err != nil {
		return undecided{"the schema is invalid: " + oneLine(err)}
	}
	return j
}

// schemaURL is what a schema without an $id is called. Nobody can be asked under that name (RFC 2606).
const schemaURL = "https://schema.invalid/criterion"

// noLoader refuses what the schema refers to elsewhere; the drafts themselves are built in.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is not part of the schema, and nothing is fetched", clip(url, 80))
}

// recoverAs turns a panic of the validator into an error: a criterion that breaks it has not passed,
// and must not take the process along.
func recoverAs(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the validator gave up: %v", p)
	}
}

// boundCounts lowers counts beyond int64, which the validator wraps around otherwise: a minLength of
// 1e300 would become 0. No document is that long, so nothing else changes.
func boundCounts(schema any) {
	switch schema := schema.(type) {
	case []any:
		for _, item := range schema {
			boundCounts(item)
		}
	case map[string]any:
		for key, value := range schema {
			switch key {
			case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
				if n, ok := value.(stdjson.Number); ok && compareNumbers(n, mostCount) > 0 {
					schema[key] = mostCount
				}
				boundCounts(value)
			case "const", "enum", "default", "examples": // data, no schemas
			default:
				boundCounts(value)
			}
		}
	}
}

var mostCount = stdjson.Number(strconv.Itoa(math.MaxInt))

// schemaJudge validates the document, or every row. The first one that is not valid decides.
type schemaJudge struct {
	schema *jsonschema.Schema
	effort effort
	inRows bool
	failed string
}

func (j *schemaJudge) wants(int64) bool { return j.failed == "" }

func (j *schemaJudge) see(p part) {
	if j.failed != "" {
		return
	}
	if err := j.validate(p.value); err != nil {
		if j.failed = oneLine(err); j.inRows {
			j.failed = fmt.Sprintf("row %d: %s", p.row, j.failed)
		}
	}
}

func (j *schemaJudge) validate(value any) (err error) {
	defer recoverAs(&err)
	j.effort.allow(value)
	return j.schema.Validate(value)
}

func (j *schemaJudge) verdict(e evidence) (bool, string) {
	switch {
	case j.failed != "":
		return false, j.failed
	case e.fault != "":
		return false, e.fault
	}
	return true, "the document is valid"
}

// oneLine says what is wrong with a document in one sentence: of all that the validator found, the
// first by place and then by text, since it finds things in no fixed order.
func oneLine(err error) string {
	if schema, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		err = schema.Err // which does not unwrap by itself
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return strings.Join(strings.Fields(err.Error()), " ")
	}
	english := message.NewPrinter(language.English)
	first := ""
	for _, leaf := range leaves(invalid, nil) {
		text := fmt.Sprintf("at %q: %s", "/"+strings.Join(leaf.InstanceLocation, "/"), leaf.ErrorKind.LocalizedString(english))
		if first == "" || text < first {
			first = text
		}
	}
	return first
}

func leaves(e *jsonschema.ValidationError, found []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return append(found, e)
	}
	for _, cause := range e.Causes {
		found = leaves(cause, found)
	}
	return found
}
