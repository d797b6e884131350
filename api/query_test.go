package api

import (
	"strings"
	"testing"

	"countersign/contracts"
)

// Whatever the query string, its parameters are in range and storable, or it is refused.
func FuzzQuery(f *testing.F) {
	declared := []Param{
		{Name: "id", Required: true}, {Name: "kind", OneOf: []string{"a", "b"}}, {Name: "limit", Integer: true, Min: 1, Max: 100, Default: 50},
	}
	for _, seed := range []string{"id=1", "id=1&limit=7&kind=a", "id=%00", "id=%ff&limit=", "a;b", "%zz", "id=1&id=2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := parseQuery(raw, declared)
		if err != nil {
			if e, ok := err.(*contracts.Error); !ok || e.Code != contracts.CodeInvalid || !strings.HasPrefix(e.Path, "$") {
				t.Fatal(err)
			}
			return
		}
		if n := q.ints["limit"]; n < 1 || n > 100 {
			t.Fatalf("limit %d", n)
		}
		if id := q.text["id"]; id == "" || !plainText(id) || len(id) > maxText {
			t.Fatalf("id %q", id)
		}
		if kind, ok := q.text["kind"]; ok && kind != "a" && kind != "b" {
			t.Fatalf("kind %q", kind)
		}
	})
}
