// Reading an input: strict about what JSON is and which fields there are, lenient about values, for
// a value that does not fit is no evidence.

package capability

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"countersign/contracts"
	"countersign/contracts/canonjson"

	"github.com/go-json-experiment/json"
)

// Decode reads one strict JSON document into an Input. Broken JSON, a key that stands twice and an
// unknown field (but for those of a scope receipt) are refused with a *contracts.Error: malformed_json
// or invalid with a path; it never repeats a value. A value of the wrong type reads as absent and is
// named in the result's diagnostics. Where absence itself would say something it reads as an empty
// value instead: a ref that is no string is a ref that resolves to nothing, a list that is none holds
// one empty item, live facts that are no object are an empty object.
func Decode(data []byte) (Input, error) {
	var in Input
	misfits, err := decode(data, reflect.ValueOf(&in).Elem())
	if err != nil {
		return Input{}, err
	}
	in.misfits = misfits
	return in, nil
}

// decode fills the struct dst from a document and names the values that do not fit.
func decode(data []byte, dst reflect.Value) (misfits []string, err error) {
	if f := canonjson.Scan(data); f != nil {
		return nil, refusal(f)
	}
	var document any
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, contracts.Refuse(contracts.CodeMalformedJSON, "broken JSON")
	}
	if _, ok := document.(map[string]any); !ok {
		return nil, contracts.Invalid("$", "an object is expected")
	}
	var r reader
	err = r.read(dst, document, "$")
	return r.misfits, err
}

// refusal words a fault of the document without quoting it: keys and numbers may be anything.
func refusal(f *canonjson.Fault) *contracts.Error {
	at := safePath(f.Path)
	switch f.Kind {
	case canonjson.FaultDuplicate:
		return contracts.Invalid(at, "a key stands twice")
	case canonjson.FaultCaseTwin:
		return contracts.Invalid(at, "two keys differ in case only")
	case canonjson.FaultString:
		return contracts.Invalid(at, "a lone surrogate or invalid UTF-8")
	case canonjson.FaultDepth:
		return contracts.Invalid(at, "more than %d nested objects and arrays", canonjson.MaxDepth)
	case canonjson.FaultNumber:
		return contracts.Invalid(at, "a number that would lose its value")
	}
	return contracts.Refuse(contracts.CodeMalformedJSON, "broken JSON")
}

var plainStep = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}(\[[0-9]+\])*$`)

// safePath is the path as far as its keys are plain words. Others are data and may hold a secret.
func safePath(path string) string {
	safe := "$"
	for step := range strings.SplitSeq(strings.TrimPrefix(path, "$."), ".") {
		if !plainStep.MatchString(step) || SecretLike(safe+"."+step) {
			break
		}
		safe += "." + step
	}
	return safe
}

// reader fills wire types from decoded JSON.
type reader struct{ misfits []string }

// read sets dst, a zero value, from v. Only an unknown field is an error.
func (r *reader) read(dst reflect.Value, v any, path string) error {
	if v == nil {
		return nil
	}
	switch dst.Kind() {
	case reflect.Pointer:
		elem := reflect.New(dst.Type().Elem())
		if _, isBool := v.(bool); isBool || elem.Elem().Kind() != reflect.Bool {
			dst.Set(elem)
		}
		return r.read(elem.Elem(), v, path)
	case reflect.Struct:
		if object, ok := v.(map[string]any); ok {
			return r.readFields(dst, object, path)
		}
	case reflect.Map:
		if object, ok := v.(map[string]any); ok {
			return r.readEntries(dst, object, path)
		}
	case reflect.Slice:
		list, ok := v.([]any)
		if !ok {
			dst.Set(reflect.MakeSlice(dst.Type(), 1, 1))
			break
		}
		dst.Set(reflect.MakeSlice(dst.Type(), len(list), len(list)))
		for i, item := range list {
			if err := r.read(dst.Index(i), item, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
		return nil
	case reflect.String:
		if s, ok := v.(string); ok {
			dst.SetString(s)
			return nil
		}
	case reflect.Bool:
		if b, ok := v.(bool); ok {
			dst.SetBool(b)
			return nil
		}
	case reflect.Int:
		if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			dst.SetInt(int64(f))
			return nil
		}
	default:
		panic("capability: no reading for " + dst.Type().String()) // a wire type of a kind read does not know
	}
	r.misfits = append(r.misfits, path)
	return nil
}

func (r *reader) readFields(dst reflect.Value, object map[string]any, path string) error {
	known := map[string]bool{}
	for i := range dst.NumField() {
		name, _, _ := strings.Cut(dst.Type().Field(i).Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		known[name] = true
		if err := r.read(dst.Field(i), object[name], path+"."+name); err != nil {
			return err
		}
	}
	if dst.Type() == reflect.TypeFor[ScopeReceipt]() {
		return nil // the seed names only the least a receipt declares
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !known[name] {
			return contracts.Invalid(safePath(path+"."+name), "unknown field")
		}
	}
	return nil
}

// readEntries reads a map by key; the keys are data and do not appear in paths.
func (r *reader) readEntries(dst reflect.Value, object map[string]any, path string) error {
	dst.Set(reflect.MakeMapWithSize(dst.Type(), len(object)))
	for _, key := range slices.Sorted(maps.Keys(object)) {
		value := reflect.New(dst.Type().Elem()).Elem()
		if err := r.read(value, object[key], path+".*"); err != nil {
			return err
		}
		dst.SetMapIndex(reflect.ValueOf(key), value)
	}
	return nil
}
