// Trees made in memory, for verification.

package lineage_test

import (
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"countersign/contracts/artifact"
	"countersign/contracts/lineage"

	"github.com/stretchr/testify/require"
)

// maker fills a tree.
type maker struct {
	t      testing.TB
	signer lineage.Signer
	log    memory
	files  fstest.MapFS
}

func newMaker(t testing.TB, signer lineage.Signer) *maker {
	m := &maker{t: t, signer: signer, files: fstest.MapFS{}}
	card, err := lineage.NewCard(public(signer.Key)).Encode()
	require.NoError(t, err)
	m.put(lineage.CardPath, string(card))
	return m
}

func (m *maker) put(name, data string) {
	m.files[name] = &fstest.MapFile{Data: []byte(data), Mode: 0o444}
}

// record records bytes and returns their content hash; an attachment has no task.
func (m *maker) record(task string, kind artifact.Kind, data string) string {
	m.t.Helper()
	hash := lineage.HashOf([]byte(data))
	e, fresh, err := lineage.Append(m.t.Context(), &m.log, m.signer, lineage.Deliverable{TaskID: task, Kind: kind, ContentHash: hash})
	require.NoError(m.t, err)
	require.True(m.t, fresh)
	r := m.log.records[len(m.log.records)-1]
	m.put(lineage.SidecarPath(r.EntryHash), r.Sidecar)
	m.put(lineage.BytesPath(e.Path()), data)
	m.put(lineage.HeadPath, string(r.Head.Encode()))
	if task != "" {
		receipt, err := lineage.NewReceipt(e).Encode()
		require.NoError(m.t, err)
		m.put(lineage.ReceiptPath(task), string(receipt))
	}
	return hash
}

// tree is what was recorded.
func (m *maker) tree() fstest.MapFS {
	var log strings.Builder
	for _, r := range m.log.records {
		log.Write(append(r.Encode(), '\n'))
	}
	m.put(lineage.LogPath, log.String())
	return m.files
}

// figure is one figure of a bundle.
func figure(kind, ref, value string) string {
	return `{"anchor":{"kind":"` + kind + `","ref":"` + ref + `"},"label":"n` + value + `","unit":"users","value":"` + value + `"}`
}

// fiftyEntries is a tree of 50 entries: attachments, artifacts of every kind, two of a task, and a report,
// RPT, whose figures are anchored to an artifact and an attachment. RPT is line 30.
func fiftyEntries(t testing.TB, signer lineage.Signer) fstest.MapFS {
	t.Helper()
	m := newMaker(t, signer)
	source := m.record("SRC", artifact.Dataset, `{"users":1234}`)
	attached := m.record("", lineage.Attachment, "raw \x00 bytes")
	for i := len(m.log.records); i < 50; i++ {
		switch {
		case i == 29:
			m.record("RPT", artifact.Report, `{"body":"We migrated 1,234 of 5,000 users.\n","figures":[`+figure("artifact", source, "1,234")+`,`+figure("attachment", attached, "5,000")+`]}`)
		case i == 20 || i == 40:
			m.record("TWICE", artifact.OpsResult, fmt.Sprintf(`{"n":%d}`, i))
		case i%10 == 3:
			m.record("", lineage.Attachment, fmt.Sprint("attachment ", i))
		case i%10 == 4:
			m.record(fmt.Sprint("LOG-", i), artifact.ActionLog, fmt.Sprintf(`{"i":%d}`, i))
		default:
			m.record(fmt.Sprint("T-", i), artifact.Report, fmt.Sprintf("text %d\n", i))
		}
	}
	return m.tree()
}

// with is a copy of a tree in which some files are others; nil data takes a file away.
func with(tree fstest.MapFS, changed map[string][]byte) fstest.MapFS {
	copied := maps.Clone(tree)
	for name, data := range changed {
		if data == nil {
			delete(copied, name)
		} else {
			copied[name] = &fstest.MapFile{Data: data}
		}
	}
	return copied
}

// verify asserts that what is said and the verdict agree.
func verify(t testing.TB, tree fs.FS, task string, secret []byte) lineage.Result {
	t.Helper()
	result, err := lineage.Verify(t.Context(), tree, task, lineage.Options{Secret: secret})
	require.NoError(t, err)
	require.Equal(t, result.OK, len(result.Failures) == 0)
	require.NotNil(t, result.Failures)
	return result
}
