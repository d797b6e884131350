// The rules that fields of both shapes share: known keys, texts, lists of texts.

package completion

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"countersign/contracts"

	"github.com/go-json-experiment/json/jsontext"
)

// unlimited is the limit of a text whose length only the request's body bounds.
const unlimited = 0

// checkKnown refuses the first key, in document order, that the object at a path may not have.
func checkKnown(at string, o object, known ...string) *contracts.Error {
	for _, m := range o {
		if slices.Contains(known, m.name) {
			continue
		}
		for _, name := range known {
			if strings.EqualFold(name, m.name) {
				return violation(at+"."+m.name, "unknown field: keys match exactly, so write %q", name)
			}
		}
		return violation(at+"."+m.name, "unknown field: the fields here are %s", strings.Join(known, ", "))
	}
	return nil
}

// readRequired reads the text of a key that must be there.
func readRequired(at string, o object, name string, limit int) (string, *contracts.Error) {
	raw, given := o.get(name)
	if !given {
		return "", violation(at+"."+name, "is required")
	}
	return readText(at+"."+name, raw, limit)
}

// readText takes a string that is not blank and has at most limit code points.
func readText(at string, raw jsontext.Value, limit int) (string, *contracts.Error) {
	text, ok := unquote(raw)
	switch {
	case !ok:
		return "", violation(at, "must be a string, not %s", typeName(raw))
	case strings.TrimLeftFunc(text, isSpace) == "":
		return "", violation(at, "must not be blank")
	}
	if n := utf8.RuneCountInString(text); limit != unlimited && n > limit {
		return "", violation(at, "must have at most %d characters (Unicode code points), not %d", limit, n)
	}
	return text, nil
}

// readList takes a list of such texts and names the first item that is none.
func readList(at string, raw jsontext.Value, limit int) ([]string, *contracts.Error) {
	if raw.Kind() != '[' {
		return nil, violation(at, "must be a list of strings, not %s", typeName(raw))
	}
	texts := []string{}
	for i, item := range items(raw) {
		text, v := readText(at+"["+strconv.Itoa(i)+"]", item, limit)
		if v != nil {
			return nil, v
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// isSpace is the blank rule for one character: Unicode White_Space or U+001C to U+001F. Package
// workflow has the same rule for whole texts; a test holds the two together.
func isSpace(r rune) bool {
	return unicode.IsSpace(r) || (r >= 0x1c && r <= 0x1f)
}
