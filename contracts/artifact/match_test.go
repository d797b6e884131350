// criteria_match, predicate by predicate.

package artifact_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"countersign/contracts/artifact"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const matchDocument = `{"s":"héllo","n":3,"half":0.5,"zero":0,"big":9007199254740992,"huge":1e+300,"tiny":1e-7,"t":true,"f":false,"nil":null,` +
	`"l":[1,"a",true,null,[2],{"k":"v"}],"o":{"a":{"b":[10,20]},"0":"zero","":"empty","x y":1,"a.b":2},"e":"","el":[],"eo":{}}`

func TestPredicates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, op, value string // value "-" is left out
		holds           bool
	}{
		{"", "exists", "-", true}, {"", "exists", "true", true}, {"", "exists", "false", false},
		{"s", "exists", "-", true}, {"nil", "exists", "true", true}, {"nil", "exists", "false", false}, {"none", "exists", "false", true}, {"none", "exists", "true", false}, {"none", "exists", "-", false},
		{"none.deeper", "exists", "false", true}, {"s.0", "exists", "false", true}, {"nil.a", "exists", "false", true}, {"n.0", "exists", "-", false},
		{"l.0", "exists", "-", true}, {"l.5", "exists", "-", true}, {"l.6", "exists", "-", false}, {"l.-0", "exists", "-", false}, {"l.+1", "exists", "-", false}, {"l.00", "exists", "-", false}, {"l.01", "exists", "-", false},
		{"l.1.0", "exists", "-", false}, {"l. 1", "exists", "-", false}, {"l.1 ", "exists", "-", false}, {"l.", "exists", "-", false}, {"l.0x1", "exists", "-", false}, {"l.1e0", "exists", "-", false}, {"l.\u0661", "exists", "-", false},
		{"l.99999999999999999999", "exists", "-", false}, {"l.18446744073709551616", "exists", "-", false}, {"l.length", "exists", "-", false},
		{"l.4.0", "eq", "2", true}, {"l.5.k", "eq", `"v"`, true}, {"o.a.b.1", "eq", "20", true}, {"o.0", "eq", `"zero"`, true}, {"o.00", "exists", "-", false},
		{"o.", "eq", `"empty"`, true}, {".", "exists", "-", false}, {"o..", "exists", "-", false}, {".s", "exists", "-", false}, {"o.x y", "eq", "1", true}, {"o.a.b", "eq", "[10,20]", true}, {"O", "exists", "-", false}, {" o", "exists", "-", false},

		{"s", "eq", `"héllo"`, true}, {"s", "eq", `"h\u00e9llo"`, true}, {"s", "eq", `"he\u0301llo"`, false}, {"s", "eq", `"Héllo"`, false}, {"s", "eq", `"héllo "`, false},
		{"n", "eq", "3", true}, {"n", "eq", "3.0", true}, {"n", "eq", "0.3e1", true}, {"n", "eq", "30e-1", true}, {"n", "eq", `"3"`, false}, {"n", "eq", "3.0000000000000000001", false},
		{"zero", "eq", "-0", true}, {"zero", "eq", "0e5", true}, {"zero", "eq", "false", false}, {"zero", "eq", "null", false}, {"zero", "eq", `""`, false}, {"half", "eq", "0.50", true}, {"half", "eq", "5E-1", true},
		{"big", "eq", "9007199254740992", true}, {"big", "eq", "9007199254740993", false}, {"big", "eq", "9007199254740992.0000001", false}, {"huge", "eq", "1e300", true}, {"huge", "eq", "10e299", true}, {"tiny", "eq", "0.0000001", true},
		{"t", "eq", "true", true}, {"t", "eq", "1", false}, {"t", "eq", `"true"`, false}, {"f", "eq", "0", false}, {"f", "eq", "null", false}, {"nil", "eq", "null", true}, {"nil", "eq", "false", false}, {"nil", "eq", "0", false}, {"none", "eq", "null", false},
		{"l", "eq", `[1,"a",true,null,[2],{"k":"v"}]`, true}, {"l", "eq", `["a",1,true,null,[2],{"k":"v"}]`, false}, {"l", "eq", `[1,"a",true,null,[2]]`, false}, {"l", "eq", `[1.0,"a",true,null,[2.0],{"k":"v"}]`, true}, {"l", "eq", `[1,"a",1,null,[2],{"k":"v"}]`, false},
		{"o.a", "eq", `{"b":[10,20]}`, true}, {"o.a", "eq", `{"b":[10,20],"c":1}`, false}, {"o.a", "eq", `{}`, false}, {"eo", "eq", "{}", true}, {"eo", "eq", "[]", false}, {"el", "eq", "[]", true}, {"el", "eq", "{}", false}, {"e", "eq", `""`, true}, {"e", "eq", "null", false},

		{"s", "ne", `"x"`, true}, {"s", "ne", `"héllo"`, false}, {"n", "ne", `"3"`, true}, {"n", "ne", "3.0", false}, {"t", "ne", "1", true}, {"nil", "ne", "0", true}, {"nil", "ne", "null", false}, {"none", "ne", "1", false}, {"none", "ne", "null", false}, {"l.9", "ne", "1", false},

		{"s", "contains", `"éll"`, true}, {"s", "contains", `""`, true}, {"e", "contains", `""`, true}, {"s", "contains", `"ÉLL"`, false}, {"s", "contains", "1", false}, {"s", "contains", "null", false}, {"s", "contains", `["h"]`, false},
		{"l", "contains", `"a"`, true}, {"l", "contains", "1.0", true}, {"l", "contains", "true", true}, {"l", "contains", "false", false}, {"l", "contains", "null", true}, {"l", "contains", "[2]", true}, {"l", "contains", "2", false}, {"l", "contains", `{"k":"v"}`, true}, {"l", "contains", `"k"`, false}, {"el", "contains", "null", false}, {"l", "contains", `"1"`, false},
		{"o", "contains", `"a"`, true}, {"o", "contains", `""`, true}, {"o", "contains", `"b"`, false}, {"o", "contains", "0", false}, {"o", "contains", `"0"`, true}, {"o", "contains", `{"a":{"b":[10,20]}}`, false}, {"", "contains", `"s"`, true}, {"o", "contains", `"a.b"`, true},
		{"n", "contains", "3", false}, {"t", "contains", "true", false}, {"nil", "contains", "null", false}, {"none", "contains", `""`, false},

		{"n", "gt", "2", true}, {"n", "gt", "3", false}, {"n", "gt", "2.9999999999999999999999", true}, {"n", "ge", "3", true}, {"n", "ge", "3.0", true}, {"n", "ge", "3.0000000000000000000001", false}, {"n", "lt", "4", true}, {"n", "lt", "3", false}, {"n", "le", "3", true}, {"n", "le", "2", false}, {"n", "lt", "3.0000000000000000000001", true},
		{"n", "gt", "-4", true}, {"zero", "gt", "-1e-300", true}, {"zero", "lt", "5e-324", true}, {"zero", "ge", "-0.0", true}, {"zero", "le", "-0", true}, {"huge", "gt", "9.99e299", true}, {"huge", "lt", "1e301", true}, {"tiny", "lt", "2e-7", true}, {"tiny", "gt", "1e-400", true}, {"big", "lt", "9007199254740993", true}, {"big", "gt", "9007199254740991", true},
		{"s", "gt", `"a"`, false}, {"s", "lt", `"z"`, false}, {"t", "gt", "0", false}, {"t", "ge", "true", false}, {"nil", "ge", "null", false}, {"nil", "le", "0", false}, {"l", "gt", "0", false}, {"n", "gt", `"2"`, false}, {"n", "gt", "null", false}, {"n", "le", "true", false}, {"none", "lt", "1", false}, {"none", "ge", "0", false},
	} {
		path, err := json.Marshal(c.path)
		require.NoError(t, err)
		value := ""
		if c.value != "-" {
			value = `,"value":` + c.value
		}
		predicate := fmt.Sprintf(`{"path":%s,"op":%q%s}`, path, c.op, value)
		result := judgeOne(t, artifact.OpsResult, matchDocument, artifact.CriteriaMatch, "["+predicate+"]")
		require.Equal(t, c.holds, result.Passed, "%s: %s", predicate, result.Detail)
		// One that does not hold is enough, wherever it stands.
		both := judgeOne(t, artifact.OpsResult, matchDocument, artifact.CriteriaMatch, `[{"path":"n","op":"exists"},`+predicate+`,{"path":"n","op":"eq","value":3}]`)
		require.Equal(t, c.holds, both.Passed, predicate)
	}
}

