// Streams of any size in bounded memory.

package bridge

import (
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestReadLines(t *testing.T) {
	t.Parallel()
	type line struct {
		text string
		cut  bool
	}
	for input, want := range map[string][]line{
		"":                      nil,
		"a":                     {{"a", false}},
		"a\n":                   {{"a", false}},
		"\n\nb":                 {{"", false}, {"", false}, {"b", false}},
		"12345678\n":            {{"12345678", false}},
		"123456789\nx":          {{"12345678", true}, {"x", false}},
		strings.Repeat("y", 99): {{"yyyyyyyy", true}},
	} {
		for _, reader := range []string{"whole", "byte by byte"} {
			r := iotest.OneByteReader(strings.NewReader(input))
			if reader == "whole" {
				r = strings.NewReader(input)
			}
			var got []line
			readLines(r, 8, func(l []byte, cut bool) { got = append(got, line{string(l), cut}) })
			require.Equal(t, want, got, "%q %s", input, reader)
		}
	}
	var lengths []int
	readLines(strings.NewReader(strings.Repeat("x", 12<<20)+"\nshort\n"), maxLine, func(l []byte, cut bool) { lengths = append(lengths, len(l)) })
	require.Equal(t, []int{maxLine, 5}, lengths)
}

func TestRing(t *testing.T) {
	t.Parallel()
	r := newRing(4)
	for _, step := range []struct{ write, want string }{
		{"", ""}, {"ab", "ab"}, {"cd", "abcd"}, {"e", "bcde"}, {"0123456789", "6789"}, {"xy", "89xy"},
	} {
		n, err := r.Write([]byte(step.write))
		require.NoError(t, err)
		require.Equal(t, len(step.write), n)
		require.Equal(t, step.want, string(r.Bytes()))
	}
}

func TestSyntheticStream(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines []string
		want  Report
	}{
		"nothing":   {nil, Report{}},
		"noise":     {[]string{"warning: x", "{", "[]", "{}"}, Report{}},
		"session":   {[]string{`{"type":"session","session_id":"s"}`}, Report{Session: "s"}},
		"good":      {[]string{`{"type":"session","session_id":"s"}`, `{"type":"result","ok":true,"answer":{"summary":"done"}}`}, Report{Session: "s", Ended: true, Answer: Answer{Summary: "done"}}},
		"goes on":   {[]string{`{"type":"result","ok":true}`, `{"type":"note"}`}, Report{}},
		"changed":   {[]string{`{"type":"session","session_id":"s"}`, `{"type":"session","session_id":"t"}`}, Report{Session: "s", Fault: "the session id changed"}},
		"own error": {[]string{`{"type":"result","error":"no"}`}, Report{Ended: true, Fault: "the agent reported an error: no"}},
	} {
		s := synthetic{}.Stream(Job{})
		for _, l := range c.lines {
			s.Line([]byte(l), false)
		}
		require.Equal(t, c.want, s.Report(), name)
	}
	s := synthetic{}.Stream(Job{})
	s.Line([]byte(`{"type":"result","ok":true}`), true)
	require.False(t, s.Report().Ended, "a line that was cut is no event")
}
