// Whatever is changed in a tree, verification fails and names it.

package lineage_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"countersign/contracts/artifact"
	"countersign/contracts/lineage"

	"github.com/stretchr/testify/require"
)

var tamperSigner = lineage.Signer{Key: key("tamper"), Secret: []byte("operator")}

func TestATreeVerifies(t *testing.T) {
	t.Parallel()
	tree := fiftyEntries(t, tamperSigner)
	for _, task := range []string{"SRC", "RPT", "TWICE", "LOG-4", "T-49"} {
		result := verify(t, tree, task, tamperSigner.Secret)
		require.Empty(t, result.Failures, task)
		require.Empty(t, result.Notes)
		require.True(t, lineage.IsHash(result.ContentHash) && lineage.IsHash(result.EntryHash))
		require.Equal(t, task == "RPT", result.Figures != nil)
	}
	report := verify(t, tree, "RPT", nil)
	require.True(t, report.OK)
	require.Len(t, report.Notes, 1, "the HMAC that was not checked is said")
	require.Contains(t, report.Notes[0], "HMAC was not checked")
	require.Equal(t, []string{"recorded at chain position 1", "recorded at chain position 2"}, []string{
		report.Figures.Provenances[0].Statement[strings.Index(report.Figures.Provenances[0].Statement, "recorded"):],
		report.Figures.Provenances[1].Statement[strings.Index(report.Figures.Provenances[1].Statement, "recorded"):],
	})
}

// others are bytes of other classes than b: its neighbour, its other case, and what ends lines and strings.
func others(b byte) []byte {
	all := []byte{b ^ 1, b ^ 0x20, '"', ' ', '\n', 0, 0xff}
	return slices.DeleteFunc(slices.Compact(all), func(o byte) bool { return o == b })
}

// TestEveryByteCounts changes each byte of every file that a report's verification rests on.
func TestEveryByteCounts(t *testing.T) {
	t.Parallel()
	tree := fiftyEntries(t, tamperSigner)
	lines := bytes.SplitAfter(tree[lineage.LogPath].Data, []byte("\n"))
	offset := func(n int) (at int) {
		for _, line := range lines[:n] {
			at += len(line)
		}
		return at
	}
	first, err := lineage.ParseLine(bytes.TrimSuffix(lines[0], []byte("\n")))
	require.NoError(t, err)
	type span struct{ from, to int }
	spans := map[string]span{
		"artifacts/RPT/artifact.bin":              {},
		"artifacts/RPT/receipt.json":              {},
		"artifacts/SRC/artifact.bin":              {},
		lineage.HeadPath:                          {},
		lineage.CardPath:                          {},
		lineage.SidecarPath(first.Hash()):         {},
		lineage.LogPath:                           {offset(0), offset(1)},
		"30 " + lineage.LogPath:                   {offset(29), offset(30)},
		"50 " + lineage.LogPath:                   {offset(49), offset(50)},
		lineage.SidecarPath(hashOfLine(t, lines)): {},
	}
	for label, s := range spans {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			name := label[strings.LastIndexByte(label, ' ')+1:]
			data := tree[name].Data
			if s.to == 0 {
				s.to = len(data)
			}
			for at := s.from; at < s.to; at++ {
				// Every class at every byte would take minutes; over neighbouring bytes all come by.
				bad, all := bytes.Clone(data), others(data[at])
				bad[at] = all[at%len(all)]
				result := verify(t, with(tree, map[string][]byte{name: bad}), "RPT", tamperSigner.Secret)
				require.False(t, result.OK, "byte %d of %s from %q to %q", at, name, data[at], bad[at])
			}
		})
	}
}

// hashOfLine is the entry_hash of the last line.
func hashOfLine(t *testing.T, lines [][]byte) string {
	line, err := lineage.ParseLine(bytes.TrimSuffix(lines[49], []byte("\n")))
	require.NoError(t, err)
	return line.Hash()
}

