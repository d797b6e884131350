// Which numbers keep their value through a double, the only number RFC 8785 knows.

package canonjson

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// numberFault says why a JSON number may not be canonicalised, or "". Fractions and exponents round
// as RFC 8785 says; an integer literal whose canonical text would be another integer is refused, for
// an id must not change in silence.
func numberFault(literal string) string {
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil && math.IsInf(f, 0) {
		return "the number " + clip(literal) + " is beyond a double's range"
	}
	if strings.ContainsAny(literal, ".eE") {
		return ""
	}
	want, ok := new(big.Int).SetString(literal, 10)
	if !ok {
		return "the number " + clip(literal) + " is not readable"
	}
	// The canonical text of a double below 1e21 is its shortest digits padded with zeros, not its
	// exact value; that text is what a reader gets.
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if got, ok := new(big.Int).SetString(text, 10); !ok || got.Cmp(want) != 0 {
		return "the integer " + clip(literal) + " would become " + clip(text) + "; write it as a string"
	}
	return ""
}

func clip(s string) string {
	if len(s) > 40 {
		return s[:37] + "..."
	}
	return s
}
