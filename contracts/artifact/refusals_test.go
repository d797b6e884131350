// Every reason for which bytes have no canonical form, with the line that is named.

package artifact_test

import (
	"strings"
	"testing"

	"countersign/contracts"
	"countersign/contracts/artifact"

	"github.com/stretchr/testify/require"
)

const anyHash = "sha256:" + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// bundleOf wraps one figure, as JSON, into a bundle whose figure begins on line 3.
func bundleOf(figure string) string {
	return "{\"body\": \"x\",\n\"figures\": [\n" + figure + "]}"
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind   artifact.Kind
		file   string
		line   int
		reason string
	}{
		"text: not NFC":                  {artifact.Report, "a\nb\r\nc\rcafe\u0301", 4, "the text is not NFC; normalise it to NFC"},
		"text: code_diff is text":        {artifact.CodeDiff, "e\u0301", 1, "NFC"},
		"text: starts with BOM":          {artifact.Report, "\ufeff# T", 1, "a byte order mark at the start; leave it out"},
		"text: BOM alone":                {artifact.Report, "\ufeff", 1, "byte order mark"},
		"text: BOM before a bundle":      {artifact.Report, "\ufeff" + `{"body":"x","figures":[]}`, 1, "byte order mark"},
		"text: UTF-16":                   {artifact.Report, "\xff\xfeh\x00i\x00", 1, "invalid UTF-8"},
		"text: UTF-8 cut off":            {artifact.Report, "ok\nabc\xe2\x82", 2, "invalid UTF-8"},
		"text: overlong":                 {artifact.Report, "\n\xc0\xaf", 2, "invalid UTF-8"},
		"text: surrogate in UTF-8":       {artifact.Report, "\xed\xa0\x80", 1, "invalid UTF-8"},
		"text: beyond U+10FFFF":          {artifact.Report, "\xf4\x90\x80\x80", 1, "invalid UTF-8"},
		"text: marks out of order":       {artifact.Report, "q\u0307\u0323", 1, "NFC"},
		"text: jamo that compose":        {artifact.Report, "\u1100\u1161", 1, "NFC"},
		"text: syllable and final":       {artifact.Report, "\uac00\u11a8", 1, "NFC"},
		"text: singleton":                {artifact.Report, "\u212b", 1, "NFC"},
		"text: excluded composition":     {artifact.Report, "\u0958", 1, "NFC"},
		"text: starter that composes":    {artifact.Report, "\u0b47\u0b3e", 1, "NFC"},
		"text: second mark composes":     {artifact.Report, "a\u0323\u0302", 1, "NFC"},
		"text: mark behind a composed":   {artifact.Report, "\u00e9\u0323", 1, "NFC"},
		"text: composes behind 40 marks": {artifact.Report, "a" + strings.Repeat("\u0316", 40) + "\u0301", 1, "NFC"},

		"rows: no object":              {artifact.Dataset, "{}\n\n3", 3, "no JSON object"},
		"rows: null":                   {artifact.Dataset, "null", 1, "no JSON object"},
		"rows: two on a line":          {artifact.Dataset, `{} {}`, 1, "data after the JSON object"},
		"rows: one on two lines":       {artifact.Dataset, "{\"a\":1}\n{\"a\":\n1}", 2, "broken JSON: it ends where a value is expected"},
		"rows: CR ends a row":          {artifact.ActionLog, "{\"a\":\r1}", 1, "broken JSON"},
		"rows: lines by CR":            {artifact.ActionLog, "{}\r{}\r\r[]", 4, "no JSON object"},
		"rows: lines by CRLF":          {artifact.ActionLog, "{}\r\n{}\r\n\r\n[]", 4, "no JSON object"},
		"rows: lines mixed":            {artifact.ActionLog, "{}\n\r{}\r\n[]", 4, "no JSON object"},
		"rows: no-break space":         {artifact.Dataset, "{}\n\u00a0\n", 2, "no JSON object"},
		"rows: form feed":              {artifact.Dataset, "{}\n\f\n", 2, "no JSON object"},
		"rows: NUL":                    {artifact.Dataset, "{}\n\x00\n", 2, "no JSON object"},
		"rows: BOM":                    {artifact.Dataset, "\ufeff{}", 1, "byte order mark"},
		"rows: BOM in the middle":      {artifact.Dataset, "{}\n\ufeff{}", 2, "byte order mark"},
		"rows: comma between":          {artifact.Dataset, "{},\n{}", 1, "data after the JSON object"},
		"rows: repeated key":           {artifact.Dataset, "{}\n" + `{"b":1,"a":{},"b":2}`, 2, `the key "b" stands twice`},
		"rows: repeated key in a row":  {artifact.Dataset, "{}\n" + `{"a":1,"a":2}`, 2, `the key "a" stands twice`},
		"rows: repeated key, deep":     {artifact.Dataset, `{"x":[{"a":1,"b":2,"a":3}]}`, 1, `the key "a" stands twice`},
		"rows: repeated key, escaped":  {artifact.Dataset, `{"a":1,"\u0061":2}`, 1, `the key "a" stands twice`},
		"rows: repeated escaped key":   {artifact.Dataset, `{"z":0,"\u000a":1,"a":1,"\n":2}`, 1, `the key "\\n" stands twice`},
		"rows: repeated empty key":     {artifact.Dataset, `{"":1,"a":1,"":2}`, 1, `the key "" stands twice`},
		"rows: repeated quoted key":    {artifact.Dataset, `{"\"":1,"\u0022":2}`, 1, `the key "\\\"" stands twice`},
		"rows: integer changes":        {artifact.Dataset, "{}\n" + `{"id":9007199254740993}`, 2, "the integer 9007199254740993 would become 9007199254740992; quote it"},
		"rows: string not NFC":         {artifact.Dataset, "{}\n{\"k\":\"cafe\u0301\"}", 2, "is not NFC; normalise it to NFC"},
		"rows: string with a bad byte": {artifact.Dataset, "{\"k\":\"\xff\"}", 1, "invalid UTF-8"},

		"ops: nothing":                      {artifact.OpsResult, "", 1, "nothing here"},
		"ops: blank":                        {artifact.OpsResult, " \n\t\r\n", 3, "nothing here"},
		"ops: list":                         {artifact.OpsResult, "\n[]", 2, "no JSON object"},
		"ops: text":                         {artifact.OpsResult, `"x"`, 1, "no JSON object"},
		"ops: two":                          {artifact.OpsResult, "{}\r{}", 2, "data after the JSON object"},
		"ops: unfinished":                   {artifact.OpsResult, `{"a":[1,`, 1, "ends where a value is expected"},
		"ops: unfinished key":               {artifact.OpsResult, `{"a`, 1, "ends within a string"},
		"ops: unfinished after key":         {artifact.OpsResult, `{"a"`, 1, `ends where ':' is expected`},
		"ops: unfinished object":            {artifact.OpsResult, `{"a":1`, 1, `ends where '}' is expected`},
		"ops: unfinished word":              {artifact.OpsResult, `{"a":tru`, 1, "a value is expected"},
		"ops: wrong word":                   {artifact.OpsResult, `{"a":True}`, 1, "a value is expected"},
		"ops: long word":                    {artifact.OpsResult, `{"a":nulls}`, 1, `'}' is expected`},
		"ops: trailing comma":               {artifact.OpsResult, "{\"a\":1,\n}", 2, "a key in quotation marks"},
		"ops: trailing comma in list":       {artifact.OpsResult, `{"a":[1,]}`, 1, "a value is expected"},
		"ops: leading comma":                {artifact.OpsResult, `{,"a":1}`, 1, "a key in quotation marks"},
		"ops: mixed brackets":               {artifact.OpsResult, `{"a":[1}}`, 1, "']' is expected"},
		"ops: key without quotes":           {artifact.OpsResult, `{a:1}`, 1, "a key in quotation marks"},
		"ops: number as key":                {artifact.OpsResult, `{1:1}`, 1, "a key in quotation marks"},
		"ops: comment":                      {artifact.OpsResult, `{"a":1/**/}`, 1, "'}' is expected"},
		"ops: no colon":                     {artifact.OpsResult, `{"a" 1}`, 1, "':' is expected"},
		"ops: leading zero":                 {artifact.OpsResult, `{"a":01}`, 1, "no number"},
		"ops: negative leading zero":        {artifact.OpsResult, `{"a":-01}`, 1, "no number"},
		"ops: minus alone":                  {artifact.OpsResult, `{"a":-}`, 1, "no number"},
		"ops: plus":                         {artifact.OpsResult, `{"a":+1}`, 1, "a value is expected"},
		"ops: point first":                  {artifact.OpsResult, `{"a":.5}`, 1, "a value is expected"},
		"ops: point last":                   {artifact.OpsResult, `{"a":5.}`, 1, "without digits after its point"},
		"ops: no exponent":                  {artifact.OpsResult, `{"a":1e}`, 1, "without digits in its exponent"},
		"ops: signed no exponent":           {artifact.OpsResult, `{"a":1E+}`, 1, "without digits in its exponent"},
		"ops: hexadecimal":                  {artifact.OpsResult, `{"a":0x10}`, 1, "'}' is expected"},
		"ops: underscore":                   {artifact.OpsResult, `{"a":1_0}`, 1, "'}' is expected"},
		"ops: NaN":                          {artifact.OpsResult, "{\n\"a\":NaN}", 2, "a value is expected"},
		"ops: Infinity":                     {artifact.OpsResult, `{"a":Infinity}`, 1, "a value is expected"},
		"ops: -Infinity":                    {artifact.OpsResult, `{"a":-Infinity}`, 1, "no number"},
		"ops: beyond a double":              {artifact.OpsResult, `{"a":1e309}`, 1, "the number 1e309 is beyond a double's range; quote it"},
		"ops: just beyond a double":         {artifact.OpsResult, `{"a":1.7976931348623159e308}`, 1, "beyond a double's range"},
		"ops: integer beyond a double":      {artifact.OpsResult, `{"a":-1` + strings.Repeat("0", 309) + `}`, 1, "beyond a double's range"},
		"ops: integer of 17 digits":         {artifact.OpsResult, `{"a":12345678901234567}`, 1, "would become 12345678901234568"},
		"ops: negative integer":             {artifact.OpsResult, `{"a":-9007199254740993}`, 1, "would become -9007199254740992"},
		"ops: 2^63-1":                       {artifact.OpsResult, `{"a":9223372036854775807}`, 1, "would become 9223372036854776000"},
		"ops: exact double, other text":     {artifact.OpsResult, `{"a":9223372036854775808}`, 1, "would become 9223372036854776000"},
		"ops: integer beyond 1e21":          {artifact.OpsResult, `{"a":1000000000000000000001}`, 1, "would become 1e+21"},
		"ops: repeated, not in order":       {artifact.OpsResult, "{\"b\":1,\n\"a\":{\"x\":1},\n\"b\":2,\n\"c\":3\n}", 3, `the key "b" stands twice`},
		"ops: repeated, in order":           {artifact.OpsResult, "{\"a\":1,\n\"a\":2,\n\"c\":3\n}", 2, `the key "a" stands twice`},
		"ops: repeated, deep, not in order": {artifact.OpsResult, "{\"q\":\n{\"z\":1,\n\"y\":1,\n\"z\":2,\n\"c\":3\n}\n}", 4, `the key "z" stands twice`},
		"ops: tab in a string":              {artifact.OpsResult, "{\"a\":\n\"x\ty\"}", 2, "U+0009 within a string must be escaped"},
		"ops: line end in a string":         {artifact.OpsResult, "{\"a\":\"x\ny\"}", 1, "U+000A within a string must be escaped"},
		"ops: unknown escape":               {artifact.OpsResult, `{"a":"\x41"}`, 1, "no such escape"},
		"ops: escaped quote":                {artifact.OpsResult, `{"a":"\'"}`, 1, "no such escape"},
		"ops: capital escape":               {artifact.OpsResult, `{"a":"\U0041"}`, 1, "no such escape"},
		"ops: short escape":                 {artifact.OpsResult, `{"a":"\u12"}`, 1, "no such escape"},
		"ops: no hex in an escape":          {artifact.OpsResult, `{"a":"\u12g4"}`, 1, "no such escape"},
		"ops: escape at the end":            {artifact.OpsResult, `{"a":"\`, 1, "no such escape"},
		"ops: cut escape at the end":        {artifact.OpsResult, `{"a":"\u00`, 1, "no such escape"},
		"ops: high surrogate":               {artifact.OpsResult, `{"a":"\ud800"}`, 1, "a lone surrogate"},
		"ops: high surrogate and text":      {artifact.OpsResult, `{"a":"\ud800x"}`, 1, "a lone surrogate"},
		"ops: high surrogate and escape":    {artifact.OpsResult, `{"a":"\ud800\n"}`, 1, "a lone surrogate"},
		"ops: two high surrogates":          {artifact.OpsResult, `{"a":"\ud800\ud800"}`, 1, "a lone surrogate"},
		"ops: low surrogate":                {artifact.OpsResult, `{"a":"\udc00"}`, 1, "a lone surrogate"},
		"ops: surrogates swapped":           {artifact.OpsResult, `{"a":"\udc00\ud800"}`, 1, "a lone surrogate"},
		"ops: surrogate in a key":           {artifact.OpsResult, `{"\udfff":1}`, 1, "a lone surrogate"},
		"ops: surrogate in UTF-8":           {artifact.OpsResult, "{\"a\":\"\xed\xa0\x80\"}", 1, "invalid UTF-8"},
		"ops: overlong":                     {artifact.OpsResult, "{\"a\":\"\xc0\x80\"}", 1, "invalid UTF-8"},
		"ops: key not NFC":                  {artifact.OpsResult, "{\n\"e\u0301\":1}", 2, "NFC"},
		"ops: escapes not NFC together":     {artifact.OpsResult, `{"a":"\u0065\u0301"}`, 1, "NFC"},
		"ops: escape after text not NFC":    {artifact.OpsResult, `{"a":"e\u0301"}`, 1, "NFC"},
		"ops: text after escape not NFC":    {artifact.OpsResult, "{\"a\":\"\\u0065\u0301\"}", 1, "NFC"},
		"ops: not NFC after an escape":      {artifact.OpsResult, "{\"a\":\"\\ne\u0301\"}", 1, "NFC"},
		"ops: not NFC after \\u001f":        {artifact.OpsResult, "{\"a\":\"\\u001f\u1100\u1161\"}", 1, "NFC"},
		"ops: UTF-16":                       {artifact.OpsResult, "\xff\xfe{\x00}\x00", 1, "no JSON object"},
		"ops: BOM":                          {artifact.OpsResult, "\ufeff{}", 1, "byte order mark"},

		"bundle: repeated key":         {artifact.Report, "{\"body\":\"x\",\n\"figures\":[],\n\"body\":\"y\"}", 3, `the key "body" stands twice`},
		"bundle: body null":            {artifact.Report, "{\"figures\":[],\n\"body\":null}", 2, "$.body: null is not allowed"},
		"bundle: body a list":          {artifact.Report, "{\"figures\":[],\n\"body\":[\"x\"]}", 2, "$.body: a list where a string is expected"},
		"bundle: body not NFC":         {artifact.Report, "{\"figures\":[],\n\"body\":\"e\u0301\"}", 2, "NFC"},
		"bundle: body not NFC, folded": {artifact.Report, `{"figures":[],"body":"\r\ne\u0301"}`, 1, "NFC"},
		"bundle: body with BOM":        {artifact.Report, "{\"figures\":[],\n\"body\":\"\\ufeffx\"}", 2, "$.body: a byte order mark"},
		"bundle: lone surrogate":       {artifact.Report, "{\"figures\":[],\n\"body\":\"\\ud800\"}", 2, "a lone surrogate"},
		"bundle: figures null":         {artifact.Report, "{\"body\":\"x\",\r\n\"figures\":null}", 2, "$.figures: null is not allowed"},
		"bundle: figures an object":    {artifact.Report, "{\"body\":\"x\",\r\"figures\":{}}", 2, "$.figures: an object where a list is expected"},
		"bundle: unknown key":          {artifact.Report, "{\"body\":\"x\",\n\"figures\":[],\n\"evil\":1}", 3, "$.evil: unknown field"},
		"bundle: key in other case":    {artifact.Report, "{\"body\":\"x\",\n\"figures\":[],\n\"Body\":\"x\"}", 1, "differ in case only"},
		"bundle: nested too deeply":    {artifact.Report, `{"body":"x","figures":[` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `]}`, 1, "more than 64 nested"},
		"figure: null":                 {artifact.Report, bundleOf(`null`), 3, "$.figures[0].value: required"},
		"figure: a string":             {artifact.Report, bundleOf(`"1"`), 3, "$.figures[0]: a string where"},
		"figure: unknown key":          {artifact.Report, bundleOf(`{"value":"1",` + "\n" + `"note":""}`), 4, "$.figures[0].note: unknown field"},
		"figure: no value":             {artifact.Report, bundleOf(`{"anchor":{"kind":"receipt","ref":"r"}}`), 3, "$.figures[0].value: required"},
		"figure: value a number":       {artifact.Report, bundleOf(`{"value":1,"anchor":{"kind":"receipt","ref":"r"}}`), 3, "$.figures[0].value: a number where a string is expected"},
		"figure: value null":           {artifact.Report, bundleOf(`{"value":null,"anchor":{"kind":"receipt","ref":"r"}}`), 3, "$.figures[0].value: null is not allowed"},
		"figure: label null":           {artifact.Report, bundleOf(`{"value":"1","label":null,"anchor":{"kind":"receipt","ref":"r"}}`), 3, "$.figures[0].label: null is not allowed"},
		"figure: unit a number":        {artifact.Report, bundleOf(`{"value":"1","unit":1,"anchor":{"kind":"receipt","ref":"r"}}`), 3, "$.figures[0].unit: a number where a string is expected"},
		"figure: label not NFC":        {artifact.Report, bundleOf(`{"value":"1","label":"e\u0301","anchor":{"kind":"receipt","ref":"r"}}`), 3, "NFC"},
		"figure: no anchor":            {artifact.Report, bundleOf(`{"value":"1"}`), 3, "$.figures[0].anchor: required"},
		"figure: anchor null":          {artifact.Report, bundleOf(`{"value":"1","anchor":null}`), 3, "$.figures[0].anchor: null is not allowed"},
		"figure: anchor a string":      {artifact.Report, bundleOf(`{"value":"1","anchor":"` + anyHash + `"}`), 3, "$.figures[0].anchor: a string where"},
		"anchor: unknown key":          {artifact.Report, bundleOf(`{"value":"1","anchor":{"kind":"receipt","ref":"r",` + "\n" + `"z":1}}`), 4, "$.figures[0].anchor.z: unknown field"},
		"anchor: no kind":              {artifact.Report, bundleOf(`{"value":"1","anchor":{"ref":"r"}}`), 3, "$.figures[0].anchor.kind: required"},
		"anchor: no ref":               {artifact.Report, bundleOf(`{"value":"1","anchor":{"kind":"receipt"}}`), 3, "$.figures[0].anchor.ref: required"},
		"anchor: other kind":           {artifact.Report, bundleOf(`{"value":"1","anchor":{"kind":"Artifact","ref":"` + anyHash + `"}}`), 3, "$.figures[0].anchor.kind: \"Artifact\" is none of attachment, artifact, receipt"},
		"anchor: blank ref":            {artifact.Report, bundleOf(`{"value":"1","anchor":{"kind":"receipt","ref":" \t"}}`), 3, "$.figures[0].anchor.ref: blank"},
		"anchor: short hash":           {artifact.Report, bundleOf(`{"value":"1","anchor":{"kind":"artifact","ref":"` + anyHash[:70] + `"}}`), 3, "64 lowercase hex digits"},
		"anchor: long hash":            {artifact.Report, bundleOf(`{"value":"1","anchor":{"kind":"artifact","ref":"` + anyHash + `00"}}`), 3, "64 lowercase hex digits"},
		"anchor: capital hash":         {artifact.Report, bundleOf(`{"value":"1","anchor":{"kind":"attachment","ref":"` + strings.ToUpper(anyHash[7:]) + `"}}`), 3, "64 lowercase hex digits"},
		"anchor: capital digits":       {artifact.Report, bundleOf(`{"value":"1","anchor":{"kind":"attachment","ref":"sha256:` + strings.ToUpper(anyHash[7:]) + `"}}`), 3, "64 lowercase hex digits"},
		"anchor: padded hash":          {artifact.Report, bundleOf(`{"value":"1","anchor":{"kind":"attachment","ref":" ` + anyHash + `"}}`), 3, "64 lowercase hex digits"},
		"figure: the second":           {artifact.Report, bundleOf(`{"value":"1","anchor":{"kind":"receipt","ref":"r"}},` + "\n{}"), 4, "$.figures[1].value: required"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, canonical, err := canonicalise(c.kind, c.file)
			var rejection *artifact.Rejection
			require.ErrorAs(t, err, &rejection)
			require.Contains(t, rejection.Reason, c.reason)
			require.Equal(t, c.line, rejection.Line, rejection.Reason)
			require.Zero(t, canonical)

			var refusal *contracts.Error
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, contracts.Code("artifact_rejected"), refusal.Code)
			require.Equal(t, rejection.Error(), refusal.Detail)
		})
	}
}

func TestUnknownKind(t *testing.T) {
	t.Parallel()
	for _, kind := range []artifact.Kind{"", "Report", "attachment", "external"} {
		_, _, err := canonicalise(kind, "")
		require.Equal(t, contracts.CodeInvalid, contracts.CodeOf(err), kind)
		_, err = artifact.Evaluate(kind, strings.NewReader(""), nil, nil)
		require.Equal(t, contracts.CodeInvalid, contracts.CodeOf(err), kind)
	}
}
