// GET /docs: the OpenAPI document as one page, without script or outside assets.

package api

import (
	"bytes"
	_ "embed"
	"html/template"
	"maps"
	"slices"
	"strings"

	"countersign/api/schema"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// docsPolicy lets the page load nothing at all.
const docsPolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

//go:embed docspage.html
var docsTemplate string

// pageOperation is an operation as the page shows it.
type pageOperation struct {
	Method, Path string
	*operation
}

// docsPage renders the document.
func docsPage(d *document) ([]byte, error) {
	page := template.New("docs").Funcs(template.FuncMap{
		"link":  func(ref string) string { return strings.TrimPrefix(ref, schemaPrefix) },
		"terms": terms,
	})
	if _, err := page.Parse(docsTemplate); err != nil {
		return nil, err
	}
	groups := map[string][]pageOperation{}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(d.Paths[path])) {
			o := d.Paths[path][method]
			groups[o.Tags[0]] = append(groups[o.Tags[0]], pageOperation{strings.ToUpper(method), path, o})
		}
	}
	var out bytes.Buffer
	err := page.Execute(&out, map[string]any{"Document": d, "Groups": groups})
	return out.Bytes(), err
}

// terms is a schema as JSON for a person.
func terms(s *schema.Schema) (string, error) {
	data, err := json.Marshal(s, json.Deterministic(true), jsontext.WithIndent("  "))
	return string(data), err
}
