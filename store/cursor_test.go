package store

import (
	"testing"
	"time"

	"countersign/contracts"
)

// A cursor comes from outside: it is read as written or refused, and never reaches PostgreSQL as
// something that it cannot hold.
func FuzzCursor(f *testing.F) {
	f.Add(cursor{time.UnixMicro(1767225600123456), "0c1e"}.String())
	f.Add("")
	f.Add("MS4A")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := readCursor(s)
		if err != nil {
			if contracts.CodeOf(err) != contracts.CodeInvalid {
				t.Fatal(err)
			}
			return
		}
		if s == "" {
			return
		}
		again, err := readCursor(c.String())
		if err != nil || again.id != c.id || !again.createdAt.Equal(c.createdAt) || !storable(c.id) || c.createdAt.Year() > 9999 {
			t.Fatalf("%q: %v, then %v, %v", s, c, again, err)
		}
	})
}
