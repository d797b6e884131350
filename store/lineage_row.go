// One stored line of a project's lineage, and what can be wrong with it.

package store

import (
	"countersign/contracts/lineage"
)

// lineageRow is a line with the columns that repeat parts of it.
type lineageRow struct {
	Position     int64
	ArtefactPath string
	ContentHash  string
	EntryHash    string
	Attachment   bool
	Line         []byte
	Sidecar      string
}

const lineageColumns = `position, artefact_path, content_hash, entry_hash, attachment, line, sidecar`

// faults says what is wrong with the row, each in a sentence without a subject. parent is the entry_hash
// of the entry before it on its path, nil for none; verify is asked about the line itself.
func (r lineageRow) faults(parent *string, verify func(lineage.Line) []string) []string {
	line, err := lineage.ParseLine(r.Line)
	if err != nil {
		return []string{"line: " + err.Error()}
	}
	faults := verify(line)
	switch before := optional(line.Parent); {
	case line.Hash() != r.EntryHash || line.Path() != r.ArtefactPath:
		faults = append(faults, "is filed under another entry's hash or path")
	case (before == nil) != (parent == nil) || before != nil && *before != *parent && line.Kind != lineage.Attachment:
		faults = append(faults, "parent is not the entry before it on its path")
	}
	return faults
}