func TestTampering(t *testing.T) {
	t.Parallel()
	tree := fiftyEntries(t, tamperSigner)
	log := tree[lineage.LogPath].Data
	lines := bytes.SplitAfter(bytes.Clone(log), []byte("\n"))[:50]
	logOf := func(lines ...[]byte) map[string][]byte {
		return map[string][]byte{lineage.LogPath: bytes.Join(lines, nil)}
	}
	entry := func(n int) lineage.Line {
		line, err := lineage.ParseLine(bytes.TrimSuffix(lines[n-1], []byte("\n")))
		require.NoError(t, err)
		return line
	}
	file := func(name string) []byte { return tree[name].Data }
	sidecar := func(n int) string { return lineage.SidecarPath(entry(n).Hash()) }
	forged := fiftyEntries(t, lineage.Signer{Key: key("forger"), Secret: tamperSigner.Secret})
	unsealed := fiftyEntries(t, lineage.Signer{Key: tamperSigner.Key})
	card := func(c lineage.Card) []byte {
		data, err := c.Encode()
		require.NoError(t, err)
		return data
	}
	superseded, err := lineage.NewReceipt(entry(21).Entry).Encode()
	require.NoError(t, err)
	inserted := lineage.Entry{TaskID: "X", Kind: artifact.Report, ContentHash: lineage.HashOf(nil)}

	for name, c := range map[string]struct {
		change map[string][]byte
		task   string // RPT unless said
		want   string // in one of the failures
	}{
		"a line removed":                   {change: logOf(slices.Delete(slices.Clone(lines), 9, 10)...), want: "line 10, which belongs to task T-10 and not to task RPT: chain"},
		"the first line removed":           {change: logOf(lines[1:]...), want: "line 1, which belongs to attachment"},
		"the task's line removed":          {change: logOf(slices.Delete(slices.Clone(lines), 29, 30)...), want: "no line is of task RPT"},
		"the anchored line removed":        {change: logOf(lines[1:]...), want: "figures: 2 of 2"},
		"the last line removed":            {change: logOf(lines[:49]...), want: "counts 50 entries and the log has 49: lines were removed"},
		"the tail cut":                     {change: logOf(lines[:35]...), want: "counts 50 entries and the log has 35"},
		"the log emptied":                  {change: logOf(), want: "the log has 0"},
		"the log removed":                  {change: map[string][]byte{lineage.LogPath: nil}, want: "log.jsonl: is missing"},
		"a line doubled":                   {change: logOf(slices.Insert(slices.Clone(lines), 10, lines[9])...), want: "line 11, which belongs to task T-9"},
		"the last line doubled":            {change: logOf(append(slices.Clone(lines), lines[49])...), want: "the head is behind"},
		"two lines swapped":                {change: logOf(append(append(slices.Clone(lines[:10]), lines[11], lines[10]), lines[12:]...)...), want: "line 11, which belongs to task T-11"},
		"a line torn":                      {change: map[string][]byte{lineage.LogPath: log[:len(log)-7]}, want: "line 50: is torn"},
		"no last line feed":                {change: map[string][]byte{lineage.LogPath: log[:len(log)-1]}, want: "line 50: is torn"},
		"a blank line":                     {change: logOf(slices.Insert(slices.Clone(lines), 3, []byte("\n"))...), want: "line 4:"},
		"CRLF":                             {change: map[string][]byte{lineage.LogPath: bytes.ReplaceAll(log, []byte("\n"), []byte("\r\n"))}, want: "line 1: is not in canonical form"},
		"a huge line":                      {change: logOf(slices.Insert(slices.Clone(lines), 3, append(bytes.Repeat([]byte("x"), 1<<20), '\n'))...), want: "line 4: has more than"},
		"a line put in":                    {change: logOf(slices.Insert(slices.Clone(lines), 3, append(lineage.Line{Entry: inserted, Chain: entry(4).Chain}.Encode(), '\n'))...), want: "line 4, which belongs to task X"},
		"binary":                           {change: logOf([]byte{0, 1, 2, 0xff, '\n'}), want: "line 1: "},
		"sidecars swapped":                 {change: map[string][]byte{sidecar(5): file(sidecar(6)), sidecar(6): file(sidecar(5))}, want: "line 6, which belongs to task T-5 and not to task RPT: " + sidecar(6)},
		"a sidecar missing":                {change: map[string][]byte{sidecar(5): nil}, want: sidecar(5) + " is missing"},
		"the task's sidecar missing":       {change: map[string][]byte{sidecar(30): nil}, want: "line 30: " + sidecar(30) + " is missing"},
		"a sidecar with a line feed":       {change: map[string][]byte{sidecar(5): append(bytes.Clone(file(sidecar(5))), '\n')}, want: "no detached JWS"},
		"a sidecar by another key":         {change: map[string][]byte{sidecar(5): forged[sidecar(5)].Data}, want: "does not verify under any key"},
		"the whole log by another key":     {change: map[string][]byte{lineage.CardPath: forged[lineage.CardPath].Data}, want: "line 1, which belongs to task SRC and not to task RPT: "},
		"head of another key":              {change: map[string][]byte{lineage.HeadPath: forged[lineage.HeadPath].Data}, want: "head.json: the signature"},
		"head missing":                     {change: map[string][]byte{lineage.HeadPath: nil}, want: "head.json: is missing"},
		"head without a seal":              {change: map[string][]byte{lineage.HeadPath: unsealed[lineage.HeadPath].Data}, want: "head.json: recorded without a secret"},
		"lines without a seal":             {change: map[string][]byte{lineage.LogPath: unsealed[lineage.LogPath].Data}, want: "line 30: recorded without a secret"},
		"receipt missing":                  {change: map[string][]byte{lineage.ReceiptPath("RPT"): nil}, want: "receipt.json: is missing"},
		"bytes missing":                    {change: map[string][]byte{"artifacts/RPT/artifact.bin": nil}, want: "artifact.bin: is missing"},
		"another task's receipt":           {change: map[string][]byte{lineage.ReceiptPath("RPT"): file(lineage.ReceiptPath("SRC"))}, want: "entry_hash names line 1, which belongs to task SRC and not to task RPT"},
		"another task's bytes":             {change: map[string][]byte{"artifacts/T-5/artifact.bin": file("artifacts/T-6/artifact.bin")}, task: "T-5", want: "its hash is"},
		"replayed under another task id":   {change: map[string][]byte{lineage.ReceiptPath("EVIL"): file(lineage.ReceiptPath("SRC")), "artifacts/EVIL/artifact.bin": file("artifacts/SRC/artifact.bin")}, task: "EVIL", want: "it is the receipt of task SRC and not of EVIL"},
		"a superseded entry":               {change: map[string][]byte{lineage.ReceiptPath("TWICE"): superseded, "artifacts/TWICE/artifact.bin": []byte(`{"n":20}`)}, task: "TWICE", want: "entry_hash names line 21, which line 41 superseded"},
		"no card":                          {change: map[string][]byte{lineage.CardPath: nil}, want: "no card of agent:artifact-completion"},
		"a foreign card in its place":      {change: map[string][]byte{lineage.CardPath: card(lineage.Card{AgentID: "agent:x", KeyID: lineage.KeyID, ProtocolVersion: "a2a/1.0", PublicKeyPEM: lineage.NewCard(public(key("x"))).PublicKeyPEM})}, want: "no card of agent:artifact-completion"},
		"a second card that differs":       {change: map[string][]byte{"agents/a/b/c/card.json": card(lineage.NewCard(public(key("x"))))}, want: "agents/a/b/c/card.json and agents/agent:artifact-completion/card.json are both the card of"},
		"two foreign cards that differ":    {change: map[string][]byte{"agents/a/card.json": card(foreign("x")), "agents/b/card.json": card(foreign("y"))}, want: "another agent's"},
		"an anchored artifact changed":     {change: map[string][]byte{"artifacts/SRC/artifact.bin": []byte(`{"users":1235}`)}, want: "figures: 1 of 2 figures"},
		"an anchored attachment changed":   {change: map[string][]byte{lineage.BytesPath(entry(2).Path()): []byte("raw")}, want: "figures: 1 of 2 figures"},
		"the report's bytes with white":    {change: map[string][]byte{"artifacts/RPT/artifact.bin": append(bytes.Clone(file("artifacts/RPT/artifact.bin")), '\n')}, want: "not in canonical form"},
		"a log of format v 1 with a head":  {change: logOf([]byte(`{"v":1}` + "\n")), want: "a tree is of one format"},
		"a figure changed":                 {change: edit(file("artifacts/RPT/artifact.bin"), `"value":"1,234"`, `"value":"1,235"`), want: "1 numbers are not declared"},
		"an anchor changed":                {change: edit(file("artifacts/RPT/artifact.bin"), `"ref":"`+entry(1).ContentHash, `"ref":"`+lineage.HashOf(nil)), want: "1 of 2 figures are not grounded"},
		"the anchor's kind changed":        {change: edit(file("artifacts/RPT/artifact.bin"), `"kind":"artifact"`, `"kind":"attachment"`), want: "1 of 2 figures are not grounded"},
		"a digit of the body changed":      {change: edit(file("artifacts/RPT/artifact.bin"), `1,234 of`, `9,234 of`), want: "1 numbers are not declared"},
		"an anchor of kind receipt":        {change: edit(file("artifacts/RPT/artifact.bin"), `"kind":"artifact","ref":"`+entry(1).ContentHash, `"kind":"receipt","ref":"x`), want: "1 of 2 figures are not grounded"},
		"the anchored entry does not hold": {change: map[string][]byte{sidecar(1): nil}, want: "1 of 2 figures are not grounded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := c.task
			if task == "" {
				task = "RPT"
			}
			result := verify(t, with(tree, c.change), task, tamperSigner.Secret)
			require.False(t, result.OK)
			require.True(t, slices.ContainsFunc(result.Failures, func(f string) bool { return strings.Contains(f, c.want) }), "%s\n%s", c.want, strings.Join(result.Failures, "\n"))
		})
	}
}