func TestPredicatesRefused(t *testing.T) {
	t.Parallel()
	for value, reason := range map[string]string{
		"": "cannot be read", " ": "cannot be read", "nope": "cannot be read", "[": "cannot be read", `[{"path":"n","op":"exists"}]]`: "cannot be read", `[{"path":"n","op":"exists"}] []`: "data after", `[{"path":"n","op":"exists"},]`: "cannot be read",
		"[]": "a list that is not empty", "null": "a list", "{}": "a list", "3": "a list", `"x"`: "a list", `{"path":"n","op":"exists"}`: "a list",
		`[null]`: "predicate 0 must be an object", `[[]]`: "predicate 0 must be an object", `["n"]`: "predicate 0 must be an object", `[{"path":"n","op":"exists"},1]`: "predicate 1 must be an object",
		`[{}]`: "needs a path", `[{"op":"exists"}]`: "needs a path", `[{"path":null,"op":"exists"}]`: "needs a path", `[{"path":0,"op":"exists"}]`: "needs a path", `[{"path":["n"],"op":"exists"}]`: "needs a path", `[{"Path":"n","op":"exists"}]`: "takes only path, op and value",
		`[{"path":"n"}]`: "needs an op", `[{"path":"n","op":null}]`: "needs an op", `[{"path":"n","op":""}]`: "needs an op", `[{"path":"n","op":"EQ","value":3}]`: "needs an op", `[{"path":"n","op":"==","value":3}]`: "needs an op", `[{"path":"n","op":"matches","value":"."}]`: "needs an op", `[{"path":"n","op":"eq ","value":3}]`: "needs an op", `[{"path":"n","op":["eq"],"value":3}]`: "needs an op",
		`[{"path":"n","op":"eq"}]`: "needs a value", `[{"path":"n","op":"ne"}]`: "needs a value", `[{"path":"s","op":"contains"}]`: "needs a value", `[{"path":"n","op":"ge"}]`: "needs a value", `[{"path":"none","op":"lt"}]`: "needs a value",
		`[{"path":"n","op":"exists","value":null}]`: "neither true nor false", `[{"path":"n","op":"exists","value":1}]`: "neither true nor false", `[{"path":"n","op":"exists","value":"true"}]`: "neither true nor false", `[{"path":"n","op":"exists","value":[]}]`: "neither true nor false",
		`[{"path":"n","op":"eq","value":3,"not":true}]`: "takes only path, op and value", `[{"path":"n","op":"eq","value":3,"value":3}]`: "cannot be read", `[{"path":"n","path":"n","op":"exists"}]`: "cannot be read", `[{"path":"o","op":"eq","value":{"a":1,"a":1}}]`: "cannot be read",
		`[{"path":"n","op":"lt","value":1e309}]`: "beyond a double's range", `[{"path":"n","op":"gt","value":-1e309}]`: "beyond a double's range", `[{"path":"n","op":"gt","value":1e-401}]`: "an exponent below -400", `[{"path":"n","op":"ne","value":[0e-999999999999999999999]}]`: "an exponent below -400", `[{"path":"n","op":"ne","value":1e-9999999}]`: "an exponent below -400",
		`[{"path":"n","op":"ne","value":NaN}]`: "cannot be read", `[{"path":"n","op":"ne","value":01}]`: "cannot be read", `[{"path":"n","op":"ne","value":"\ud800"}]`: "cannot be read", "[{\"path\":\"n\",\"op\":\"ne\",\"value\":\"\xff\"}]": "cannot be read",
		"\ufeff" + `[{"path":"n","op":"exists"}]`: "cannot be read",
	} {
		result := judgeOne(t, artifact.OpsResult, matchDocument, artifact.CriteriaMatch, value)
		require.False(t, result.Passed, value)
		require.Contains(t, result.Detail, reason, value)
	}
}

