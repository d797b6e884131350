// JSON numbers: read strictly, written as ECMAScript writes doubles (RFC 8785, section 3.2.2.3).

package artifact

import (
	"bytes"
	"math"
	"strconv"
)

// exactDigits is how many significant decimal digits a double always keeps: no two numbers that
// short share one, so the shortest text of the double is the literal itself.
const exactDigits = 15

// longestDouble is more than the bytes of the longest canonical number.
const longestDouble = 32

// number copies a number. The short ones, which is nearly all, never become a double.
func (w *objectWriter) number() *fault {
	src, begin := w.src, w.pos
	i := begin
	if src[i] == '-' {
		i++
	}
	whole := i
	i = digits(src, i)
	wholeEnd := i
	if wholeEnd == whole || src[whole] == '0' && wholeEnd > whole+1 {
		return w.refuse("broken JSON: no number, %s", clip(string(src[begin:min(i+1, len(src))]), 40))
	}
	if i < len(src) && src[i] == '.' {
		if i = digits(src, i+1); i == wholeEnd+1 {
			return w.refuse("broken JSON: a number without digits after its point")
		}
	}
	fractionEnd := i
	if i < len(src) && (src[i] == 'e' || src[i] == 'E') {
		if i++; i < len(src) && (src[i] == '+' || src[i] == '-') {
			i++
		}
		power := i
		if i = digits(src, i); i == power {
			return w.refuse("broken JSON: a number without digits in its exponent")
		}
	}
	w.pos = i
	literal := src[begin:i]
	switch {
	case i > fractionEnd, fractionEnd-whole > exactDigits+1:
		return w.double(literal, fractionEnd == wholeEnd && i == fractionEnd)
	case fractionEnd == wholeEnd:
		if src[whole] == '0' { // -0 is 0
			literal = src[whole:i]
		} else if fractionEnd-whole > exactDigits {
			return w.double(literal, true)
		}
		w.out = append(w.out, literal...)
		return nil
	}
	// A plain fraction, unless it is small enough to be written with an exponent.
	if src[whole] == '0' && zeros(src[wholeEnd+1:min(fractionEnd, wholeEnd+7)]) {
		return w.double(literal, false)
	}
	literal = bytes.TrimRight(literal, "0")
	w.out = append(w.out, bytes.TrimSuffix(literal, []byte{'.'})...)
	return nil
}

// digits returns the end of the run of digits that begins at i.
func digits(src []byte, i int) int {
	for i < len(src) && '0' <= src[i] && src[i] <= '9' {
		i++
	}
	return i
}

func zeros(b []byte) bool {
	for _, ch := range b {
		if ch != '0' {
			return false
		}
	}
	return true
}

// double copies a number by way of the double it is. An integer may not become another one on the
// way, for an id must not change in silence; fractions and exponents round.
func (w *objectWriter) double(literal []byte, integer bool) *fault {
	f, err := strconv.ParseFloat(string(literal), 64)
	if err != nil || math.IsInf(f, 0) {
		return w.refuse("the number %s is beyond a double's range; quote it", clip(string(literal), 40))
	}
	begin := len(w.out)
	w.out = appendDouble(reserve(w.out, longestDouble, w.begun+w.limit+longestDouble), f)
	if text := w.out[begin:]; integer && !sameInteger(literal, f) {
		return w.refuse("the integer %s would become %s; quote it if it is an id", clip(string(literal), 40), text)
	}
	// Only here does anything grow when it is written, 1e20 for one.
	return w.checkSize()
}

// appendDouble writes a finite double as ECMAScript does.
func appendDouble(out []byte, f float64) []byte {
	if f == 0 {
		return append(out, '0')
	}
	if a := math.Abs(f); 1e-6 <= a && a < 1e21 {
		return strconv.AppendFloat(out, f, 'f', -1, 64)
	}
	out = strconv.AppendFloat(out, f, 'e', -1, 64)
	// Go writes two digits of exponent at least.
	if n := len(out); out[n-2] == '0' && (out[n-3] == '-' || out[n-3] == '+') {
		out[n-2] = out[n-1]
		out = out[:n-1]
	}
	return out
}

// sameInteger reports whether the shortest digits of f, padded with zeros, are the literal's. They
// are what a reader of the canonical text gets, which is not always the double's exact value.
func sameInteger(literal []byte, f float64) bool {
	var buf [32]byte
	text := strconv.AppendFloat(buf[:0], math.Abs(f), 'e', -1, 64)
	literal = bytes.TrimPrefix(literal, []byte{'-'})
	mantissa, exponent, _ := bytes.Cut(text, []byte{'e'})
	power, err := strconv.Atoi(string(exponent))
	if err != nil || len(literal) != power+1 {
		return false
	}
	significant := bytes.TrimRight(literal, "0")
	return significant[0] == mantissa[0] && bytes.Equal(significant[1:], bytes.TrimPrefix(mantissa[1:], []byte{'.'}))
}