func foreign(name string) lineage.Card {
	c := lineage.NewCard(public(key(name)))
	c.AgentID = "agent:other"
	return c
}

// edit is the report with a text replaced.
func edit(report []byte, old, new string) map[string][]byte {
	return map[string][]byte{"artifacts/RPT/artifact.bin": bytes.Replace(report, []byte(old), []byte(new), 1)}
}

func TestTheWrongSecretIsNamedOnEveryLine(t *testing.T) {
	t.Parallel()
	tree := fiftyEntries(t, tamperSigner)
	result := verify(t, tree, "RPT", []byte("wrong"))
	require.False(t, result.OK)
	require.Contains(t, result.Failures[0], "line 1, which belongs to task SRC and not to task RPT: operator_hmac is not that of the operator's secret")
	require.Contains(t, strings.Join(result.Failures, "\n"), "line 30: operator_hmac")
}

func TestWhatDoesNotMatter(t *testing.T) {
	t.Parallel()
	tree := fiftyEntries(t, tamperSigner)
	own, err := lineage.NewCard(public(tamperSigner.Key)).Encode()
	require.NoError(t, err)
	for name, change := range map[string]map[string][]byte{
		"another task's bytes, which are not anchored": {"artifacts/T-6/artifact.bin": []byte("x")},
		"bytes that an export leaves out":              {"artifacts/SRC/artifact.bin": nil},
		"a sidecar of no entry":                        {lineage.SidecarPath(lineage.HashOf(nil)): []byte("x")},
		"a file that is no card":                       {"agents/x/card.json": []byte("{")},
		"the same card again":                          {"agents/x/y/card.json": own},
		"the same card, laid out":                      {"agents/x/card.json": bytes.ReplaceAll(own, []byte(`":"`), []byte("\": \n\""))},
		"another agent's card":                         {"agents/x/card.json": mustEncode(t, foreign("x"))},
	} {
		require.Empty(t, verify(t, with(tree, change), "RPT", tamperSigner.Secret).Failures, name)
	}
}

