// The decisions of docs/figures.md, one case or more for each.

package figures

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// spellings write a token as surface=category, an exempt one as (surface=category); keys follow where
// they are not the surface's plain digits.
var spellings = []struct{ text, want string }{
	// Grouping.
	{"1 234 567 users", "1 234 567=count:1234567"},
	{"1\u202f234,50 €", "1\u202f234,50 €=currency:1234.5"},
	{"1.234.567,89 users", "1.234.567,89=count:1234567.89"},
	{"1.234,56 €", "1.234,56 €=currency:1234.56"},
	{"1.234.567 users", "1.234.567=count:1234567"},
	{"₹12,34,567", "₹12,34,567=currency:1234567"},
	{"1,2345", "1,234=count:1234 (5=below_threshold)"},
	{"1,234'567", "1,234=count:1234 (567=below_threshold)"},
	{"1‘234 and 1ʼ234 and 1_234", "1‘234=count:1234 1ʼ234=count:1234 1_234=count:1234"},
	{"５，０００ 増", "５，０００=count:5000"},
	{"增长5，200人", "(5=below_threshold) (200=below_threshold)"},
	{"٥٬٠٠٠ و ٥٫٥", "٥٬٠٠٠=count:5000 ٥٫٥=count:5.5"},
	{"5′000 5´000 5ʹ000", "5′000=count:5000 5´000=count:5000 5ʹ000=count:5000"},
	{"5\u2006000\n5\u200a000\n5\u3000000", "5\u2006000=count:5000 5\u200a000=count:5000 5\u3000000=count:5000"},
	{"5\t000 5\u2028000", "(5=below_threshold) (000=below_threshold) (5=below_threshold) (000=below_threshold)"},
	{"5\\,000 5\\_000 5\\.5", "5\\,000=count:5000 5\\_000=count:5000 5\\.5=count:5.5"},
	{"5\\, 7 of C:\\5\\600", "(5=below_threshold) (7=below_threshold) (5=below_threshold) (600=below_threshold)"},
	{"$5000-12-31 5000-12-31%", "$5000=currency:5000 (12=below_threshold) (31=below_threshold) 5000=count 12-31%=range:12,31"},
	{"USD 2026-07-24 €5", "(2026-07-24=date) €5=currency:5"},
	// What does not show.
	{"5\x01000 5\x7f0%", "5\x01000=count:5000 5\x7f0%=percentage:50"},
	{"5\u3164000 5\u115f000 5\uffa0000 5\u2800000", "5\u3164000=count:5000 5\u115f000=count:5000 5\uffa0000=count:5000 5\u2800000=count:5000"},
	{"_50_% and __50__% and ~~50~~ percent", "50_%=percentage:50 50__%=percentage:50 50~~ percent=percentage:50"},
	{"wait_30_s", "(30=below_threshold)"},
	// Blanks group only where nothing else is near.
	{"100 200 3000", "(100=below_threshold) (200=below_threshold) 3000=count"},
	{"1 2 300 4", "(1=below_threshold) (2=below_threshold) (300=below_threshold) (4=below_threshold)"},
	{"p95 250 ms", "250 ms=quantity:250"},
	{"P99 250 500 ms", "(250=below_threshold) 500 ms=quantity:500"},
	{"at 10:30 250 users", "(10=below_threshold) (30=below_threshold) (250=below_threshold)"},
	{"2026-07-24 250 ms", "(2026-07-24=date) 250 ms=quantity:250"},
	{"Table 2 250 rows", "(Table 2=section) (250=below_threshold)"},
	{"Note 2 000 rows", "2 000=count:2000"},
	{"0 123", "(0=below_threshold) (123=below_threshold)"},
	// What dots mean otherwise.
	{"192.168.100.200", "(192.168.100=version)"},
	{"1.234.567-rc1", "(1.234.567=version) "},
	{"v1.234.567", "(v1.234.567=version)"},
	{"$0.000.000 and 0.000.000,1 and 0.100.200", "$0.000=currency:0 (000=below_threshold) 0.000.000,1=count:0000000.1 (0.100.200=version)"},
	{"v1.2.3.4x", "(v1.2.3=version)"},
	{"x1.2.3.4", "(2.3.4=version)"},
	{"1.2.3.4.5.6", "(1.2.3=version) (4.5.6=version)"},
	{"1.2.3.4.5.6.7.8.9.10", "(1.2.3=version) (4.5.6=version) (7.8.9=version)"},
	// Currency.
	{"$ 5", "$ 5=currency:5"},
	{"$-5 and -$5 and USD -5", "$-5=currency:5 $5=currency:5 USD -5=currency:5"},
	{"US$5, A$6", "$5=currency:5 $6=currency:6"},
	{"CNY 500, 500 SEK, ₩900", "CNY 500=currency:500 500 SEK=currency:500 ₩900=currency:900"},
	{"TOP 500, ALL 12", "(500=below_threshold) (12=below_threshold)"},
	{"5 dollars, 50¢, 5 US dollars", "5 dollars=currency:5 50¢=currency:50 5 US dollars=currency:5"},
	{"5 $6", "(5=below_threshold) $6=currency:6"},
	{"5 USD6", "(5=below_threshold) USD6=currency:6"},
	{"5 EUR 3 times", "5 EUR=currency:5 (3=below_threshold)"},
	{"5円 5万円 5元", "5円=currency:5 5万円=currency:5万 5元=currency:5"},
	{`\$5 or 5 \%`, `$5=currency:5 5 \%=percentage:5`},
	// Shares, units, multiples.
	{"5 seconds, 5 KILOBYTES, 1 day", "5 seconds=quantity:5 5 KILOBYTES=quantity:5 1 day=quantity:1"},
	{"30 percentage points, 30 per cent, 30pp", "30 percentage points=percentage:30 30 per cent=percentage:30 30pp=percentage:30"},
	{"50 basis points", "50 basis points=percentage:50"},
	{"5 kB, 5 m², 20 °C", "5 kB=quantity:5 5 m²=quantity:5 20 °C=quantity:20"},
	{"a 250-ms wait, 5-million-dollar, 10-minute", "250-ms=quantity:250 5-million-dollar=currency:5M 10-minute=quantity:10"},
	{"3x faster, 10× more, 4-fold", "3x=quantity:3 10×=quantity:10 4-fold=quantity:4"},
	{"3 × 4, 1920x1080", "(3=below_threshold) (4=below_threshold) (1920=date)"},
	{"5 M users, 5M users", "5 M=quantity:5 5M=count"},
	{"**12**% and `250` ms", "12**%=percentage:12 250` ms=quantity:250"},
	{"5*ms", "(5=below_threshold)"},
	{"1h30m, 2m30s", "1h30m=quantity:1,30 2m30s=quantity:2,30"},
	{"in 2026 dollars, 2026 M, 2026 USD", "(2026=date) (2026=date) 2026 USD=currency:2026"},
	{"1990s and 1990 s", "(1990=date) 1990 s=quantity:1990"},
	{"2026 second quarter, 2024 year-end", "(2026=date) (2024=date)"},
	// Magnitudes.
	{"5bn 5 mn 5 lakh 5 crore", "5bn=count:5B 5 mn=count:5M 5 lakh=count:5lakh 5 crore=count:5crore"},
	{"5万人 3亿 2천 5천만", "5万=count 3亿=count 2천=count:2K 5천만=count:5千万"},
	{"1.5×10^6, 10⁶ rows, 2 × 10⁻³ s", "1.5×10^6=count:1500000 10⁶=count:1000000 2 × 10⁻³ s=quantity:0.002"},
	{"1e6 5E-2 1e−1", "1e6=count:1000000 5E-2=count:0.05 1e−1=count:0.1"},
	{"1e100 2e", "(1=below_threshold) (2=below_threshold)"},
	{"2½ hours, ½ of it, ⅓%", "2½ hours=quantity:2.5 ½=count:0.5 ⅓%=percentage:0⅓"},
	// Ends joined by a dash.
	{"3-5M, 3 – 5 million", "3=count 5M=count 3=count 5 million=count:5M"},
	{"$10-20, 5-10 €", "$10=currency:10 20=currency 5=currency 10 €=currency:10"},
	{"x2026-07-24M, 1-2-3M, $10-20-30", "(07=below_threshold) 24M=count (1=below_threshold) (2=below_threshold) 3M=count $10=currency:10 (20=below_threshold) (30=below_threshold)"},
	{"$1900-2000", "$1900=currency:1900 2000=currency"},
	{"$10-20%", "10-20%=range:10,20"},
	{"Q3 - 5% up, In 2026 - 5% more", "5%=percentage:5 (2026=date) 5%=percentage:5"},
	{"5-10-minute, 1-3d, 10〜20%", "5-10-minute=range:5,10 1-3d=range:1,3 10〜20%=range:10,20"},
	{"**10**–**20**%", "10**–**20**%=range:10,20"},
	{"1 000 - 2 000 ms", "1 000 - 2 000 ms=range:1000,2000"},
	// Names.
	{"401k plan, 403b, 3d model, 3-d", "(401=below_threshold) (403=below_threshold) (3=below_threshold) (3=below_threshold)"},
	{"401K users, $401k, 7d", "401K=count $401k=currency:401K 7d=quantity:7"},
	{"Annex 4A, Row 7B, Table 2B", "(4=below_threshold) (7=below_threshold) (Table 2=section)"},
	{"Over 5M, annex 5A, Room 5M", "5M=count 5A=quantity:5 5M=count"},
	// What a section word may not hide.
	{"Note 5% up, Note 5M, Step 250ms, Table 1e6", "5%=percentage:5 5M=count 250ms=quantity:250 1e6=count:1000000"},
	{"Note 5 million, Note 5€, Note 1.234.567", "5 million=count:5M 5€=currency:5 1.234.567=count:1234567"},
	{"Step 3 ms, § 3.2, Fig.  7", "(Step 3=section) (§ 3.2=section) (Fig.  7=section)"},
	// Scripts and things unseen.
	{"ユーザー5000人, ไทย5000", "5000=count 5000=count"},
	{"共5M人, 5GB内存, 共USD 5元, 约.5倍", "5M=count 5GB=quantity:5 USD 5=currency:5 .5=count:0.5"},
	{"于2026-07-24发布v1.2.3版", "(2026-07-24=date) (v1.2.3=version)"},
	{"é5000, nº5000", ""},
	{"5\u200b000 and 5\u00ad000 and 5\u03320\u03320\u03320\u0332", "5\u200b000=count:5000 5\u00ad000=count:5000 5\u03320\u03320\u03320=count:5000"},
	{"5 per\u200bcent, 9\u2060%", "5 per\u200bcent=percentage:5 9\u2060%=percentage:9"},
	{"v\u200b5000 and e\u0301x5000", "5000=count"},
	{"۵۰۰۰, 𝟝𝟘𝟘𝟘, 1٠00", "۵۰۰۰=count:5000 𝟝𝟘𝟘𝟘=count:5000 1٠00=count:1000"},
	// Times.
	{"2026-07-24T09:30+5000", "(2026-07-24T09:30=date) 5000=count"},
	{"2026-07-24T09:30:15.123+02:00", "(2026-07-24T09:30:15.123+02:00=date)"},
	{"2026-07-24T09:30:15Zulu", "(2026-07-24T09:30=date) (15=below_threshold)"},
	{"1.2026-07-24", "(2026-07-24=date)"},
	// Limits that stay.
	{"10 to 20%", "(10=below_threshold) 20%=percentage:20"},
	{"3,5 %", "(3=below_threshold) 5 %=percentage:5"},
}

