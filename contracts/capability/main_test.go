// How many inputs the properties are tried on.

package capability_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain raises rapid's default of 100 inputs a property, so that all of them together see more than
// 100,000; -rapid.checks=N overrides it, -short and -race stay with a tenth.
func TestMain(m *testing.M) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "rapid.checks" })
	if !chosen {
		checks := "15000"
		if testing.Short() || underRace {
			checks = "1500"
		}
		if err := flag.Set("rapid.checks", checks); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