func mustEncode(t *testing.T, c lineage.Card) []byte {
	data, err := c.Encode()
	require.NoError(t, err)
	return data
}

// TestAnOlderTree: a whole older tree put back verifies; only a receipt kept elsewhere tells.
func TestAnOlderTree(t *testing.T) {
	t.Parallel()
	m := newMaker(t, tamperSigner)
	m.record("T", artifact.Report, "one")
	older := with(m.tree(), nil)
	m.record("T", artifact.Report, "two")
	require.True(t, verify(t, m.tree(), "T", tamperSigner.Secret).OK)
	require.True(t, verify(t, older, "T", tamperSigner.Secret).OK)
	require.NotEqual(t, verify(t, m.tree(), "T", nil).EntryHash, verify(t, older, "T", nil).EntryHash)
}

func TestAKeyThatSignedBefore(t *testing.T) {
	t.Parallel()
	m := newMaker(t, lineage.Signer{Key: key("old")})
	m.record("A", artifact.Report, "one")
	m.signer.Key = key("new")
	m.record("B", artifact.Report, "two")
	card, err := lineage.NewCard(public(key("new")), public(key("old"))).Encode()
	require.NoError(t, err)
	for _, task := range []string{"A", "B"} {
		require.True(t, verify(t, with(m.tree(), map[string][]byte{lineage.CardPath: card}), task, nil).OK)
		require.False(t, verify(t, m.tree(), task, nil).OK)
	}
}

func TestFailuresAreBounded(t *testing.T) {
	t.Parallel()
	m := newMaker(t, lineage.Signer{Key: key("a")})
	for i := range 300 {
		m.record(fmt.Sprint("T-", i), artifact.Report, fmt.Sprint(i))
	}
	result := verify(t, with(m.tree(), map[string][]byte{lineage.CardPath: nil}), "T-1", nil)
	require.Len(t, result.Failures, 101)
	require.Regexp(t, "^and [0-9]+ more$", result.Failures[100])
}
