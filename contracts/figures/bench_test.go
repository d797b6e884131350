// Time and memory over long and hostile bodies: both have to grow with the length and no faster.

package figures

import (
	"fmt"
	"strings"
	"testing"
)

const paragraph = "Q3 revenue grew 12.5% to $4.2M, with 1,204 new accounts (p95 latency 250 ms; see §3.2 and Table 2).\n" +
	"v2.14.1 shipped 2026-06-30: 10-15% faster, 3.5 GB less memory. Nothing else here claims a number, which is " +
	"what most sentences of a report are like; they go on about the team, the plan and the risks.\n"

// hostileBodies are short patterns that a body may repeat to no end.
var hostileBodies = map[string]string{
	"digits": "1", "commas": ",", "dashes": "-", "spaces": " ", "letters": "a", "lines": "\n",
	"ones": "1,", "pairs": "1,23,", "groups": "1,234,", "dots": "1.", "dotted": "1.111.", "triples": "111 ",
	"percent": "1%", "ranges": "1-2% ", "links": "1-2M ", "money": "$1 ", "durations": "1h", "dated": "2026-07-24 ",
	"sections": "Table 1 ", "wide": "１", "han": "共5000人", "hidden": "5\u200b", "marks": "5\u0332", "emphasis": "**5**",
	"spaced ends": "1  -  ", "hyphens": "1-a", "words": "1 per ", "exponents": "1e99 ", "counts": "9999 ", "powers": "10⁶ ",
	"vulgar": "½", "signs": "$", "apostrophes": "1'", "gaps": "1                ", "broken": "\xff5",
}

func repeated(pattern string, size int) string {
	return strings.Repeat(pattern, size/len(pattern)+1)[:size]
}

func BenchmarkScan(b *testing.B) {
	for _, mb := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("prose/%dMB", mb), func(b *testing.B) { benchScan(b, repeated(paragraph, mb<<20)) })
	}
	for name, pattern := range hostileBodies {
		for _, mb := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/%dMB", name, mb), func(b *testing.B) { benchScan(b, repeated(pattern, mb<<20)) })
		}
	}
}

func benchScan(b *testing.B, body string) {
	tokenizer, err := NewTokenizer(DefaultPolicy())
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		for range tokenizer.Scan(body) {
		}
	}
}

func BenchmarkEvaluate(b *testing.B) {
	bodies := map[string]string{
		"prose": paragraph, "ones": "1,", "counts": "9999 ", "links": "1-2M ", "money": "$1 ", "durations": "1h ",
	}
	for name, pattern := range bodies {
		for _, mb := range []int{1, 4, 16} {
			b.Run(fmt.Sprintf("%s/%dMB", name, mb), func(b *testing.B) {
				tokenizer, err := NewTokenizer(DefaultPolicy())
				if err != nil {
					b.Fatal(err)
				}
				bundle := Bundle{repeated(pattern, mb<<20), []Figure{{"12.5", "%", "growth", Anchor{AnchorArtifact, "a"}}}}
				resolve := Statements(map[string]string{"a": "traces"})
				b.SetBytes(int64(len(bundle.Body)))
				b.ReportAllocs()
				for b.Loop() {
					tokenizer.Evaluate(bundle, resolve)
				}
			})
		}
	}
}
