// References to a part of a document: rule 6.

package figures

// sectionWords start a reference to a part of a document.
var sectionWords = map[string]bool{
	"Section": true, "Sec": true, "Chapter": true, "Ch": true, "Appendix": true, "Figure": true, "Fig": true,
	"Table": true, "Step": true, "Item": true, "Note": true,
}

// sections appends the references of the line: §3.2, Section 4, Fig. 2.
func (t *Tokenizer) sections(l *line, numbers []number, found []span) []span {
	floor := 0
	for _, n := range numbers {
		if n.start < floor || n.form&(grouped|exponent|power|vulgarForm) != 0 && !l.mayBeTwo(n) {
			continue
		}
		start, ok := l.sectionWord(n.start)
		if !ok || start < floor || l.digitAt(n.start) == 0 {
			continue
		}
		end := l.dottedOpen(n.start)
		if t.claims(l, end) {
			continue
		}
		found = append(found, span{start, end, Section})
		floor = end
	}
	return found
}

// mayBeTwo says that n is grouped by ordinary spaces in a way that may as well be two numbers:
// "Table 2 345 rows", but not "Note 2 000 rows".
func (l *line) mayBeTwo(n number) bool {
	end, _ := l.digits(n.start)
	next, _, _ := l.after(end + 1)
	return n.form&spaced != 0 && l.s[end] == ' ' && digitValue(next) != 0
}

// sectionWord finds the section sign or word before the number at i.
func (l *line) sectionWord(i int) (start int, ok bool) {
	end := i
	for w := l.blankBefore(end); w > 0; w = l.blankBefore(end) {
		end -= w
	}
	r, w, _ := l.before(end)
	if r == '§' {
		return end - w, true
	}
	if end == i {
		return 0, false
	}
	if r == '.' {
		end--
	}
	start = end
	for end-start < len("Appendix") && start > 0 && isASCIILetter(l.s[start-1]) {
		start--
	}
	return start, end-start >= len("Ch") && sectionWords[l.s[start:end]] && l.opens(start)
}

// dottedOpen reads groups of digits joined by full stops, wherever they end.
func (l *line) dottedOpen(i int) (end int) {
	end, _ = l.digits(i)
	for l.goesOn(end, '.') {
		end, _ = l.digits(end + 1)
	}
	return end
}

// claims says that what follows a section number makes it a number of its own: a group of three, a
// share, money, a magnitude, or a glued unit of more than a letter (Note 5,000 · Note 5% · Step 250ms).
// Letters that sub-sections bear, A and B among them, do not.
func (t *Tokenizer) claims(l *line, end int) bool {
	r, w, _ := l.after(end)
	if kind := l.separator(r, end, w); kind != 0 && l.threes(end, kind) > end {
		return true
	}
	if _, magnitude := l.magnitude(end, 0); magnitude != "" && magnitude != "B" {
		return true
	}
	at, by := l.join(end)
	if word, _ := l.words(at); magnitudeWords[word] != "" || percentWords[word] != "" && word != "pp" || currencyWords[word] != "" {
		return true
	}
	if by == dash {
		return false
	}
	r, w, c := l.after(l.escaped(at))
	return percentSigns[r] != "" || c&sign != 0 && !l.startsNumber(at+w) || by == 0 && t.unit(l, at, true) != ""
}
