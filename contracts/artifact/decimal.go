// Numbers as the decimals they are written as, compared without a double in between.

package artifact

import (
	stdjson "encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// decimal is ±0.digits × 10^power, with neither a leading nor a trailing zero in digits. Zero has no
// digits.
type decimal struct {
	negative bool
	digits   string
	power    int
}

// parseDecimal reads a number that operand let pass.
func parseDecimal(literal stdjson.Number) decimal {
	rest, negative := strings.CutPrefix(string(literal), "-")
	mantissa, exponent, _ := strings.Cut(strings.ToLower(rest), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	all := whole + fraction
	significant := strings.TrimLeft(all, "0")
	if significant == "" {
		return decimal{}
	}
	// No exponent is no number and reads as 0, and one that does not fit an int was refused.
	power, _ := strconv.Atoi(exponent)
	power += len(whole) - (len(all) - len(significant))
	return decimal{negative, strings.TrimRight(significant, "0"), power}
}

// compare is -1, 0 or 1 as d is less than, equal to or greater than other.
func (d decimal) compare(other decimal) int {
	switch {
	case d.sign() != other.sign():
		return d.sign() - other.sign()
	case d.power != other.power:
		return d.sign() * sign(d.power-other.power)
	}
	return d.sign() * strings.Compare(d.digits, other.digits)
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

// compareNumbers compares by value.
func compareNumbers(a, b stdjson.Number) int { return parseDecimal(a).compare(parseDecimal(b)) }

// leastExponent is the lowest exponent that a number may be written with. The schema validator works
// with fractions: it would take the time and memory that ten to the exponent asks for, and beyond some
// point it drops a keyword, or panics.
const leastExponent = -400

// operand checks a number that a criterion compares.
func operand(literal string) (stdjson.Number, error) {
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return "", fmt.Errorf("the number %s is beyond a double's range", clip(literal, 40))
	}
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		power, err := strconv.Atoi(literal[i+1:])
		if power < leastExponent || err != nil && literal[i+1] == '-' {
			return "", fmt.Errorf("the number %s has an exponent below %d", clip(literal, 40), leastExponent)
		}
		if f == 0 && parseDecimal(stdjson.Number(literal)).digits == "" {
			return "0", nil // whatever its exponent
		}
	}
	return stdjson.Number(literal), nil
}