// At the exponents that a number may have.
func TestPredicateNumberLimits(t *testing.T) {
	t.Parallel()
	for _, number := range []string{"1e-400", "1E-0400", "1.7976931348623157e308", "-1.7976931348623157e+308", "0e999999999999999999999", "0.000e400", "1" + strings.Repeat("0", 308)} {
		result := judgeOne(t, artifact.OpsResult, matchDocument, artifact.CriteriaMatch, `[{"path":"s","op":"ne","value":`+number+`}]`)
		require.True(t, result.Passed, "%s: %s", number, result.Detail)
	}
}

// Rows are a list of rows, though nobody ever has all of them: whatever holds about a list in a document
// holds about the same rows.
func TestRowsMatchAsAList(t *testing.T) {
	t.Parallel()
	row := rapid.SampledFrom([]string{`{}`, `{"a":1}`, `{"a":1,"b":[1,2]}`, `{"a":"x"}`, `{"a":null}`})
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(row, 0, 4).Draw(t, "rows")
		list := "[" + strings.Join(rows, ",") + "]"
		path := rapid.SampledFrom([]string{"", "", "0", "1", "3", "4", "01", "-1", "x", "0.a", "1.b.1", "2.a", "0.", "."}).Draw(t, "path")
		op := rapid.SampledFrom([]string{"exists", "eq", "ne", "contains", "gt", "ge", "lt", "le"}).Draw(t, "op")
		value := rapid.SampledFrom([]string{list, list, "[]", "[{}]", `[{"a":1}]`, `{"a":1.0}`, "{}", "1", `"a"`, `"x"`, "null", "true"}).Draw(t, "value")
		within := strings.TrimSuffix("rows."+path, ".")
		if path == "0." {
			within = "rows.0."
		}
		if path == "." {
			within = "rows.."
		}
		if op == "exists" {
			value = rapid.SampledFrom([]string{"true", "false"}).Draw(t, "present")
		}
		predicate := func(path string) string {
			return fmt.Sprintf(`[{"path":%q,"op":%q,"value":%s}]`, path, op, value)
		}
		out, _, err := canonicalise(artifact.Dataset, strings.Join(rows, "\n"))
		require.NoError(t, err)
		asRows, err := artifact.Evaluate(artifact.Dataset, strings.NewReader(out), []artifact.Criterion{{Type: artifact.CriteriaMatch, Value: predicate(path)}}, nil)
		require.NoError(t, err)
		asList, err := artifact.Evaluate(artifact.OpsResult, strings.NewReader(`{"rows":`+list+`}`), []artifact.Criterion{{Type: artifact.CriteriaMatch, Value: predicate(within)}}, nil)
		require.NoError(t, err)
		require.Equal(t, asList[0].Passed, asRows[0].Passed, "%s over %s: %s; %s", predicate(path), list, asList[0].Detail, asRows[0].Detail)
	})
}

