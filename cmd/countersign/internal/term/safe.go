// Text from a server or a file, made harmless for a terminal.

// Package term writes what a command says: human text that cannot take a terminal over, tables,
// colours where they are wanted, and JSON.
package term

import (
	"fmt"
	"strings"
	"unicode"
)

// Safe shows control characters, text direction overrides and other invisible format characters as
// escapes (\u202e), so that text from elsewhere can neither steer a terminal nor look like something
// it is not.
func Safe(s string) string {
	if strings.IndexFunc(s, deceptive) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !deceptive(r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(escape(r))
	}
	return b.String()
}

// SafeLines is Safe for text of several lines: line feeds and tabs stay.
func SafeLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		cells := strings.Split(line, "\t")
		for j, cell := range cells {
			cells[j] = Safe(cell)
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n")
}

// joiners build emoji and are needed by several scripts; they reorder nothing.
const joiners = "\u200c\u200d"

func deceptive(r rune) bool {
	if strings.ContainsRune(joiners, r) {
		return false
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

func escape(r rune) string {
	switch r {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	if r > 0xffff {
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}
