// One JSON object read strictly and written as RFC 8785 in the same pass.

package artifact

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// objectWriter appends canonical objects to out. It copies what is canonical already and puts an
// object's members in order, where they are not, when the object ends; nothing else is built, so that
// a row costs no allocation once the buffers have grown.
type objectWriter struct {
	out   []byte // canonical bytes, of the rows before too
	limit int    // how many bytes one object may have in out
	lines bool   // note the line of each key, for objects that stand on several

	src      []byte // the object being read; what lies before pos is spent and may be written over
	pos      int
	begun    int      // where the object begins in out
	line     int      // of pos
	members  []member // of all open objects, the outermost first
	keyLines []int    // of members, when lines is set
	spare    []byte   // to put members in order where src is too short
	nfc      nfcState // of the string being read; here, so that it is not made anew
}

// member is where a member stands in out, from the quotation mark of its key to the end of its value.
type member struct{ start, end uint32 }

// fault is why a text is no object that has a canonical form.
type fault struct {
	line   int
	reason string
}

// write reads the whole of src, appends its canonical form to out and writes over src on the way. It
// returns nil, or what is wrong.
func (w *objectWriter) write(src []byte) *fault {
	w.src, w.pos, w.line, w.begun = src, 0, 1, len(w.out)
	w.members, w.keyLines = w.members[:0], w.keyLines[:0]
	w.space()
	if w.peek() != '{' {
		switch {
		case w.pos == len(src):
			return w.refuse("nothing here where a JSON object is expected")
		case bytes.HasPrefix(src[w.pos:], []byte(byteOrderMark)):
			return w.refuse(reasonBOM)
		}
		return w.refuse("no JSON object")
	}
	if f := w.object(1); f != nil {
		return f
	}
	w.space()
	if w.pos < len(src) {
		return w.refuse("data after the JSON object")
	}
	return w.checkSize()
}

func (w *objectWriter) refuse(format string, args ...any) *fault {
	return &fault{w.line, fmt.Sprintf(format, args...)}
}

func (w *objectWriter) checkSize() *fault {
	if len(w.out)-w.begun > w.limit {
		return w.refuse("the canonical form has more than %d bytes", w.limit)
	}
	return nil
}

// peek is the next byte, 0 at the end: a byte that is no JSON outside of a string.
func (w *objectWriter) peek() byte {
	if w.pos < len(w.src) {
		return w.src[w.pos]
	}
	return 0
}

// space skips white space, of which most places have none.
func (w *objectWriter) space() {
	if w.pos < len(w.src) && w.src[w.pos] <= ' ' {
		w.skipSpace()
	}
}

func (w *objectWriter) skipSpace() {
	for ; w.pos < len(w.src); w.pos++ {
		switch w.src[w.pos] {
		case ' ', '\t':
		case '\n':
			w.line++
		case '\r':
			if w.line++; w.pos+1 < len(w.src) && w.src[w.pos+1] == '\n' {
				w.pos++
			}
		default:
			return
		}
	}
}

// punctuation takes want and copies it.
func (w *objectWriter) punctuation(want byte) *fault {
	w.space()
	if w.peek() != want {
		return w.unexpected(fmt.Sprintf("%q", want))
	}
	w.pos++
	w.out = append(w.out, want)
	return nil
}

func (w *objectWriter) unexpected(want string) *fault {
	if w.pos == len(w.src) {
		return w.refuse("broken JSON: it ends where %s is expected", want)
	}
	got, _ := utf8.DecodeRune(w.src[w.pos:])
	return w.refuse("broken JSON: %q where %s is expected", got, want)
}

func (w *objectWriter) value(depth int) *fault {
	w.space()
	switch ch := w.peek(); ch {
	case '"':
		return w.text()
	case '{':
		return w.object(depth + 1)
	case '[':
		return w.array(depth + 1)
	case 't':
		return w.word("true")
	case 'f':
		return w.word("false")
	case 'n':
		return w.word("null")
	default:
		if ch == '-' || '0' <= ch && ch <= '9' {
			return w.number()
		}
		return w.unexpected("a value")
	}
}

func (w *objectWriter) word(want string) *fault {
	if rest := w.src[w.pos:]; len(rest) < len(want) || string(rest[:len(want)]) != want {
		return w.unexpected("a value")
	}
	w.pos += len(want)
	w.out = append(w.out, want...)
	return nil
}

func (w *objectWriter) array(depth int) *fault {
	if depth > MaxDepth {
		return w.refuse("more than %d nested objects and arrays", MaxDepth)
	}
	w.pos++
	w.out = append(w.out, '[')
	if w.space(); w.peek() == ']' {
		return w.punctuation(']')
	}
	for {
		if f := w.value(depth); f != nil {
			return f
		}
		if w.space(); w.peek() != ',' {
			return w.punctuation(']')
		}
		w.pos++
		w.out = append(w.out, ',')
	}
}

func (w *objectWriter) object(depth int) *fault {
	if depth > MaxDepth {
		return w.refuse("more than %d nested objects and arrays", MaxDepth)
	}
	w.pos++
	w.out = append(w.out, '{')
	if w.space(); w.peek() == '}' {
		return w.punctuation('}')
	}
	first, inOrder := len(w.members), true
	for {
		if w.space(); w.peek() != '"' {
			return w.unexpected("a key in quotation marks")
		}
		start, line := len(w.out), w.line
		if f := w.text(); f != nil {
			return f
		}
		if inOrder && len(w.members) > first {
			before := w.members[len(w.members)-1]
			order := compareKeys(w.out[before.start:], w.out[start:])
			if order == 0 {
				return w.repeated(start, line)
			}
			inOrder = order < 0
		}
		if f := w.punctuation(':'); f != nil {
			return f
		}
		if f := w.value(depth); f != nil {
			return f
		}
		w.roomForMember()
		w.members = append(w.members, member{uint32(start), uint32(len(w.out))})
		if w.lines {
			w.keyLines = append(w.keyLines, line)
		}
		if w.space(); w.peek() != ',' {
			break
		}
		w.pos++
		w.out = append(w.out, ',')
	}
	if !inOrder {
		if f := w.arrange(first); f != nil {
			return f
		}
	}
	w.members = w.members[:first]
	if w.lines {
		w.keyLines = w.keyLines[:first]
	}
	return w.punctuation('}')
}

// roomForMember grows a long list to a quarter more than it will have if the source goes on as it began.
// Growing step by step would leave several times its memory behind.
func (w *objectWriter) roomForMember() {
	const long = 1 << 15
	n := len(w.members)
	if n < cap(w.members) || n < long {
		return
	}
	expected := int64(n) * int64(len(w.src)) / int64(w.pos) * 5 / 4
	w.members = append(make([]member, 0, max(n+n/8, int(expected))), w.members...)
}

// reserve makes room for n more, by doubling up to most. Growing by a quarter, as append does, would leave
// several times the memory of a large slice behind.
func reserve[E any](s []E, n, most int) []E {
	if cap(s)-len(s) >= n || len(s) < 1024 {
		return s
	}
	return append(make([]E, 0, max(len(s)+n, min(2*cap(s), most))), s...)
}