// Numbers compare as the fractions they are.
func TestNumbersCompareExactly(t *testing.T) {
	t.Parallel()
	number := rapid.OneOf(
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,6})(\.[0-9]{1,6})?([eE][+-]?[0-9])?`),
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,15})`),
		rapid.SampledFrom([]string{"0", "-0", "0.0", "1", "1.0", "10e-1", "0.1e1", "1e2", "100", "1e-2", "0.01"}),
	)
	rapid.Check(t, func(t *rapid.T) {
		out, _, err := canonicalise(artifact.OpsResult, `{"n":`+number.Draw(t, "actual")+`}`)
		if err != nil {
			t.Skip("not canonical")
		}
		actual, want := strings.TrimSuffix(strings.TrimPrefix(out, `{"n":`), "}"), number.Draw(t, "want")
		a, _ := new(big.Rat).SetString(actual)
		w, _ := new(big.Rat).SetString(want)
		order := a.Cmp(w)
		for op, holds := range map[string]bool{"eq": order == 0, "ne": order != 0, "gt": order > 0, "ge": order >= 0, "lt": order < 0, "le": order <= 0} {
			result, err := artifact.Evaluate(artifact.OpsResult, strings.NewReader(out), []artifact.Criterion{{Type: artifact.CriteriaMatch, Value: `[{"path":"n","op":"` + op + `","value":` + want + `}]`}}, nil)
			require.NoError(t, err)
			require.Equal(t, holds, result[0].Passed, "%s %s %s", actual, op, want)
		}
	})
}
