// The first violation wins, whatever else is wrong and however the keys are ordered.

package completion_test

import (
	"strings"
	"testing"

	"countersign/contracts/completion"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// choice is the raw members that one place of a document may have, and the path when they are wrong.
type choice struct{ members, path string }

var (
	tagChoices = []choice{
		{``, ``}, {`"contract":"worker-completion/v1"`, ``}, {`"contract":null`, `$.contract`}, {`"contract":"v0"`, `$.contract`},
		{`"contract":1e999`, `$.contract`},
	}
	summaryChoices = []choice{
		{`"summary":"s"`, ``}, {`"summary":"s"`, ``}, {``, `$.summary`}, {`"summary":null`, `$.summary`}, {`"summary":"\n"`, `$.summary`},
		{`"summary":12345678901234567891`, `$.summary`},
	}
	filesChoices = []choice{
		{``, ``}, {`"files_changed":null`, ``}, {`"files_changed":["a","a"]`, ``}, {`"files_changed":{}`, `$.files_changed`},
		{`"files_changed":["a",""]`, `$.files_changed[1]`}, {`"files_changed":[{"A":1,"a":2},3]`, `$.files_changed[0]`},
	}
	verificationChoices = []choice{
		{``, ``}, {`"verification":null`, ``}, {`"verification":{"exit_code":-0,"command":"c"}`, ``}, {`"verification":[]`, `$.verification`},
		{`"verification":{"z":1,"a":2,"command":""}`, `$.verification.z`}, {`"verification":{"exit_code":1.0}`, `$.verification.command`},
		{`"verification":{"exit_code":1.0,"command":"c"}`, `$.verification.exit_code`},
	}
	receiptChoices = []choice{
		{``, ``}, {`"receipt_ref":null`, ``}, {`"receipt_ref":"r"`, ``}, {`"receipt_ref":""`, `$.receipt_ref`}, {`"receipt_ref":0`, `$.receipt_ref`},
	}
	detailChoices = []choice{
		{`"detail":"d"`, ``}, {`"detail":"d"`, ``}, {``, `$.detail`}, {`"detail":false`, `$.detail`}, {`"detail":"\u2003"`, `$.detail`},
	}
	ownChoices = map[string][]choice{
		"question": {
			{`"question":"q"`, ``}, {`"question":"q"`, ``}, {``, `$.question`}, {`"question":null`, `$.question`},
		},
		"blocking_dep": {
			{`"blocking_dep":"b"`, ``}, {`"blocking_dep":"b"`, ``}, {``, `$.blocking_dep`}, {`"blocking_dep":[]`, `$.blocking_dep`},
		},
		"proposed_split": {
			{`"proposed_split":["a"]`, ``}, {`"proposed_split":["a"]`, ``}, {``, `$.proposed_split`}, {`"proposed_split":[]`, `$.proposed_split`},
			{`"proposed_split":["a",1,""]`, `$.proposed_split[1]`},
		},
	}
	ownField = map[string]string{
		"awaiting_operator": "question", "underspecified": "question", "scope_exceeded": "proposed_split", "blocked_on_dependency": "blocking_dep",
	}
)

// draft draws documents and knows the path of their first violation.
type draft struct {
	t       *rapid.T
	members []string
	first   string
}

func (d *draft) draw(label string, choices []choice) {
	c := rapid.SampledFrom(choices).Draw(d.t, label)
	if c.members != "" {
		d.members = append(d.members, c.members)
	}
	d.expect(c.path)
}

func (d *draft) expect(path string) {
	if d.first == "" {
		d.first = path
	}
}

// shuffle orders the members anew and settles which of the unknown ones comes first.
func (d *draft) shuffle(unknown []string) string {
	for _, key := range unknown {
		d.members = append(d.members, `"`+key+`":[{"Q":1e999}]`)
	}
	d.members = rapid.Permutation(d.members).Draw(d.t, "order")
	for _, m := range d.members {
		for _, key := range unknown {
			if strings.HasPrefix(m, `"`+key+`"`) {
				return "$." + key
			}
		}
	}
	return ""
}

func (d *draft) check() {
	document := "{" + strings.Join(d.members, ",") + "}"
	_, v := completion.Parse([]byte(document))
	if d.first == "" {
		require.Nil(d.t, v, document)
		return
	}
	require.NotNil(d.t, v, document)
	require.Equal(d.t, d.first, v.Path, document)
}

func TestOrderOfACompletionsViolations(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := &draft{t: t}
		d.draw("tag", tagChoices)
		tag := d.first
		d.first = ""
		d.draw("summary", summaryChoices)
		d.draw("files", filesChoices)
		d.draw("verification", verificationChoices)
		d.draw("receipt", receiptChoices)
		later := d.first
		unknown := d.shuffle(rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"zzz", "Summary", "question", "detail", "0", ""}), 0, 2, rapid.ID).Draw(t, "unknown"))
		d.first = tag
		d.expect(unknown)
		d.expect(later)
		d.check()
	})
}

func TestOrderOfARefusalsViolations(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := &draft{t: t}
		kind := rapid.SampledFrom([]string{"awaiting_operator", "underspecified", "scope_exceeded", "blocked_on_dependency"}).Draw(t, "kind")
		d.draw("tag", tagChoices)
		d.draw("kind's value", []choice{{`"kind":"` + kind + `"`, ``}, {`"kind":"` + kind + `"`, ``}, {`"kind":null`, `$.kind`}, {`"kind":"Underspecified"`, `$.kind`}})
		before := d.first
		d.first = ""
		d.draw("detail", detailChoices)
		d.draw("own field", ownChoices[ownField[kind]])
		later := d.first
		foreign := []string{"zzz", "Kind", "summary", "files_changed"}
		for _, field := range []string{"question", "proposed_split", "blocking_dep"} {
			if field != ownField[kind] {
				foreign = append(foreign, field)
			}
		}
		unknown := d.shuffle(rapid.SliceOfNDistinct(rapid.SampledFrom(foreign), 0, 2, rapid.ID).Draw(t, "unknown"))
		d.first = before
		d.expect(unknown)
		d.expect(later)
		d.check()
	})
}
