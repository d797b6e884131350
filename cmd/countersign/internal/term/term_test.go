// Deceptive text stays visible, and JSON stays the same document.

package term

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

func TestSafe(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain ü 漢字 👩‍💻":       "plain ü 漢字 👩‍💻",
		"a\u202egnp.exe":       `a\u202egnp.exe`,
		"\x1b[31mred":          `\u001b[31mred`,
		"a\r\nb\tc":            `a\r\nb\tc`,
		"\u0085 \u009b31m":     `\u0085 \u009b31m`,
		"\u2028\ufeff\u2066":   `\u2028\ufeff\u2066`,
		"tag \U000e0041":       `tag \U000e0041`,
		"\\u202e stays itself": `\u202e stays itself`,
	} {
		require.Equal(t, want, Safe(in))
	}
	require.Equal(t, "a\n\tb\\u202e", SafeLines("a\n\tb\u202e"))
}

func TestJSONOnATerminalIsTheSameDocument(t *testing.T) {
	t.Parallel()
	in := map[string]string{"title": "a\u202eb\u009b\U000e0041\x1b", "plain": "ü"}
	var plain, tty bytes.Buffer
	require.NoError(t, (&Out{w: &plain}).JSON(in))
	require.NoError(t, (&Out{w: &tty, tty: true}).JSON(in))
	require.Equal(t, 1, bytes.Count(plain.Bytes(), []byte("\n")), "one line for programs")
	require.NotContains(t, tty.String(), "\u202e")
	require.NotContains(t, tty.String(), "\U000e0041")
	for _, b := range []*bytes.Buffer{&plain, &tty} {
		var back map[string]string
		require.NoError(t, json.Unmarshal(b.Bytes(), &back))
		require.Equal(t, in, back)
	}
}

func TestTableCellsAreSafeAndEmptyTablesSaySo(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	o := New(&b)
	require.NoError(t, o.Table([]string{"ID", "TITLE"}, [][]string{{"1", "a\tb\x1b"}}))
	require.Equal(t, "ID  TITLE\n1   a\\tb\\u001b\n", b.String())
	b.Reset()
	require.NoError(t, o.Table([]string{"ID"}, nil))
	require.Equal(t, "none\n", b.String())
	require.Equal(t, "x", o.Paint(Red, "x"), "no colours where nobody looks")
}
