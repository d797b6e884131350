// JSON strings: read strictly, written with the escapes of RFC 8785, section 3.2.2.2.

package artifact

import (
	"unicode/utf16"
	"unicode/utf8"
)

// plain marks the bytes of a string that stand for themselves and need no second look.
var plain = func() (table [256]bool) {
	for ch := 0x20; ch < utf8.RuneSelf; ch++ {
		table[ch] = ch != '"' && ch != '\\'
	}
	return table
}()

// unescape maps the letter of a two-byte escape to what it stands for, 0 for no such escape; shortest
// is its inverse, but for the slash, which needs none.
var unescape = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

var shortest = [utf8.RuneSelf]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// text copies a string. What stands in it as it will be written is copied in runs.
func (w *objectWriter) text() *fault {
	var (
		begin = len(w.out)
		src   = w.src
		run   = w.pos // not copied yet
		i     = w.pos + 1
		marks bool // something that NFC may change
	)
	for {
		for i < len(src) && plain[src[i]] {
			i++
		}
		if i == len(src) {
			w.pos = i
			return w.refuse("broken JSON: it ends within a string")
		}
		switch ch := src[i]; {
		case ch == '"':
			w.out = append(w.out, src[run:i+1]...)
			w.pos = i + 1
			if marks && !w.nfc.acceptString(w.out[begin+1:len(w.out)-1]) {
				return w.refuse("the string %s %s", clip(string(w.out[begin:]), 40), remedyNFC)
			}
			return nil
		case ch == '\\':
			w.out = append(w.out, src[run:i]...)
			r, size, wrong := readEscape(src[i:])
			if wrong != "" {
				return w.refuse("%s", wrong)
			}
			w.out = appendEscaped(w.out, r)
			marks = marks || r >= inert
			i += size
			run = i
		case ch < 0x20:
			return w.refuse("broken JSON: the control character %U within a string must be escaped", ch)
		default:
			r, size := utf8.DecodeRune(src[i:])
			if r == utf8.RuneError && size == 1 {
				return w.refuse("invalid UTF-8")
			}
			marks = marks || r >= inert
			i += size
		}
	}
}

// readEscape decodes the escape at the start of src, a surrogate pair as one.
func readEscape(src []byte) (r rune, size int, wrong string) {
	const unknown = "broken JSON: no such escape in a string"
	if len(src) < 2 {
		return 0, 0, unknown
	}
	if src[1] != 'u' {
		if unescape[src[1]] == 0 {
			return 0, 0, unknown
		}
		return rune(unescape[src[1]]), 2, ""
	}
	first, ok := readUnit(src)
	if !ok {
		return 0, 0, unknown
	}
	if !utf16.IsSurrogate(first) {
		return first, 6, ""
	}
	// A high one without a low one is left to DecodeRune, as is a low one alone.
	second, _ := readUnit(src[6:])
	if r = utf16.DecodeRune(first, second); r == utf8.RuneError {
		return 0, 0, "a lone surrogate"
	}
	return r, 12, ""
}

// readUnit reads \uXXXX.
func readUnit(src []byte) (unit rune, ok bool) {
	if len(src) < 6 || src[0] != '\\' || src[1] != 'u' {
		return 0, false
	}
	for _, ch := range src[2:6] {
		switch {
		case '0' <= ch && ch <= '9':
			ch -= '0'
		case 'a' <= ch && ch <= 'f':
			ch -= 'a' - 10
		case 'A' <= ch && ch <= 'F':
			ch -= 'A' - 10
		default:
			return 0, false
		}
		unit = unit<<4 | rune(ch)
	}
	return unit, true
}

// appendEscaped writes one character as it stands in a canonical string.
func appendEscaped(out []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	switch {
	case r < utf8.RuneSelf && shortest[r] != 0:
		return append(out, '\\', shortest[r])
	case r < 0x20:
		return append(out, '\\', 'u', '0', '0', hex[r>>4], hex[r&0xf])
	}
	return utf8.AppendRune(out, r)
}
