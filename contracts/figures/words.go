// The words and signs around a number that say what it counts.

package figures

// magnitudeWords stand at most one blank after a number, in any case.
var magnitudeWords = map[string]string{
	"thousand": "K", "thousands": "K",
	"million": "M", "millions": "M", "mn": "M", "mln": "M", "mio": "M",
	"billion": "B", "billions": "B", "bn": "B", "mrd": "B",
	"trillion": "T", "trillions": "T", "tn": "T", "trn": "T",
	"lakh": "lakh", "lakhs": "lakh", "crore": "crore", "crores": "crore",
}

// magnitudeSigns are the powers of ten of Chinese, Japanese and Korean, each in one spelling. What has
// no letter in rule 9 stands in the key itself, so that the key of a key is the key.
var magnitudeSigns = map[rune]string{
	'千': "千", '천': "千", '万': "万", '萬': "万", '만': "万", '億': "亿", '亿': "亿", '억': "亿", '兆': "兆", '조': "兆",
}

// percentSigns and percentWords map a spelling to what it states.
var (
	percentSigns = map[rune]string{'%': "%", '％': "%", '﹪': "%", '٪': "%", '‰': "‰", '‱': "bp"}
	percentWords = map[string]string{
		"percent": "%", "percents": "%", "pct": "%", "pp": "%", "pps": "%",
		"per cent": "%", "percentage point": "%", "percentage points": "%", "percent point": "%", "percent points": "%",
		"basis point": "bp", "basis points": "bp",
	}
)

// currencyCodes may stand before or after a number. Codes that are English words in capitals (ALL,
// TOP) or names of software (PHP) are not among them.
var currencyCodes = map[string]bool{
	"USD": true, "EUR": true, "GBP": true, "JPY": true, "CHF": true, "CAD": true, "AUD": true,
	"AED": true, "ARS": true, "BGN": true, "BRL": true, "BTC": true, "CLP": true, "CNY": true, "CZK": true,
	"DKK": true, "EGP": true, "ETH": true, "HKD": true, "HUF": true, "IDR": true, "ILS": true, "INR": true,
	"ISK": true, "KES": true, "KRW": true, "KWD": true, "MXN": true, "MYR": true, "NGN": true, "NOK": true,
	"NZD": true, "PKR": true, "PLN": true, "QAR": true, "RMB": true, "RON": true, "RUB": true, "SAR": true,
	"SEK": true, "SGD": true, "THB": true, "TRY": true, "TWD": true, "UAH": true, "VND": true, "ZAR": true,
}

// currencyStates says which codes a sign or word may mean. A code, and a sign that is not here, means
// itself.
var currencyStates = map[string][]string{
	"$": {"USD", "CAD", "AUD", "NZD", "HKD", "SGD", "TWD"},
	"€": {"EUR"}, "£": {"GBP"}, "¥": {"JPY", "CNY"}, "₹": {"INR"}, "₩": {"KRW"}, "₽": {"RUB"}, "₺": {"TRY"},
	"₪": {"ILS"}, "₫": {"VND"}, "₴": {"UAH"}, "₦": {"NGN"}, "฿": {"THB"}, "₿": {"BTC"}, "RMB": {"CNY"},
	"￥": {"JPY", "CNY"}, "￡": {"GBP"}, "＄": {"USD", "CAD", "AUD", "NZD", "HKD", "SGD", "TWD"}, "￠": {"¢"}, "￦": {"KRW"},
	"元": {"CNY", "TWD", "HKD"}, "圓": {"CNY", "TWD", "HKD"}, "圆": {"CNY"}, "円": {"JPY"}, "원": {"KRW"},
	"dollar": {"USD", "CAD", "AUD", "NZD", "HKD", "SGD", "TWD"}, "us dollar": {"USD"}, "euro": {"EUR"},
	"pound": {"GBP"}, "yen": {"JPY"}, "yuan": {"CNY"}, "renminbi": {"CNY"}, "rupee": {"INR", "PKR"},
	"franc": {"CHF"}, "ruble": {"RUB"}, "rouble": {"RUB"}, "peso": {"MXN", "ARS", "CLP"}, "krona": {"SEK", "ISK"},
	"krone": {"NOK", "DKK"}, "cent": {"¢"}, "pence": {"pence"}, "bitcoin": {"BTC"},
}

// currencyWords map a word to its entry in currencyStates; they stand after a number, in any case.
var currencyWords = map[string]string{
	"dollar": "dollar", "dollars": "dollar", "us dollar": "us dollar", "us dollars": "us dollar",
	"euro": "euro", "euros": "euro", "pound": "pound", "pounds": "pound", "yen": "yen", "yuan": "yuan",
	"renminbi": "renminbi", "rupee": "rupee", "rupees": "rupee", "franc": "franc", "francs": "franc",
	"ruble": "ruble", "rubles": "ruble", "rouble": "rouble", "roubles": "rouble", "peso": "peso", "pesos": "peso",
	"krona": "krona", "kronor": "krona", "krone": "krone", "kroner": "krone", "cent": "cent", "cents": "cent",
	"pence": "pence", "bitcoin": "bitcoin", "bitcoins": "bitcoin",
}

// currencySuffixes are letters that say a currency right after a number, whatever follows them.
const currencySuffixes = "元圓圆円원"

// planNames are letters that look like a magnitude and are none: retirement plans of the USA.
var planNames = map[string]bool{"401k": true, "403b": true, "457b": true}

// labels number a thing when a capital opens them, so that a letter glued to the number (Annex 4A) is
// neither a unit nor a magnitude. The section words of rule 6 are exempt as a whole.
var labels = map[string]bool{
	"Annex": true, "Annexe": true, "Apartment": true, "Apt": true, "Article": true, "Building": true,
	"Clause": true, "Exhibit": true, "Flight": true, "Form": true, "Gate": true, "Paragraph": true,
	"Platform": true, "Room": true, "Route": true, "Row": true, "Rule": true, "Schedule": true, "Seat": true,
	"Suite": true, "Annexure": true, "Attachment": true, "Group": true, "Part": true, "Phase": true, "Unit": true,
}
