// A project's lineage on the wire.

package workflow

import "github.com/go-json-experiment/json/jsontext"

// LineageEntry is one record of a project's lineage.
type LineageEntry struct {
	// Kind is the artifact's, or attachment.
	Kind         string `json:"kind"`
	ArtefactPath string `json:"artefact_path"`
	// ContentHash and EntryHash are "sha256:" and 64 lowercase hex; the first is what an anchor names.
	ContentHash string `json:"content_hash"`
	EntryHash   string `json:"entry_hash"`
	// Position is the line's number in the project's log, from 1.
	Position int64 `json:"position"`
	Bytes    int64 `json:"bytes"`
}

// LineagePage answers GET /v1/projects/{id}/lineage: lines of the log as a tree has them, and head and
// card of the moment they were read at, both absent while the log is empty.
type LineagePage struct {
	Lines []LineageLine  `json:"lines"`
	Head  jsontext.Value `json:"head,omitzero"`
	Card  jsontext.Value `json:"card,omitzero"`
	// NextAfter is the position of the page's last line, or what was asked for when the page is empty.
	NextAfter int `json:"next_after"`
}

// LineageLine is one line, byte for byte and without its line feed, and its sidecar.
type LineageLine struct {
	Line    string `json:"line"`
	Sidecar string `json:"sidecar"`
}