// written is the notation of spellings.
func written(tokens []Token) string {
	var all []string
	for _, k := range tokens {
		s := fmt.Sprintf("%s=%s", k.Surface, k.Category)
		keys := strings.Join(k.Keys, ",")
		if k.Material && keys != k.Surface {
			s += ":" + keys
		}
		if !k.Material {
			s = "(" + s + ")"
		}
		all = append(all, s)
	}
	return strings.Join(all, " ")
}

func TestSpellings(t *testing.T) {
	t.Parallel()
	for _, c := range spellings {
		tokens := tokensOf(t, DefaultPolicy(), c.text)
		require.Equal(t, strings.TrimSpace(c.want), written(tokens), "%q", c.text)
		checkTokens(t, c.text, tokens)
	}
}

func TestHostileBodies(t *testing.T) {
	t.Parallel()
	for name, pattern := range hostileBodies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := repeated(pattern, 1<<8) + "\n" + repeated("x"+pattern, 1<<8)
			checkTokens(t, body, tokensOf(t, DefaultPolicy(), body))
			long := repeated(pattern, 1<<15)
			require.Len(t, tokensOf(t, DefaultPolicy(), long+"\n"+long), 2*len(tokensOf(t, DefaultPolicy(), long)))
		})
	}
}

func TestDigitsComeInTens(t *testing.T) {
	t.Parallel()
	for r := range rune(0x20000) {
		if classOf(r)&digit != 0 && digitValue(r) == 0 {
			for k := range rune(10) {
				require.NotZero(t, classOf(r+k)&digit, "%U", r+k)
				require.Equal(t, byte(k), digitValue(r+k), "%U", r+k)
			}
		}
	}
}
