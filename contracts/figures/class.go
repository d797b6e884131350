// What a code point is to the tokenizer, in constant time.

package figures

import (
	"unicode"
	"unicode/utf8"
)

// class is a set of properties of one code point.
type class uint16

const (
	digit    class = 1 << iota // any Unicode Nd
	letter                     // any Unicode L
	numeral                    // any Unicode N, digits included
	blank                      // any Unicode White_Space
	sign                       // any Unicode Sc: a currency sign
	dash                       // a dash that may join the ends of a range
	hidden                     // shows nothing on the page: zero-width, directional, control, filler, soft hyphen
	mark                       // is drawn onto the code point before it
	unspaced                   // a letter of a script that puts no blanks between words
	vulgar                     // a fraction in one code point, such as ½
	emphasis                   // Markdown that wraps a number without showing
	low                        // the underscore
)

// isWord says that c makes up a word: \w over all of Unicode, without the letters of scripts that do
// not part their words.
func (c class) isWord() bool { return c&(letter|numeral|low) != 0 && c&unspaced == 0 }

// unspacedScripts are written without blanks, so a letter right before a number does not make it
// part of an identifier, and one right after a unit does not make that a longer word.
var unspacedScripts = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo, unicode.Hangul, unicode.Thai,
	unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Javanese, unicode.Yi,
	sharedKana,
}

// sharedKana are letters of Japanese that Unicode gives to no single script: the marks for a long
// vowel, for repetition and for closing, and the half-width voicing marks.
var sharedKana = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x3006, Hi: 0x3006, Stride: 1}, {Lo: 0x3031, Hi: 0x3035, Stride: 1},
	{Lo: 0x303c, Hi: 0x303c, Stride: 1}, {Lo: 0x30fc, Hi: 0x30fc, Stride: 1},
	{Lo: 0xff70, Hi: 0xff70, Stride: 1}, {Lo: 0xff9e, Hi: 0xff9f, Stride: 1},
}}

// basicPlane answers for nearly every code point of nearly every text; a search in Unicode's tables
// for each would take most of the time of a scan.
var basicPlane = func() *[1 << 16]class {
	var table [1 << 16]class
	for r := range rune(len(table)) {
		table[r] = classify(r)
	}
	return &table
}()

func classOf(r rune) class {
	if r >= 0 && r < rune(len(basicPlane)) {
		return basicPlane[r]
	}
	return classify(r)
}

func classify(r rune) class {
	var c class
	switch {
	case unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r), r == 0x2800: // fillers, one of Braille
		c = hidden
	case unicode.IsLetter(r):
		c = letter
		if unicode.In(r, unspacedScripts...) {
			c |= unspaced
		}
	case unicode.IsNumber(r):
		c = numeral
		if unicode.IsDigit(r) {
			c |= digit
		}
		if vulgarFractions[r] != "" {
			c |= vulgar
		}
	case unicode.IsSpace(r):
		c = blank
	case unicode.In(r, unicode.Sc):
		c = sign
	case unicode.IsControl(r), unicode.In(r, unicode.Cf) && !unicode.In(r, unicode.Prepended_Concatenation_Mark):
		c = hidden
	case unicode.In(r, unicode.Mn, unicode.Me):
		c = mark
	case r == '_':
		c = low
	case r == '*', r == '`':
		c = emphasis
	case isDash(r):
		c = dash
	}
	return c
}

// isDash names the dashes of rule 7, their small and full-width twins, and the wave dash, which is
// the sign of a range in Japanese.
func isDash(r rune) bool {
	switch r {
	case '-', 0x2212, 0xfe58, 0xfe63, 0xff0d, 0x301c, 0xff5e:
		return true
	}
	return r >= 0x2010 && r <= 0x2015
}

// digitValue is the value of a digit. Unicode keeps every set of decimal digits together and in
// order, zero first.
func digitValue(r rune) byte {
	if r < utf8.RuneSelf {
		return byte(r - '0')
	}
	for _, span := range unicode.Nd.R16 {
		if r <= rune(span.Hi) {
			return byte((r - rune(span.Lo)) % 10)
		}
	}
	for _, span := range unicode.Nd.R32 {
		if r <= rune(span.Hi) {
			return byte((r - rune(span.Lo)) % 10)
		}
	}
	return 0
}
