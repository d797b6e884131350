// What the figures declare, and whether a token is among it.

package figures

import (
	"slices"
	"strings"
)

// declarations are all figures of a bundle by key. Figures of one key need not be told apart: a token
// is declared when any of them agrees with it.
type declarations struct {
	single map[string]*stated
	pairs  map[string]*stated
}

// stated is what the figures of one key say about it.
type stated struct {
	silent bool            // one of them says nothing, and so agrees with every token
	things map[string]bool // all they say
}

// declare reads the figures under the tokenizer's units.
func (t *Tokenizer) declare(figures []Figure) declarations {
	d := declarations{map[string]*stated{}, map[string]*stated{}}
	for _, f := range figures {
		key, pair, things := t.read(f.Value)
		things = append(things, t.unitStates(f.Unit)...)
		if pair != "" {
			note(d.pairs, pair, things)
		} else {
			note(d.single, key, things)
		}
	}
	return d
}

func note(by map[string]*stated, key string, things []string) {
	s := by[key]
	if s == nil {
		s = &stated{things: map[string]bool{}}
		by[key] = s
	}
	s.silent = s.silent || len(things) == 0
	for _, thing := range things {
		s.things[thing] = true
	}
}

// agrees says that some figure of the key does not disagree with f: they disagree when both state
// something and share nothing.
func (s *stated) agrees(f *found) bool {
	if s == nil {
		return false
	}
	things := f.states()
	return s.silent || len(things) == 0 || slices.ContainsFunc(things, func(thing string) bool { return s.things[thing] })
}

// read takes a figure's value apart: its key, or the joined keys of a range or duration, which declare
// no single number, and what the value states.
func (t *Tokenizer) read(value string) (key, pair string, things []string) {
	l := readLine(value)
	numbers := l.numbers(nil)
	if len(numbers) == 0 {
		return Key(value), "", nil
	}
	whole := len(l.s)
	start, prefix := l.prefix(numbers[0].start, 0)
	if count, _ := l.duration(numbers); count > 0 && prefix == "" {
		f := found{line: &l, numbers: numbers[:count]}
		return "", f.joinedKeys(), nil
	}
	var a, b found
	t.single(&a, &l, numbers, start, prefix, 0, whole)
	things = a.states()
	key = l.key(numbers[0]) + a.magnitude
	if len(numbers) == 1 {
		return key, "", things
	}
	start, prefix = l.prefix(numbers[1].start, a.end)
	t.single(&b, &l, numbers[1:], start, prefix, a.end, whole)
	if dashed, _ := l.dashed(a.end, b.start); !dashed || l.hasThird(numbers, b.end) {
		return key, "", things
	}
	return "", joinKeys(key, l.key(numbers[1])+b.magnitude), append(things, b.states()...)
}

// hasThird says that a dash joins a third number, so that the first two are no range but a date or an id.
func (l *line) hasThird(numbers []number, end int) bool {
	if len(numbers) < 3 {
		return false
	}
	dashed, _ := l.dashed(end, numbers[2].start)
	return dashed
}

// joinKeys makes one key of several; a dash is in no key of a number.
func joinKeys(keys ...string) string { return strings.Join(keys, "–") }

func (f *found) joinedKeys() string {
	keys := make([]string, len(f.numbers))
	for i, n := range f.numbers {
		keys[i] = f.line.key(n)
	}
	return joinKeys(keys...)
}

// states are what a token says about its number, in the words of statements.
func (f *found) states() []string {
	var things []string
	for _, spelling := range []string{f.prefix, f.suffix} {
		if spelling != "" {
			things = append(things, statements(spelling)...)
		}
	}
	return things
}

// statements are what a sign, code, word or unit may mean. Two agree when they share one.
func statements(spelling string) []string {
	if codes, ok := currencyStates[spelling]; ok {
		return codes
	}
	if unit, ok := sameUnits[spelling]; ok {
		return []string{unit}
	}
	return []string{spelling}
}

// unitStates are what a figure's unit states: itself, and each currency, share or unit among its words
// up to a "per" or slash, so that "MB/s" agrees with 5 MB and "million USD" with $5.
func (t *Tokenizer) unitStates(unit string) []string {
	unit = strings.TrimSpace(unit)
	if unit == "" {
		return nil
	}
	things := slices.Clone(statements(unit))
	l := readLine(unit)
	for i := 0; i < len(l.s); {
		r, w, c := l.after(i)
		if r == '/' {
			break
		}
		if c&sign == 0 && !l.opens(i) {
			i += w
			continue
		}
		share := t.share(&l, number{}, i, 0)
		if share.kind == "" {
			share = l.money(number{}, i, 0)
		}
		if share.kind != "" {
			things = append(things, statements(share.states)...)
			i = share.end
			continue
		}
		if word, _ := l.word(i); word == "per" {
			break
		}
		i += w
	}
	return things
}

// declared says that the figures ground f: its key, or for several numbers each of their keys, or one
// figure with the joined keys, also when a dash joins f to its neighbour.
func (d *declarations) declared(f *found) bool {
	if len(f.numbers) > 1 {
		return d.pairs[f.joinedKeys()].agrees(f) || d.each(f)
	}
	key := f.line.key(f.numbers[0]) + f.magnitude
	if d.single[key].agrees(f) {
		return true
	}
	if len(d.pairs) == 0 {
		return false
	}
	return f.left.joined && d.pairs[joinKeys(f.line.key(f.left.number)+f.left.magnitude, key)].agrees(f) ||
		f.right.joined && d.pairs[joinKeys(key, f.line.key(f.right.number)+f.right.magnitude)].agrees(f)
}

func (d *declarations) each(f *found) bool {
	for _, n := range f.numbers {
		if !d.single[f.line.key(n)].agrees(f) {
			return false
		}
	}
	return true
}
